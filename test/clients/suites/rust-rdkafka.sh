# The rdkafka crate's own tests, of the version that rust/Cargo.lock pins. They want broker 0 and three partitions;
# those that name port 9092 themselves are left out.
broker_args=(--override node.id=0 --override num.partitions=3)
install() {
  local dir src=$cache/suites/rust-rdkafka
  command -v g++ >/dev/null && command -v make >/dev/null || { retry 3 apt-get update -qq && retry 3 apt-get install -y -qq g++ make; } || return 1
  retry 3 cargo fetch --locked --manifest-path "$clients/rust/Cargo.toml" || return 1
  dir=$(cargo metadata --locked --format-version 1 --manifest-path "$clients/rust/Cargo.toml" | grep -o '"[^"]*/rdkafka-[0-9.]*/Cargo.toml"' | head -1 | tr -d '"') || return 1
  mkdir -p "$cache/suites" && rm -rf "$src" && cp -r "${dir%/Cargo.toml}" "$src" && chmod -R u+w "$src" || return 1
  (cd "$src" && CARGO_TARGET_DIR=${RUST_SUITE_TARGET:-$cache/rust-suite} retry 3 cargo test --quiet --no-run --tests)
}
part_run() {
  local list=$clients/suites/rust-rdkafka.tests file
  cd "$cache/suites/rust-rdkafka" || return 1
  export CARGO_TARGET_DIR=${RUST_SUITE_TARGET:-$cache/rust-suite} KAFKA_HOST=$BROKER_ADDR KAFKA_VERSION=4.0.0 RUST_LOG=off
  for file in $(grep -v '^#' "$list" | cut -d/ -f1 | sort -u); do
    # One program after the other, each with its listed tests; "test x ... ok" becomes what suite_results reads.
    timeout 120 cargo test --quiet --test "$file" -- --format pretty --test-threads 2 --exact $(sed -n "s|^$file/||p" "$list") 2>&1 |
      tee -a "$out/$part.log" | sed -nE "s|^test (.*) \.\.\. ok\$|--- PASS: $file/\1|p; s|^test (.*) \.\.\. FAILED\$|--- FAIL: $file/\1|p"
  done >"$out/$part.go"
  suite_results "$out/$part.go" "$list"
}
