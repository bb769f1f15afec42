# sarama's own functional tests. They want five brokers behind toxiproxy and topics of three replicas; a copy of the
# module takes five proxies to the one broker and topics of one.
broker_args=(--override auto.create.topics.enable=false)
install() { retry 3 go mod download && mkdir -p "$cache/suites" && go build -o "$cache/suites/toxiproxy" github.com/Shopify/toxiproxy/v2/cmd/server; }
part_run() {
  local dir src=$cache/suites/sarama base api i proxy
  dir=$(module_dir github.com/IBM/sarama) || return 1
  rm -rf "$src" && cp -r "$dir" "$src" && chmod -R u+w "$src" || return 1
  # Six ports in a row that nobody listens on: toxiproxy's own, and the five brokers'.
  for base in $((20000 + RANDOM % 10000)) $((30000 + RANDOM % 10000)) $((40000 + RANDOM % 10000)); do
    for i in 0 1 2 3 4 5; do (exec 3<>/dev/tcp/127.0.0.1/$((base + i))) 2>/dev/null && continue 2; done
    break
  done
  api=$base
  sed -i -e 's/ReplicationFactor: 3,/ReplicationFactor: 1,/' -e "s/29090+i/$base+i/g" "$src/functional_test.go"
  (cd "$src" && go test -c -tags functional -o "$cache/suites/sarama.test" .) || return 1
  "$cache/suites/toxiproxy" -host 127.0.0.1 -port $api >"$out/$part.proxy" 2>&1 & proxy=$!
  for ((i = 0; i < 100; i++)); do (exec 3<>/dev/tcp/127.0.0.1/$api) 2>/dev/null && break; sleep 0.1; done
  for i in 1 2 3 4 5; do
    curl -sf -X POST http://127.0.0.1:$api/proxies -d "{\"name\":\"kafka$i\",\"listen\":\"127.0.0.1:$((base + i))\",\"upstream\":\"$BROKER_ADDR\",\"enabled\":true}" >/dev/null || { cat "$out/$part.proxy"; kill $proxy; return 1; }
  done
  (cd "$src" && TOXIPROXY_ADDR=http://127.0.0.1:$api KAFKA_VERSION=4.3.1 timeout 300 "$cache/suites/sarama.test" -test.v -test.timeout 280s -test.run "$(suite_tests "$clients/suites/sarama.tests")") >"$out/$part.go" 2>&1
  kill $proxy
  suite_results "$out/$part.go" sarama.tests
}
