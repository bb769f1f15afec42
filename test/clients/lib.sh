# Sourced by run: the broker, the report, the caches.
clients=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$clients/../.." && pwd)
cache=${CLIENTS_CACHE:-$HOME/.cache/ringmain-clients}
out=$root/bin/clients
mkdir -p "$cache" "$out"
export DEBIAN_FRONTEND=noninteractive

# say writes to the terminal and to nothing else.
say() { printf '%s\n' "$*"; }

# retry N COMMAND...: registries fail now and then.
retry() {
  local n=$1 i; shift
  for ((i = 1; i <= n; i++)); do "$@" && return; sleep $((i * 3)); done
  return 1
}

# Heartbeats of KIP-848 groups follow each other at the broker's pace, every 5 s unless it is told otherwise.
quick_groups=(--override group.consumer.min.heartbeat.interval.ms=300 --override group.consumer.heartbeat.interval.ms=300)

# broker_start [ARG...]: a fresh broker, its address in $BROKER_ADDR. With BROKER set, that one.
broker_start() {
  if [ -n "${BROKER:-}" ]; then BROKER_ADDR=$BROKER; return; fi
  broker_dir=$(mktemp -d)
  "$RINGMAIN" serve --data-dir "$broker_dir/data" --listen "${LISTEN:-127.0.0.1:0}" --http off \
    --override group.initial.rebalance.delay.ms=0 "$@" >"$broker_dir/out" 2>"$out/broker-$part.log" &
  broker_pid=$!
  local i
  for ((i = 0; i < 600; i++)); do
    grep -qs '^ringmain ready ' "$broker_dir/out" && break
    kill -0 $broker_pid 2>/dev/null || { say "the broker stopped at its start:"; tail -5 "$out/broker-$part.log"; return 1; }
    sleep 0.05
  done
  BROKER_ADDR=$(sed -n 's/^ringmain ready .*kafka=\([^ ]*\).*/\1/p' "$broker_dir/out")
  [ -n "$BROKER_ADDR" ] || { say "no ready line within 30 s"; return 1; }
}

broker_stop() {
  [ -n "${broker_pid:-}" ] || return 0
  kill "$broker_pid" 2>/dev/null
  local rc=0
  wait "$broker_pid" || rc=$?
  broker_pid=
  rm -rf "$broker_dir"
  [ "$rc" = 0 ] || { fail "broker stops cleanly" "exit $rc; see $out/broker-$part.log"; }
}

# pass NAME, fail NAME REASON: one result of the part that runs.
pass() { echo "PASS $1" >>"$out/$part.results"; }
fail() { echo "FAIL $1: $2" >>"$out/$part.results"; }

# collect NAME COMMAND...: runs a program that prints "PASS x" and "FAIL x: why"; it fails as a whole
# when it ends badly without saying which.
collect() {
  local name=$1 rc=0; shift
  echo "--- $name"
  timeout "${COLLECT_SECONDS:-180}" "$@" >"$out/$part.one" 2>&1 || rc=$?
  cat "$out/$part.one"
  grep -E '^(PASS|FAIL) ' "$out/$part.one" | sed -E "s/^(PASS|FAIL) /\1 $name: /" >>"$out/$part.results"
  if [ $rc != 0 ] && ! grep -q '^FAIL ' "$out/$part.one"; then fail "$name" "exit $rc: $(tail -1 "$out/$part.one" | cut -c1-200)"; fi
  if [ $rc = 0 ] && ! grep -q '^PASS ' "$out/$part.one"; then fail "$name" "it checked nothing"; fi
  rm -f "$out/$part.one"
}

# suite_results LOG LIST: every test of LIST (one name a line) must have passed in LOG, go test's verbose output.
suite_results() {
  local name
  grep -E '^ *--- (PASS|FAIL|SKIP): ' "$1" | awk '{ print $2, $3 }' | sort -u >"$out/$part.seen"
  while read -r name; do
    case $name in '' | '#'*) continue ;; esac
    if grep -qxF "FAIL: $name" "$out/$part.seen"; then fail "$name" "it failed"
    elif grep -qxF "PASS: $name" "$out/$part.seen"; then pass "$name"
    else fail "$name" "it did not run to its end"; fi
  done <"$2"
  # What passes and is not listed yet could be.
  comm -13 <(sort "$2") <(sed -n 's/^PASS: //p' "$out/$part.seen") | grep -v / | sed 's/^/not listed: /'
}

# suite_tests LIST: a pattern of the tests of a list, for -run. Of a test that is listed in parts only these run: another
# part may end the whole program.
suite_tests() {
  grep -v '^#' "$1" | awk -F/ '
    NF == 1 { whole[$1] = 1 }
    NF > 1 { part = $2; gsub(/[][(){}.*+?^$|\\]/, "\\\\&", part); if (!seen[$1, part]++) parts[$1] = parts[$1] "|" part }
    NF { names[$1] = 1 }
    END { for (n in names) print "^" n "$" (whole[n] ? "" : "/^(" substr(parts[n], 2) ")$") }' | sort | paste -sd'|'
}

# module_dir MODULE: where the module pinned by suites/go.mod lies. Read only.
module_dir() { (cd "$clients/suites" && go mod download "$1" && go list -m -f '{{.Dir}}' "$1"); }
