# Kafka's own command line tools. Their output, with names, ids, addresses and measurements masked, must be
# what it is on Apache Kafka 4.4, recorded in tools.expected (RECORD=1 writes it).
. "$clients/java/jars.sh"
install() { java_install && mkdir -p "$cache/java/tools" && javac -d "$cache/java/tools" -cp "$jars/*" Tools.java; }

# tool NAME ARG...: a tool of Kafka's by its name in bin/.
tool() {
  local class
  case $1 in
    topics) class=TopicCommand ;; configs) class=ConfigCommand ;; console-producer) class=ConsoleProducer ;;
    console-consumer) class=consumer.ConsoleConsumer ;; broker-api-versions) class=BrokerApiVersionsCommand ;; cluster) class=ClusterTool ;;
    delete-records) class=DeleteRecordsCommand ;; features) class=FeatureCommand ;; get-offsets) class=GetOffsetShell ;;
    leader-election) class=LeaderElectionCommand ;; log-dirs) class=LogDirsCommand ;; metadata-quorum) class=MetadataQuorumCommand ;;
    consumer-groups) class=consumer.group.ConsumerGroupCommand ;; groups) class=GroupsCommand ;;
    producer-perf-test) class=ProducerPerformance ;; transactions) class=TransactionsCommand ;; reassign-partitions) class=reassign.ReassignPartitionsCommand ;;
  esac
  shift
  local line rc
  case $class in
    # These keep counts for the process, or read standard input.
    Console* | consumer.Console* | ProducerPerformance)
      timeout 90 java "${small[@]}" -cp "$jars/*" "org.apache.kafka.tools.$class" "$@"; return ;;
  esac
  printf -v line '\t%s' "$d/tool.out" "$d/tool.err" "org.apache.kafka.tools.$class" "$@"
  echo "${line:1}" >&"${tools[1]}"
  read -r -t 90 rc <&"${tools[0]}" || rc=124
  cat "$d/tool.out"; cat "$d/tool.err" >&2
  return "$rc"
}
small=(-Xmx256m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Xshare:auto)

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

served=' 0 1 2 3 8 9 10 11 12 13 14 15 16 18 19 20 21 22 23 32 33 35 37 42 43 44 46 47 55 57 60 61 68 69 74 75 '
mask_broker_api_versions() {
  awk -v served="$served" '{ if (match($0, /\(([0-9]+)\):/)) { k = substr($0, RSTART+1, RLENGTH-3); if (!index(served, " " k " ")) next; sub(/,$/, "") } print }'
}
mask_features_describe() { grep -E '^Feature: (metadata|group)\.version' | sed -E 's/Epoch: [0-9]+/Epoch: N/'; }
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

# Tables of groups: their widths are those of the names, their rows come in any order; ids of members are new each time.
uuid='[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}'
mask_table() { sed -E -e "s/$uuid/UUID/g" -e 's/-[A-Za-z0-9_-]{22}( |$)/-ID\1/g; s/(^| )[A-Za-z0-9_-]{22}( |$)/\1ID\2/g' -e 's/ +/ /g; s/^ //; s/ $//' | LC_ALL=C sort; }
mask_own() { mask_table | grep -E 'GROUP|TOPIC'; }
mask_rows() { LC_ALL=C sort; }
mask_count() { sort -u | wc -l; }
# The records of __consumer_offsets that Kafka's formatters show, of one group.
mask_offset_records() {
  sed 's/}{"key"/}\n{"key"/g' | grep '"group":"TOPIC-reset"' | sed -E 's/"(commitTimestamp|expireTimestamp)":[0-9]+/"\1":N/g; s/"topicId":"[^"]*"/"topicId":"ID"/g' |
    sed -E 's/.*"partition":([0-9]+).*/\1 &/' | sort -s -n -k1,1 | cut -d' ' -f2-
}
mask_group_records() {
  # Kafka writes an empty group at its first JoinGroup too, we only once there is something to keep.
  sed 's/}{"key"/}\n{"key"/g' | grep '"group":"TOPIC-classic"' | grep -v '"generation":0,' | sed -E -e 's/"currentStateTimestamp":[0-9]+/"currentStateTimestamp":N/; s/"(subscription|assignment)":"[^"]*"/"\1":"BYTES"/g' -e "s/$uuid/UUID/g"
}

