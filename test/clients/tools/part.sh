# Kafka's own command line tools. Their output, with names, ids, addresses and measurements masked, must be
# what it is on Apache Kafka 4.4, recorded in tools.expected (RECORD=1 writes it).
. "$clients/java/jars.sh"
install() { java_install; }

# tool NAME ARG...: a tool of Kafka's by its name in bin/.
tool() {
  local class
  case $1 in
    topics) class=TopicCommand ;; configs) class=ConfigCommand ;; console-producer) class=ConsoleProducer ;;
    console-consumer) class=consumer.ConsoleConsumer ;; broker-api-versions) class=BrokerApiVersionsCommand ;; cluster) class=ClusterTool ;;
    delete-records) class=DeleteRecordsCommand ;; features) class=FeatureCommand ;; get-offsets) class=GetOffsetShell ;;
    leader-election) class=LeaderElectionCommand ;; log-dirs) class=LogDirsCommand ;; metadata-quorum) class=MetadataQuorumCommand ;;
    producer-perf-test) class=ProducerPerformance ;; transactions) class=TransactionsCommand ;; reassign-partitions) class=reassign.ReassignPartitionsCommand ;;
  esac
  shift
  timeout 90 java -Xmx256m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Xshare:auto -cp "$jars/*" "org.apache.kafka.tools.$class" "$@"
}

# What a broker's place decides is masked, and what only Kafka has is left out.
mask() {
  sed -E -e "s/$T/TOPIC/g" -e "s/${BROKER_ADDR%:*}:[0-9]+/ADDRESS/g" -e 's/\x1b\[[0-9;]*m//g' \
    -e 's/(TopicId: |[Cc]luster ID: )[A-Za-z0-9_-]{22}/\1ID/g' -e 's/^(ClusterId: +)[A-Za-z0-9_-]+/\1ID/' | "mask_${1//[.-]/_}"
}
# Each case may have a filter of its own: mask_CASE with . and - turned to _.
keep() { cat; }

declare -a cases=()
in=/dev/null
# t CASE ARG...: runs a tool; its exit code and masked standard output are compared.
t() {
  local name=$1 rc=0; shift
  cases+=("$name")
  tool "$@" <"$in" >"$d/raw" 2>"$d/err" || rc=$?
  echo "--- $name: $* (exit $rc)"; cat "$d/raw"; grep -v '^\[\|^$' "$d/err" | tail -5
  declare -F "mask_${name//[.-]/_}" >/dev/null || eval "mask_${name//[.-]/_}() { keep; }"
  { echo "exit $rc"; mask "$name" <"$d/raw"; } >"$d/got.$name"
  in=/dev/null
}

served=' 0 1 2 3 18 19 20 21 22 23 32 33 35 37 43 44 46 55 57 60 61 74 75 '
mask_broker_api_versions() {
  awk -v served="$served" '{ if (match($0, /\(([0-9]+)\):/)) { k = substr($0, RSTART+1, RLENGTH-3); if (!index(served, " " k " ")) next; sub(/,$/, "") } print }'
}
mask_features_describe() { grep '^Feature: metadata.version' | sed -E 's/Epoch: [0-9]+/Epoch: N/'; }
mask_list_endpoints() { sed -E 's/^([0-9]+ +)[^ ]+ +[0-9]+ +/\1HOST PORT /'; }
mask_topics_describe() { sed -E 's/min\.insync\.replicas=1,?//'; }
mask_quorum_status() { sed -E -e 's/^((LeaderEpoch|HighWatermark|MaxFollowerLag|MaxFollowerLagTimeMs): +).*/\1N/' -e 's/^(CurrentVoters|CurrentObservers): +.*/\1: LIST/'; }
mask_quorum_replication() { awk '{ print $1, $NF }'; }
# Where a broker lies, ours alone, and the setting that Kafka stores for eligible leader replicas.
mask_configs() {
  grep -vE '^ +(ringmain\.|advertised\.listeners=|broker\.id=|controller\.|inter\.broker\.listener\.name=|listener\.security|listeners=|log\.dirs?=|metadata\.log\.dir=|node\.id=|process\.roles=|min\.insync\.replicas=)' |
    sed -E -e 's/^ +((offsets\.topic|transaction\.state\.log|share\.coordinator\.state\.topic)\.(replication\.factor|min\.isr)|group\.initial\.rebalance\.delay\.ms)=.*/ \1=SET/' -e 's/ +/ /g' | LC_ALL=C sort
}
mask_configs_broker_all() { mask_configs; }
mask_configs_topic_all() { mask_configs; }
mask_configs_topic() { mask_configs; }
mask_log_dirs() { grep '^{' | sed -E 's/"logDir":"[^"]*"/"logDir":"DIR"/'; }
mask_producer_perf_test() { sed -nE 's/^([0-9]+ records sent), .*ms 99.9th.*/\1/p' | tail -1; }
mask_get_offsets_max_timestamp() { sed -E 's/:[0-9]+$/:N/'; } # which of them came last in time is chance
mask_producers() { awk '{ print NF }'; }
mask_topics_create_bad_setting() { cat >/dev/null; }
mask_topics_create_again() { cat >/dev/null; }
mask_topics_delete_none() { cat >/dev/null; }

