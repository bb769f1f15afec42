# Sourced by run: Apache Kafka from Maven Central, one node that is broker and controller.
kafka_here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
kafka_name="Apache Kafka $(sed -n 's|.*<artifactId>kafka_2.13</artifactId><version>\([^<]*\)<.*|\1|p' "$kafka_here/pom.xml")"
kafka_cache=${KAFKA_CACHE:-$HOME/.cache/ringmain-kafka}

# kafka_install: the jars of pom.xml, fetched once.
kafka_install() {
  cmp -s "$kafka_here/pom.xml" "$kafka_cache/pom.xml" && return
  mkdir -p "$kafka_cache/get" && rm -rf "$kafka_cache/lib" && cp "$kafka_here/pom.xml" "$kafka_cache/get/" || return
  local i
  for i in 1 2 3; do # registries fail now and then
    (cd "$kafka_cache/get" && mvn -q -B dependency:copy-dependencies -DoutputDirectory="$kafka_cache/lib" -DincludeScope=runtime >&2) &&
      cp "$kafka_here/pom.xml" "$kafka_cache/pom.xml" && return
    sleep $((i * 3))
  done
  return 1
}

# kafka_java ARG...: a main class of Kafka's. The JVM's settings are those of Kafka's own start script, with a heap of 1 GiB.
kafka_java() {
  exec java -Xms1g -Xmx1g -server -XX:+UseG1GC -XX:MaxGCPauseMillis=20 -XX:InitiatingHeapOccupancyPercent=35 \
    -XX:+ExplicitGCInvokesConcurrent -Djava.awt.headless=true -Dlog4j2.configurationFile="$kafka_here/log4j2.properties" \
    -cp "$kafka_cache/lib/*" "$@"
}

# kafka_configure DIRECTORY PORT: writes its configuration, and the data directory that it starts with. The controller
# listens at the port behind PORT. All that is not needed for a single node is at Kafka's defaults, but for the wait
# before files of a deleted topic are removed: a minute later another round is measured.
kafka_configure() {
  mkdir -p "$1"
  cat >"$1/server.properties" <<P
process.roles=broker,controller
node.id=1
controller.quorum.bootstrap.servers=127.0.0.1:$(($2 + 1))
listeners=PLAINTEXT://127.0.0.1:$2,CONTROLLER://127.0.0.1:$(($2 + 1))
advertised.listeners=PLAINTEXT://127.0.0.1:$2
controller.listener.names=CONTROLLER
log.dirs=$1/data
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
log.segment.delete.delay.ms=$delete_delay
P
  (kafka_java kafka.tools.StorageTool format --standalone -t cmluZ21haW4tcGVyZi0tLQ -c "$1/server.properties") >"$1/format.log" 2>&1
}
