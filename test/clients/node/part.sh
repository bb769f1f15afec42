# Node's clients.
broker_args=("${quick_groups[@]}")
install() {
  local dir=$cache/node
  mkdir -p "$dir"
  cmp -s package-lock.json "$dir/package-lock.json" && [ -f "$dir/.done" ] && return
  cp package.json package-lock.json "$dir/" && (cd "$dir" && rm -f .done && retry 3 npm ci --silent --no-audit --no-fund --omit=dev) && touch "$dir/.done"
}
part_run() {
  cp smoke.mjs group.mjs node20.mjs smoke_kafkajs.mjs smoke_platformatic.mjs "$cache/node/"
  collect kafkajs node "$cache/node/smoke_kafkajs.mjs" "$BROKER_ADDR"
  collect platformatic node "$cache/node/smoke_platformatic.mjs" "$BROKER_ADDR"
}
