# Debian's kcat: librdkafka as old as one meets it.
install() { command -v kcat >/dev/null || { retry 3 apt-get update -qq && retry 3 apt-get install -y -qq kcat; }; }

# kcat_same NAME FILE FILE
kcat_same() { if cmp -s "$2" "$3"; then pass "$1"; else fail "$1" "$(wc -l <"$2") lines wanted, $(wc -l <"$3") read"; fi; }

part_run() {
  local b="-b $BROKER_ADDR" d z name=kcat-$$-$RANDOM
  d=$(mktemp -d)
  seq 100000 | sed 's/^/line of text number /' >"$d/in"
  for z in none gzip snappy lz4 zstd; do
    local t=$name-$z
    kcat $b -P -t "$t" -p 0 -z $z -X acks=all -l "$d/in" || fail "produce $z" "exit $?"
    timeout 60 kcat $b -C -t "$t" -p 0 -o beginning -e -q >"$d/out"
    kcat_same "100,000 lines with $z" "$d/in" "$d/out"
    # In the middle of batches, and from the end.
    timeout 60 kcat $b -C -t "$t" -p 0 -o 54321 -c 1000 -q >"$d/out"
    sed -n '54322,55321p' "$d/in" >"$d/want"
    kcat_same "by offset with $z" "$d/want" "$d/out"
    timeout 60 kcat $b -C -t "$t" -p 0 -o -777 -e -q >"$d/out"
    tail -777 "$d/in" >"$d/want"
    kcat_same "from the end with $z" "$d/want" "$d/out"
    timeout 60 kcat $b -Q -t "$t:0:-1" | grep -q 'offset 100000$' && pass "end offset with $z" || fail "end offset with $z" "not 100000"
  done
  kcat $b -P -t "$name-idempotent" -p 0 -X enable.idempotence=true -l "$d/in" || fail "idempotent produce" "exit $?"
  timeout 60 kcat $b -C -t "$name-idempotent" -p 0 -o beginning -e -q >"$d/out"
  kcat_same "idempotent" "$d/in" "$d/out"

  # By time: three lots, two of them behind the moment that is asked for.
  local t=$name-time at
  echo before | kcat $b -P -t "$t" -p 0
  sleep 0.05; at=$(date +%s%3N); sleep 0.05
  printf 'first\nsecond\n' | kcat $b -P -t "$t" -p 0
  timeout 60 kcat $b -C -t "$t" -p 0 -o "s@$at" -e -q >"$d/out"
  printf 'first\nsecond\n' >"$d/want"
  kcat_same "by time" "$d/want" "$d/out"
  timeout 60 kcat $b -Q -t "$t:0:$at" | grep -q 'offset 1$' && pass "offset of a time" || fail "offset of a time" "not 1"

  echo 'k1|v1' | kcat $b -P -t "$name-kv" -p 0 -K '|' -H a=1 -H b=2
  timeout 60 kcat $b -C -t "$name-kv" -p 0 -o beginning -e -q -f '%k %s %h %o\n' >"$d/out"
  echo 'k1 v1 a=1,b=2 0' >"$d/want"
  kcat_same "key and headers" "$d/want" "$d/out"
  kcat $b -L -J -t "$name-kv" | grep -q '"partitions":\[{"partition":0,"leader":[0-9]' && pass "metadata" || fail "metadata" "not as expected"
  kcat_groups
  rm -rf "$d"
}

# kcat_member NAME: a member of group $g in the background; what it reads goes to $d/NAME, one "topic offset" a
# line, and what it says of its assignment to $d/NAME.err.
kcat_member() {
  kcat $b -G "$g" -X auto.offset.reset=earliest -X partition.assignment.strategy=roundrobin -X session.timeout.ms=6000 \
    -X heartbeat.interval.ms=200 -f '%t %o\n' -u $t >"$d/$1" 2>"$d/$1.err" &
  eval "$1=$!"
}
# kcat_has NAME COUNT: the last assignment that the member was told has so many partitions.
kcat_has() { [ "$(grep 'assigned: ' "$d/$1.err" | tail -1 | grep -o '\[[0-9]*\]' | wc -l)" = "$2" ]; }
kcat_halves() { kcat_has m1 2 && kcat_has m2 2; }
kcat_read() { [ "$(cat "$d"/m? | sort -u | wc -l)" -ge "$1" ]; }
# kcat_until WHAT COMMAND...
kcat_until() {
  local what=$1 i; shift
  for ((i = 0; i < 400; i++)); do "$@" && return; sleep 0.05; done
  fail "group: $what" "not within 20 s"
  tail -n 5 "$d"/m?.err
  return 1
}
# kcat_more COUNT: so many records into each topic of the group.
kcat_more() { local x; for x in $t; do seq "$1" | kcat $b -P -t "$x" -p 0 || fail "group: produce" "exit $?"; done; }
# A member that is stopped commits what it has read.
kcat_stop() { kill "$1"; wait "$1" 2>/dev/null; }

# A group that grows, shrinks and is left, on four topics: every record is read once.
kcat_groups() {
  local g=$name-group t="$name-g1 $name-g2 $name-g3 $name-g4" m1='' m2='' m3='' x i
  kcat_more 500
  kcat_member m1
  kcat_until "the first member has all" kcat_has m1 4
  kcat_until "the first member reads" kcat_read 2000
  kcat_member m2
  kcat_until "each has half" kcat_halves
  kcat_more 500
  kcat_until "both read" kcat_read 4000
  kcat_stop $m1
  kcat_until "the second has all" kcat_has m2 4
  kcat_more 250
  kcat_until "the second reads on" kcat_read 5000
  kcat_stop $m2
  kcat_more 50
  kcat_member m3
  kcat_until "a later one goes on" kcat_read 5200
  kcat_stop $m3
  sort -k1,1 -k2,2n "$d/m1" "$d/m2" "$d/m3" >"$d/out"
  for x in $t; do for ((i = 0; i < 1300; i++)); do echo "$x $i"; done; done >"$d/want"
  kcat_same "group: every record once" "$d/want" "$d/out"
}
