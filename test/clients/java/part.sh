# Kafka's own Java client.
broker_args=("${quick_groups[@]}")
. "$clients/java/jars.sh"
install() { java_install && mkdir -p "$cache/java/classes" && javac -d "$cache/java/classes" -cp "$jars/*" src/smoke/*.java; }
part_run() {
  collect kafka-clients java -Xmx512m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -cp "$cache/java/classes:$jars/*" smoke.Smoke "$BROKER_ADDR"
  collect groups java -Xmx512m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -cp "$cache/java/classes:$jars/*" smoke.Groups "$BROKER_ADDR"
}
