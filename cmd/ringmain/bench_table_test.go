package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ringmain/bench/result"
	"ringmain/perf/table"
)

// tableLine runs 'ringmain bench table' with an instrument.
func tableLine(t *testing.T, s *turns, args ...string) (code int, out, errOut string) {
	t.Helper()
	return benchLineWith(t, instrument{s.run, s.findKnee}, append([]string{"table", "--pause", "0s"}, args...)...)
}

func TestBenchTableBesideKafka(t *testing.T) {
	a, b := fakeCluster(t).ListenAddrs()[0], fakeCluster(t).ListenAddrs()[0]
	s := &turns{stand: stand{t: t}}
	dir := t.TempDir()
	document, page := filepath.Join(dir, "table.json"), filepath.Join(dir, "table.html")
	code, out, errOut := tableLine(t, s, "--a", a, "--a-pid", "7", "--a-name", "Apache Kafka <4>", "--b", b, "--rows", "P7m,P3", "--rounds", "2", "--duration", "1s",
		"--json", document, "--report", page, "--data-dir", dir)
	if code != exitFailure {
		t.Errorf("exit code %d", code)
	}
	has(t, errOut, "1 of 2: P3 produce-64k-flush-each", "2 of 2: P7m fetch-1m", "2 of 2 rows do not hold: P3, P7m")
	has(t, out, "b: "+b+" against Apache Kafka <4>, medians of 2 rounds", "≥ 3 x", "KAFKA", "not measured")
	if len(s.asked) != 8 {
		t.Fatalf("%d rounds were measured", len(s.asked))
	}
	for i, o := range s.asked {
		kafka := o.Bootstrap[0] == a
		if slices.Contains(o.PIDs, 7) != kafka || o.Spec.Duration.Seconds() != 1 || (i < 4) != (o.Spec.Name == "produce-64k-flush-each") {
			t.Errorf("round %d: the options are %+v", i, o)
		}
		if i < 4 && (o.Spec.TopicConfig["flush.messages"] == "1") != kafka {
			t.Errorf("round %d syncs %v", i, o.Spec.TopicConfig)
		}
	}
	text, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	var got table.Table
	if err := json.Unmarshal(text, &got); err != nil || got.Kind != table.Kind || len(got.Rows) != 2 || got.Holds || got.Ours != "b: "+b {
		t.Errorf("%v, %s", err, text)
	}
	html, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	has(t, string(html), "The hot path", "2 of 2 rows do not hold: P3, P7m", "Apache Kafka &lt;4&gt;", "P7m fetch-1m", "the last of 2 rounds", `class="worse"`)
	if left, _ := os.ReadDir(dir); len(left) != 2 {
		t.Errorf("left behind: %v", left)
	}
}

func TestBenchTableAgainstAnEarlierBuild(t *testing.T) {
	t.Setenv(actAsRingmain, "yes")
	s := &turns{stand: stand{t: t}}
	code, out, errOut := tableLine(t, s, "--against", "earlier", "--a-bin", os.Args[0], "--b-bin", os.Args[0], "--rows", "P5", "--data-dir", t.TempDir())
	if code != exitOK {
		t.Fatalf("exit code %d, %q", code, errOut)
	}
	has(t, out, "BEFORE", "≥ 0.9 x", "≤ 1.1 x", "yes", "medians of 11 rounds")
	if len(s.asked) != 22 {
		t.Errorf("%d rounds were measured", len(s.asked))
	}
}

func TestBenchTableMeasuresTheStart(t *testing.T) {
	t.Setenv(actAsRingmain, "yes")
	s := &turns{stand: stand{t: t}}
	_, out, errOut := tableLine(t, s, "--a", "h:1", "--b", "h:2", "--start", os.Args[0], "--rows", "P11", "--rounds", "1", "--data-dir", t.TempDir())
	has(t, out, "start to ready", "≤ 50 ms", "idle memory", "≤ 30 MB")
	if strings.Contains(out, "not measured") || len(s.asked) != 0 {
		t.Errorf("it was not measured: %q, %q", out, errOut)
	}
}

func TestBenchTableGoesOnBehindARowThatFails(t *testing.T) {
	a, b := fakeCluster(t).ListenAddrs()[0], fakeCluster(t).ListenAddrs()[0]
	s := &turns{stand: stand{t: t, spoil: func(d *result.Document) {
		if d.Workload.Name == "storm" {
			d.Verdict = result.Verdict{Reasons: []string{"1 request failed"}}
		}
	}}}
	code, out, errOut := tableLine(t, s, "--a", a, "--b", b, "--rows", "P8-alone,P13", "--rounds", "1", "--output", "json")
	has(t, out, `"failure": "round 1 of 2, a: `+a, "1 request failed", `"row": "P13-idle"`)
	has(t, errOut, "2 of 3 rows do not hold: ") // nor does P13-idle, which nobody measures here
	if code != exitFailure {
		t.Errorf("exit code %d", code)
	}
}

func TestBenchTableWrongUsage(t *testing.T) {
	s := shell{t: t}
	for _, c := range []struct{ line, text string }{
		{"", "side a: give --a"},
		{"--a h:1", "side b: give --b"},
		{"--list --rows P6", `row "P6" is not in the table`},
		{"--list --against earlier --rounds 3", "from 11 to"},
		{"--list --duration soon", "--duration"},
		{"--a h:1 --b h:2 --rows P6", `row "P6" is not in the table`},
		{"--a h:1 --b h:2 --against redpanda", `"redpanda"`},
		{"--a h:1 --b h:2 --against earlier --rounds 3", "from 11 to"},
		{"--a h:1 --b h:2 --rounds -1", "-1 rounds"},
		{"--a h:1 --b h:2 --duration soon", "--duration"},
		{"--a h:1 --b h:2 --warm-up -1", "--warm-up"},
		{"--a h:1 --b h:2 --start /no/such", "/no/such"},
		{"--a h:1 --b h:2 --data-dir /no/such", "/no/such"},
		{"--a h:1 --b h:2 --report /no/such/x.html", "/no/such"},
		{"produce-64k", "usage: ringmain bench table"},
	} {
		s.fails(exitUsage, append([]string{"bench", "table"}, strings.Fields(c.line)...), c.text)
	}
	has(t, s.ok("", "bench", "table", "--help"), "Side A, what we are held against:", "--rows", "--a-name", "--start")
	list := s.ok("", "bench", "table", "--list", "--rows", "P11,P1,P8")
	has(t, list, "produce-64k", "≥ 2 x, or 1500 MB/s", "start to ready", "≤ 50 ms", "p99.9")
	if strings.Contains(list, "P5") {
		t.Errorf("a row that was not asked for is listed:\n%s", list)
	}
}
