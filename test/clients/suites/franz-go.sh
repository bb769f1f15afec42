# franz-go's own tests of its client. RECORDS=500000 gives those of groups as many records as its own CI does; SUITE_SECONDS
# is for the whole.
install() { retry 3 go mod download && mkdir -p "$cache/suites" && go test -c -o "$cache/suites/kgo.test" github.com/twmb/franz-go/pkg/kgo; }
part_run() {
  local dir
  dir=$(module_dir github.com/twmb/franz-go) || return 1
  (cd "$dir/pkg/kgo" && KGO_SEEDS=$BROKER_ADDR KGO_TEST_RF=1 KGO_TEST_RECORDS=${RECORDS:-5000} KGO_LOG_LEVEL=none \
    timeout $((${SUITE_SECONDS:-240} + 10)) "$cache/suites/kgo.test" -test.v -test.timeout "${SUITE_SECONDS:-240}s" -test.run "$(suite_tests "$clients/suites/franz-go.tests")") >"$out/$part.go" 2>&1
  suite_results "$out/$part.go" franz-go.tests
}
