# Files of logs, read across: Kafka's DumpLogSegments must find nothing wrong with the segments Ringmain writes,
# and `ringmain log dump` nothing with Kafka's. Each tool prints the same records of a file as the other.
. "$clients/java/jars.sh"
broker_args=(--override log.segment.bytes=1048576)
install() { java_install; }

class() { timeout 120 java -Xmx256m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Xshare:auto -cp "$jars/*" "$@"; }
tools=org.apache.kafka.tools

# fill ADDRESS: a topic for each codec, made when first written to, by producers with idempotence and without; a small segment rolls often.
fill() {
  local codec
  for codec in none gzip snappy lz4 zstd; do
    lines "$codec" 1 6000 | produce "$1" "$codec" || return 1
    # One request at a time keeps the order, and a long wait keeps it from being sent twice.
    lines "$codec" 6001 7000 | produce "$1" "$codec" --command-property enable.idempotence=false --command-property max.in.flight.requests.per.connection=1 || return 1
  done
}
produce() {
  class $tools.ConsoleProducer --bootstrap-server "$1" --topic "d-$2" --compression-codec "$2" --request-timeout-ms 60000 \
    --reader-property parse.key=true --reader-property key.separator=: "${@:3}"
}
# lines NAME FROM TO: values that no codec makes small, so that every topic has several segments.
lines() { awk -v n="$1" -v from="$2" -v to="$3" 'BEGIN { srand(from); for (i = from; i <= to; i++) { v = ""; for (k = 0; k < 75; k++) v = v sprintf("%08x", rand() * 4294967295); print n "-" i ":" v } }'; }

