# The rdkafka crate. It builds librdkafka, which takes minutes the first time.
install() {
  command -v g++ >/dev/null && command -v make >/dev/null || { retry 3 apt-get update -qq && retry 3 apt-get install -y -qq g++ make; } || return 1
  CARGO_TARGET_DIR=$cache/rust retry 3 cargo build --quiet --locked
}
part_run() { collect rdkafka "$cache/rust/debug/smoke" "$BROKER_ADDR"; }
