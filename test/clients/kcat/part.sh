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
  rm -rf "$d"
}
