# Go's clients, in a module of their own so that the broker's stays small.
broker_args=("${quick_groups[@]}")
install() {
  command -v go >/dev/null && mkdir -p "$cache/go" && retry 3 go mod download && go build -o "$cache/go/" ./franz ./sarama ./kafkago || return 1
  # confluent-kafka-go carries librdkafka and needs a C compiler.
  command -v cc >/dev/null || { retry 3 apt-get update -qq && retry 3 apt-get install -y -qq gcc libc6-dev; }
  CGO_ENABLED=1 go build -o "$cache/go/" ./confluent
}
part_run() {
  local client
  for client in franz sarama kafkago confluent; do collect "$client" "$cache/go/$client" "$BROKER_ADDR"; done
}
