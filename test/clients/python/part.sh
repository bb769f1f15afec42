# Python's clients.
broker_args=("${quick_groups[@]}")
install() {
  local venv=$cache/python
  [ -x "$venv/bin/python" ] || python3 -m venv "$venv" || { retry 3 apt-get update -qq && retry 3 apt-get install -y -qq python3-venv && python3 -m venv "$venv"; } || return 1
  cmp -s requirements.txt "$venv/requirements.txt" && return
  retry 3 "$venv/bin/pip" install -q --disable-pip-version-check -r requirements.txt && cp requirements.txt "$venv/"
}
part_run() {
  local client
  for client in kafka_python aiokafka confluent; do
    collect "$client" "$cache/python/bin/python" "smoke_$client.py" "$BROKER_ADDR"
  done
}