# home GROUP: the partition of __consumer_offsets that holds a group, by Java's hash of its name.
home() {
  local i h=0
  for ((i = 0; i < ${#1}; i++)); do h=$(((31 * h + $(printf %d "'${1:i:1}")) & 0xffffffff)); done
  [ $h -lt $((1 << 31)) ] || h=$(((1 << 32) - h))
  echo $((h % 50))
}

# home_records GROUP: how to read that partition to its end.
home_records() {
  local p end
  p=$(home "$1")
  end=$(tool get-offsets $b --topic-partitions "__consumer_offsets:$p")
  echo "console-consumer $b --topic __consumer_offsets --partition $p --offset earliest --max-messages ${end##*:} --timeout-ms 20000"
}

# member NAME ARG...: a consumer of a group in the background until unmember.
member() {
  local group=$1; shift
  java "${small[@]}" -cp "$jars/*" org.apache.kafka.tools.consumer.ConsoleConsumer $b --group "$group" \
    --command-property client.id=member "$@" --topic "$T" >"$d/member" 2>&1 &
  member=$!
  local i
  # It has its place when the group says so.
  for ((i = 0; i < 300; i++)); do tool consumer-groups $b --describe --state --group "$group" 2>/dev/null | grep -q Stable && return; sleep 0.1; done
}
unmember() { kill "$member"; wait "$member" 2>/dev/null; }

# The tools for groups, in a group of each protocol and in one of offsets alone.
groups() {
  local c=$T-classic n=$T-next r=$T-reset
  # As mask_CASE: every table is masked alike.
  local x; for x in list list_state list_empty list_type list_classic list_consumer groups_list groups_classic groups_consumer groups_both; do eval "mask_group_$x() { mask_own; }"; done
  for x in describe describe_verbose state members members_verbose reset_active delete_offsets_active next_describe next_verbose next_state next_members next_members_verbose empty_describe empty_state empty_members unknown unknown_members; do
    eval "mask_group_$x() { mask_table; }"; done
  for x in earliest_dry earliest latest offset shift_back shift_on shift_far datetime duration current file partition delete_offsets after; do eval "mask_group_reset_$x() { mask_table; }"; done
  mask_group_reset_export() { mask_rows; }
  mask_group_consume() { mask_count; }
  mask_group_consume_next() { mask_count; }
  mask_group_consume_rest() { mask_rows; }
  t group-consume console-consumer $b --topic "$T" --group "$c" --from-beginning --max-messages 493 --timeout-ms 20000
  t group-consume-next console-consumer $b --topic "$T" --group "$n" --command-property group.protocol=consumer --from-beginning --max-messages 493 --timeout-ms 20000
  seq 1 8 | awk '{ print "k" $1 ":more" $1 }' | tool console-producer $b --topic "$T" --reader-property parse.key=true --reader-property key.separator=:
  t group-consume-rest console-consumer $b --topic "$T" --group "$c" --max-messages 8 --timeout-ms 20000
  t group-list consumer-groups $b --list
  t group-empty-describe consumer-groups $b --describe --group "$c"
  t group-empty-state consumer-groups $b --describe --group "$c" --state
  t group-empty-members consumer-groups $b --describe --group "$c" --members
  t group-unknown consumer-groups $b --describe --group "$T-none"
  t group-unknown-members consumer-groups $b --describe --group "$T-none" --members

  member "$c"
  t group-describe consumer-groups $b --describe --group "$c"
  t group-describe-verbose consumer-groups $b --describe --group "$c" --verbose
  t group-state consumer-groups $b --describe --group "$c" --state
  t group-members consumer-groups $b --describe --group "$c" --members
  t group-members-verbose consumer-groups $b --describe --group "$c" --members --verbose
  t group-list-state consumer-groups $b --list --state
  t group-list-type consumer-groups $b --list --type
  t group-reset-active consumer-groups $b --reset-offsets --to-earliest --topic "$T" --group "$c" --execute
  t group-delete-active consumer-groups $b --delete --group "$c"
  t group-delete-offsets-active consumer-groups $b --delete-offsets --group "$c" --topic "$T"
  unmember
  member "$n" --command-property group.protocol=consumer
  t group-next-describe consumer-groups $b --describe --group "$n"
  t group-next-verbose consumer-groups $b --describe --group "$n" --verbose
  t group-next-state consumer-groups $b --describe --group "$n" --state --verbose
  t group-next-members consumer-groups $b --describe --group "$n" --members
  t group-next-members-verbose consumer-groups $b --describe --group "$n" --members --verbose
  t group-delete-active-next consumer-groups $b --delete --group "$n"
  unmember

  local reset="consumer-groups $b --reset-offsets --group $r"
  t group-reset-earliest-dry $reset --to-earliest --topic "$T" --dry-run
  t group-reset-earliest $reset --to-earliest --topic "$T" --execute
  t group-reset-latest $reset --to-latest --topic "$T" --execute
  t group-reset-offset $reset --to-offset 20 --topic "$T" --execute
  t group-reset-shift-back $reset --shift-by -5 --topic "$T:0,1" --execute
  t group-reset-shift-on $reset --shift-by 3 --all-topics --execute
  t group-reset-shift-far $reset --shift-by 100000 --topic "$T:2" --execute
  t group-reset-datetime $reset --to-datetime 2001-02-03T04:05:06.000 --topic "$T:2" --execute
  t group-reset-duration $reset --by-duration P1D --topic "$T:3" --execute
  t group-reset-current $reset --to-current --topic "$T" --execute
  t group-reset-export $reset --to-current --topic "$T" --export --dry-run
  printf '%s,0,11\n%s,1,12\n' "$T" "$T" >"$d/reset.csv"
  t group-reset-file $reset --from-file "$d/reset.csv" --execute
  t group-reset-nothing $reset --topic "$T" --execute
  t group-reset-delete-offsets consumer-groups $b --delete-offsets --group "$r" --topic "$T:3"
  t group-reset-after consumer-groups $b --describe --group "$r"
  t group-list-empty consumer-groups $b --list --state empty
  t group-list-classic consumer-groups $b --list --type classic
  t group-list-consumer consumer-groups $b --list --type consumer
  t group-list-nonsense consumer-groups $b --list --state nonsense
  t group-groups-list groups $b --list
  t group-groups-classic groups $b --list --group-type classic
  t group-groups-consumer groups $b --list --group-type consumer
  t group-groups-both groups $b --list --consumer
  t offset-records $(home_records "$r") --formatter org.apache.kafka.tools.consumer.OffsetsMessageFormatter
  t group-records $(home_records "$c") --formatter org.apache.kafka.tools.consumer.GroupMetadataMessageFormatter
  t group-delete consumer-groups $b --delete --group "$c"
  t group-delete-next consumer-groups $b --delete --group "$n"
  t group-delete-again consumer-groups $b --delete --group "$c"
}

part_run() {
  local b="--bootstrap-server $BROKER_ADDR" node
  T=tools-$$-$RANDOM d=$(mktemp -d)
  coproc tools { java "${small[@]}" -cp "$cache/java/tools:$jars/*" Tools; }
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
  groups
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
