package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ringmain/bench/workload"
	"ringmain/perf"
)

// writeRounds writes results of two sides measured in turns, the second a tenth
// slower, and returns the directory.
func writeRounds(t *testing.T, pairs int) string {
	t.Helper()
	dir := t.TempDir()
	for i := range pairs {
		for k, name := range []string{"old", "new"} {
			d := measured(t, workload.Defaults(workload.Produce))
			d.When = time.Unix(int64(1_700_000_000+100*i+50*k), 0)
			d.Reached.Bytes *= (1 - 0.1*float64(k)) * (1 + 0.001*float64((i+k)%3))
			if err := d.WriteFile(filepath.Join(dir, fmt.Sprintf("%s-%02d.json", name, i))); err != nil {
				t.Fatal(err)
			}
		}
	}
	return dir
}

func TestBenchCompareTellsADifference(t *testing.T) {
	dir := writeRounds(t, 12)
	s := shell{t: t}
	page, document := filepath.Join(dir, "page.html"), filepath.Join(dir, "comparison")
	out := s.ok("", "bench", "compare", "--side", "old="+dir+"/old-*.json", "--side", "new="+dir+"/new-*.json", "--report", page, "--json", document)
	has(t, out, "new (12 rounds) against old (12 rounds)", "throughput", "0.9", "worse", "no difference", "12")
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	has(t, string(text), "worse", "the last of 12 rounds")
	c := decode[perf.Comparison](t, s.ok("", "bench", "compare", "--side", "old="+dir+"/old-*.json", "--side", "new="+dir+"/new-*.json", "--output", "json"))
	if len(c.Sides) != 2 || len(c.Sides[1].Rounds) != 12 || !c.Different() {
		t.Errorf("%+v", c)
	}
	// The document goes on to a page of its own.
	again := filepath.Join(dir, "again.html")
	if out := s.ok("", "bench", "report", dir+"/old-01.json", document, "--report", again, "--title", "loops"); out != "" {
		t.Errorf("printed %q", out)
	}
	text, err = os.ReadFile(again)
	if err != nil {
		t.Fatal(err)
	}
	has(t, string(text), "worse", "old-01", "loops")
	s.fails(exitUsage, []string{"bench", "report", document, document, "--report", again}, "second comparison")
}

func TestBenchCompareOfSingleResultsHasNoVerdict(t *testing.T) {
	dir := writeRounds(t, 2)
	s := shell{t: t}
	out := s.ok("", "bench", "compare", dir+"/old-00.json", dir+"/new-00.json", dir+"/new-01.json")
	has(t, out, "new-00 (1 round) against old-00", "new-01 (1 round) against old-00", "not judged: 1 pair, and a verdict needs 11")
	if strings.Contains(out, "worse") {
		t.Errorf("one pair was judged:\n%s", out)
	}
}

func TestBenchCompareWarnsOfUnequalLoads(t *testing.T) {
	dir := writeRounds(t, 1)
	other := workload.Defaults(workload.Produce)
	other.InFlight, other.Topic = 1, "another"
	d := measured(t, other)
	d.Verdict.OK = false
	d.Warnings = []string{"12 late sends"}
	path := filepath.Join(dir, "other.json")
	if err := d.WriteFile(path); err != nil {
		t.Fatal(err)
	}
	code, _, errOut := shell{t: t}.run("", "bench", "compare", dir+"/old-00.json", path)
	if code != exitOK || strings.Count(errOut, "ringmain: warning: ") != 3 {
		t.Errorf("exit code %d, %q", code, errOut)
	}
	has(t, errOut, "in_flight is 1, not 5", "other: the result cannot be used", "other: 1 of 1 result came with warnings, the first: 12 late sends")
}

func TestBenchReportRefusesWhatIsNoResult(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "x.json")
	for text, says := range map[string]string{
		"hello":                               "not a result",
		`{"kind": "comparison", "format": 9}`: "format 9",
		`{"kind": "comparison", "format": 1}`: "0 sides",
		`{"kind":"comparison","format":1,"sides":[{},{}],"rows":[{}]}`: "not of all sides",
	} {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		shell{t: t}.fails(exitFailure, []string{"bench", "report", path, "--report", dir + "/page.html"}, says)
	}
	shell{t: t}.fails(exitFailure, []string{"bench", "report", dir + "/none.json", "--report", dir + "/page.html"}, "none.json")
}
