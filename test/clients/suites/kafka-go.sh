# kafka-go's own tests. They name localhost:9092, so a copy of the module names the broker instead.
broker_args=(--override message.max.bytes=200000000)
install() { retry 3 go mod download; }
part_run() {
  local dir src=$cache/suites/kafka-go host=${BROKER_ADDR%:*} port=${BROKER_ADDR##*:}
  dir=$(module_dir github.com/segmentio/kafka-go) || return 1
  mkdir -p "$cache/suites"
  rm -rf "$src" && cp -r "$dir" "$src" && chmod -R u+w "$src" && rm -rf "$src/examples" || return 1
  # Addresses of the broker under test; addresses that only stand for an address stay.
  find "$src" -maxdepth 1 -name '*_test.go' ! -name address_test.go ! -name protocol_test.go -print0 | xargs -0 sed -i \
    -e "s/\"localhost:9092\"/\"$BROKER_ADDR\"/g; s/TCP(\"localhost\")/TCP(\"$BROKER_ADDR\")/g; s/\"tcp\", \"127.0.0.1:9092\"/\"tcp\", \"$BROKER_ADDR\"/" \
    -e "s/Host: \"localhost\", Port: 9092/Host: \"$host\", Port: $port/g; s/\.Host != \"localhost\"/.Host != \"$host\"/; s/\.Port != 9092/.Port != $port/"
  (cd "$src" && GOFLAGS=-mod=mod KAFKA_SKIP_NETTEST=1 KAFKA_VERSION=4.4.0 timeout 300 go test -v -count=1 -timeout 280s -run "$(suite_tests "$clients/suites/kafka-go.tests")" .) >"$out/$part.go" 2>&1
  suite_results "$out/$part.go" kafka-go.tests
}