part_run() {
  local b="--bootstrap-server $BROKER_ADDR" node
  T=tools-$$-$RANDOM d=$(mktemp -d)
  t broker-api-versions broker-api-versions $b
  node=$(sed -n 's/^.*(id: \([0-9]*\) .*/\1/p' "$d/raw" | head -1)
  t cluster-id cluster cluster-id $b
  t list-endpoints cluster list-endpoints $b
  t features-describe features $b describe
  t quorum-status metadata-quorum $b describe --status
  t quorum-replication metadata-quorum $b describe --replication
  t topics-create topics $b --create --topic "$T" --partitions 3 --replication-factor 1 --config retention.ms=3600000
  t topics-create-again topics $b --create --topic "$T" --partitions 3 --replication-factor 1
  t topics-create-bad-setting topics $b --create --topic "$T-bad" --config segment.bytes=1
  t topics-list topics $b --list --topic "$T"
  t topics-describe topics $b --describe --topic "$T"
  t topics-add-partitions topics $b --alter --topic "$T" --partitions 4
  t topics-under-replicated topics $b --describe --under-replicated-partitions
  t configs-topic configs $b --describe --entity-type topics --entity-name "$T"
  t configs-topic-all configs $b --describe --all --entity-type topics --entity-name "$T"
  t configs-alter-topic configs $b --alter --entity-type topics --entity-name "$T" --add-config cleanup.policy=delete,max.message.bytes=2000000
  t configs-delete-topic configs $b --alter --entity-type topics --entity-name "$T" --delete-config max.message.bytes
  t configs-broker-all configs $b --describe --all --entity-type brokers --entity-name "$node"
  t configs-alter-default configs $b --alter --entity-type brokers --entity-default --add-config log.cleaner.threads=1
  t configs-delete-default configs $b --alter --entity-type brokers --entity-default --delete-config log.cleaner.threads
  seq 1 500 | awk '{ print "k" $1 ":v" $1 }' >"$d/in"; in=$d/in
  t console-producer console-producer $b --topic "$T" --reader-property parse.key=true --reader-property key.separator=:
  # Keys are spread by their hash: which record lies where is part of what is compared.
  t console-consumer console-consumer $b --topic "$T" --partition 0 --offset earliest --max-messages 40 --timeout-ms 20000 --formatter-property print.key=true --formatter-property print.offset=true
  t console-consumer-offset console-consumer $b --topic "$T" --partition 1 --offset 50 --max-messages 10 --timeout-ms 20000
  t get-offsets get-offsets $b --topic "$T"
  t get-offsets-earliest get-offsets $b --topic "$T" --time earliest
  t get-offsets-max-timestamp get-offsets $b --topic-partitions "$T:0" --time max-timestamp
  echo "{\"partitions\":[{\"topic\":\"$T\",\"partition\":0,\"offset\":7}],\"version\":1}" >"$d/delete.json"
  t delete-records delete-records $b --offset-json-file "$d/delete.json"
  t get-offsets-after get-offsets $b --topic "$T" --time earliest
  t leader-election leader-election $b --election-type preferred --topic "$T" --partition 0
  t topics-create-small topics $b --create --topic "$T-small" --partitions 1
  t log-dirs log-dirs $b --describe --topic-list "$T-small"
  t producer-perf-test producer-perf-test --topic "$T-small" --num-records 20000 --record-size 100 --throughput -1 $b
  t get-offsets-perf get-offsets $b --topic "$T-small"
  t producers transactions $b describe-producers --topic "$T-small" --partition 0
  t reassign-list reassign-partitions $b --list
  t topics-delete topics $b --delete --topic "$T"
  t topics-delete-none topics $b --delete --topic "$T-none"
  t topics-delete-small topics $b --delete --topic "$T-small"

  local name
  if [ -n "${RECORD:-}" ]; then
    for name in "${cases[@]}"; do echo "== $name"; cat "$d/got.$name"; done >tools.expected
  fi
  for name in "${cases[@]}"; do
    awk -v n="== $name" '/^== / { on = $0 == n; next } on' tools.expected >"$d/want"
    if cmp -s "$d/want" "$d/got.$name"; then pass "$name"; else
      diff "$d/want" "$d/got.$name" | sed "s/^/$name: /"
      fail "$name" "$(diff "$d/want" "$d/got.$name" | grep '^[<>]' | head -4 | cut -c1-160 | tr '\n' ' ')"
    fi
  done
  rm -rf "$d"
}