# kafka_dump OUT FILE..., own_dump OUT FILE...: a line "offset key value" for each record of the files, in their
# order; fails when the tool complains. That -1 is followed by the first offset is what Kafka's tool says of every
# segment that does not begin at 0, its own included.
kafka_dump() {
  local to=$1; shift
  class $tools.DumpLogSegments --files "$(IFS=,; echo "$*")" --deep-iteration --print-data-log >"$d/raw" 2>"$d/err" || { tail -3 "$d/err"; return 1; }
  [ "$(grep -c '^Dumping ' "$d/raw")" = $# ] || return 1
  ! cat "$d/raw" "$d/err" | grep -E 'isvalid: false|[Mm]ismatch|invalid bytes|Could not|Exception| is followed by ' | grep -vE '^ *-1 is followed by ' || return 1
  sed -nE 's/^\| offset: ([0-9]+) .* key: (.*) payload: (.*)$/\1 \2 \3/p' "$d/raw" >"$to"
}
own_dump() {
  local to=$1; shift
  "$RINGMAIN" log dump --records "$@" >"$d/raw" || return 1
  sed -nE 's/^  offset ([0-9]+) timestamp [0-9-]+ key "(.*)" value "(.*)"$/\1 \2 \3/p' "$d/raw" >"$to"
}

# across WRITER DIRECTORY: both tools over the segments of each topic, and what they read against what was written.
across() {
  local codec problem
  for codec in none gzip snappy lz4 zstd; do
    problem=''
    set -- "$1" "$2" "$2/d-$codec-0"/*.log
    { lines "$codec" 1 6000; lines "$codec" 6001 7000; } | awk -F: '{ print NR - 1, $1, $2 }' >"$d/want"
    if [ $# -lt 4 ]; then problem="there is no closed segment"
    elif ! kafka_dump "$d/kafka" "${@:3}"; then problem="Kafka's tool complains"
    elif ! own_dump "$d/own" "${@:3}"; then problem="ringmain log dump complains"
    elif ! cmp -s "$d/want" "$d/kafka"; then problem="Kafka's tool does not read the records written"
    elif ! cmp -s "$d/want" "$d/own"; then problem="ringmain log dump does not read the records written"; fi
    if [ -z "$problem" ]; then pass "written by $1, $codec"; else fail "written by $1, $codec" "$problem"; fi
  done
}

# groups ADDRESS: a group of each protocol, with offsets.
groups() {
  local p
  for p in classic consumer; do
    class $tools.consumer.ConsoleConsumer --bootstrap-server "$1" --topic d-none --group "g-$p" --command-property "group.protocol=$p" \
      --command-property client.id=c --from-beginning --max-messages 7000 --timeout-ms 60000 | wc -l | grep -q '^ *7000$' || return 1
  done
}
# group_kinds OUT DIRECTORY: what Kafka's decoder makes of the records of groups in all partitions of __consumer_offsets:
# each kind once, without what differs from run to run.
group_kinds() {
  local files
  files=$(find "$2"/__consumer_offsets-* -name '*.log' -size +0 | paste -sd,)
  class $tools.DumpLogSegments --offsets-decoder --files "$files" >"$d/raw" 2>"$d/err" || { tail -3 "$d/err"; return 1; }
  sed -nE 's/.* key: (.*)/\1/p' "$d/raw" | sed -E -e 's/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/UUID/g; s/"[A-Za-z0-9_-]{22}"/"ID"/g' \
    -e 's/("(offset|commitTimestamp|currentStateTimestamp|metadataHash|generation|epoch|memberEpoch|previousMemberEpoch|assignmentEpoch|assignmentTimestamp|leaderEpoch|timestamp)":)"?-?[0-9]+"?/\1N/g' \
    -e 's/"(subscription|assignment)":"[^"]*"/"\1":"BYTES"/g' | grep '"g-' | grep -v '"protocolType":"",' | LC_ALL=C sort -u >"$1"
}

# kafka_start: Kafka itself, one node, its data in $d/kafka-data.
kafka_start() {
  local port=$((20000 + RANDOM % 10000)) i
  cat >"$d/kafka.properties" <<P
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:$((port + 1))
listeners=PLAINTEXT://127.0.0.1:$port,CONTROLLER://127.0.0.1:$((port + 1))
controller.listener.names=CONTROLLER
log.dirs=$d/kafka-data
log.segment.bytes=1048576
offsets.topic.replication.factor=1
group.initial.rebalance.delay.ms=0
P
  class kafka.tools.StorageTool format -t MkU3OEVBNTcwNTJENDM2Qg -c "$d/kafka.properties" || return 1
  java -Xmx512m -XX:+UseSerialGC -cp "$jars/*" kafka.Kafka "$d/kafka.properties" >"$d/kafka.log" 2>&1 &
  kafka_pid=$!
  KAFKA_ADDR=127.0.0.1:$port
  for ((i = 0; i < 600; i++)); do
    (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null && return
    kill -0 $kafka_pid 2>/dev/null || break
    sleep 0.1
  done
  tail -5 "$d/kafka.log"
  return 1
}

part_run() {
  # Another broker's files are not ours to read.
  [ -z "${BROKER:-}" ] || { pass "left out: BROKER names a broker that runs"; return; }
  d=$(mktemp -d) kafka_pid=
  if fill "$BROKER_ADDR"; then across ringmain "$broker_dir/data"; else fail "written by ringmain" "a tool of Kafka's failed"; fi
  if kafka_start && fill "$KAFKA_ADDR"; then across kafka "$d/kafka-data"; else fail "written by kafka" "Kafka or a tool of its failed"; fi
  # A group's records are read by Kafka's decoder as those that Kafka wrote.
  if groups "$BROKER_ADDR" && groups "$KAFKA_ADDR" && group_kinds "$d/own" "$broker_dir/data" && group_kinds "$d/kafka" "$d/kafka-data"; then
    diff "$d/kafka" "$d/own" && [ -s "$d/own" ] && pass "records of groups" || fail "records of groups" "Kafka's decoder tells them from Kafka's: $(diff "$d/kafka" "$d/own" | grep '^[<>]' | head -3 | cut -c1-200 | tr '\n' ' ')"
  else
    fail "records of groups" "a tool of Kafka's failed"
  fi
  [ -z "$kafka_pid" ] || { kill "$kafka_pid"; wait "$kafka_pid"; }
  rm -rf "$d"
}
