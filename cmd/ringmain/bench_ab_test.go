package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ringmain/bench"
	"ringmain/bench/result"
	"ringmain/perf"
)

// actAsRingmain makes this test's own binary the program itself, so that there is
// a build to start.
const actAsRingmain = "RINGMAIN_TEST_ACTS"

func TestMain(m *testing.M) {
	if os.Getenv(actAsRingmain) != "" {
		os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

// turns is an instrument that notes whom it measured.
type turns struct {
	stand
	asked  []bench.Options
	slower string // the address of a side
}

func (s *turns) run(ctx context.Context, o bench.Options) (*result.Document, error) {
	s.asked = append(s.asked, o)
	d, err := s.stand.run(ctx, o)
	d.Reached.Bytes *= 1 + 0.001*float64(len(s.asked)%3)
	if o.Bootstrap[0] == s.slower {
		d.Reached.Bytes *= 0.9
	}
	return d, err
}

// abLine runs 'ringmain bench ab' with an instrument.
func abLine(t *testing.T, s *turns, args ...string) (code int, out, errOut string) {
	t.Helper()
	return benchLineWith(t, instrument{s.run, s.findKnee}, append([]string{"ab"}, args...)...)
}

func TestBenchABMeasuresInTurns(t *testing.T) {
	a, b := fakeCluster(t).ListenAddrs()[0], fakeCluster(t).ListenAddrs()[0]
	s := &turns{stand: stand{t: t}, slower: b}
	document := filepath.Join(t.TempDir(), "ab.json")
	code, out, errOut := abLine(t, s, "produce-64k", "--a", a, "--b", b, "--b-pid", "7", "--duration", "1s", "--rounds", "12", "--seed", "3", "--json", document)
	if code != exitOK || errOut != "" {
		t.Fatalf("exit code %d, %q", code, errOut)
	}
	has(t, out, "b: "+b+" (12 rounds) against a: "+a+" (12 rounds)", "worse")
	if len(s.asked) != 24 {
		t.Fatalf("%d rounds were measured", len(s.asked))
	}
	for i, swapped := range perf.Order(12, 3) {
		first, second := a, b
		if swapped {
			first, second = b, a
		}
		if s.asked[2*i].Bootstrap[0] != first || s.asked[2*i+1].Bootstrap[0] != second {
			t.Errorf("pair %d was not in the order of the lot", i)
		}
	}
	for _, o := range s.asked {
		if slices.Contains(o.PIDs, 7) != (o.Bootstrap[0] == b) || o.Keep || o.Spec.Duration.Seconds() != 1 {
			t.Errorf("the options are %+v", o)
		}
	}
	c, err := readComparison(document)
	if err != nil || c == nil || len(c.Sides[0].Rounds) != 12 {
		t.Errorf("%v, %+v", err, c)
	}
}

func TestBenchABStartsBuilds(t *testing.T) {
	t.Setenv(actAsRingmain, "yes")
	s := &turns{stand: stand{t: t}}
	dir := t.TempDir()
	page := filepath.Join(dir, "ab.html")
	code, out, errOut := abLine(t, s, "idle", "--a-bin", os.Args[0], "--b-bin", os.Args[0], "--b-override", "log.segment.bytes=1048576", "--data-dir", dir, "--report", page)
	if code != exitOK || errOut != "" {
		t.Fatalf("exit code %d, %q", code, errOut)
	}
	has(t, out, "log.segment.bytes=1048576 (11 rounds) against a: ")
	addresses := map[string]bool{}
	for _, o := range s.asked {
		if len(o.PIDs) != 1 || !strings.HasSuffix(o.Metrics, "/metrics") || !o.Keep {
			t.Errorf("the options are %+v", o)
		}
		addresses[fmt.Sprint(o.PIDs, o.Bootstrap)] = true
	}
	if len(addresses) != 22 {
		t.Errorf("%d processes were measured in 22 rounds", len(addresses))
	}
	if left, _ := os.ReadDir(dir); len(left) != 1 { // the page
		t.Errorf("left behind: %v", left)
	}
}

func TestBenchABEndsWithARoundThatCannotBeUsed(t *testing.T) {
	a := fakeCluster(t).ListenAddrs()[0]
	s := &turns{stand: stand{t: t}}
	s.spoil = func(d *result.Document) {
		if len(s.asked) == 4 {
			d.Verdict = result.Verdict{Reasons: []string{"1 record is lost"}}
		}
	}
	code, out, errOut := abLine(t, s, "idle", "--a", a, "--b", a)
	if code != exitFailure {
		t.Errorf("exit code %d", code)
	}
	has(t, errOut, "round 4 of 22", "1 record is lost")
	has(t, out, "(1 round) against", "not judged")
}

// A side that cannot be reached is named by the flag that gave its address.
func TestBenchABNamesTheSideThatIsNotThere(t *testing.T) {
	t.Setenv(bootstrapVariable, "")
	a, gone := fakeCluster(t).ListenAddrs()[0], closedPort(t)
	s := &turns{stand: stand{t: t}}
	code, _, errOut := abLine(t, s, "idle", "--a", a, "--b", gone, "--seed", "1")
	if code != exitFailure || strings.Contains(errOut, "bootstrap") {
		t.Errorf("exit code %d, %q", code, errOut)
	}
	has(t, errOut, "b: "+gone, "cannot reach a Kafka broker at "+gone, "nothing listens there", "check that the broker runs and that --b names its listener")
}

func TestBenchABWrongUsage(t *testing.T) {
	s := shell{t: t}
	for _, c := range []struct{ line, text string }{
		{"idle", "side a: give --a"},
		{"idle --a h:1", "side b: give --b"},
		{"idle --a h:1 --a-bin x --b h:2", "side a"},
		{"idle --a h:1 --b http://h:2", "without a protocol"},
		{"idle --a h:1 --b ,", `--b: no bootstrap address in ",": give HOST:PORT`},
		{"idle --a h:1 --b h:2 --b-override a=b", "--b-override needs --b-bin"},
		{"idle --a-bin " + os.Args[0] + " --a-override a --b h:2", "is not KEY=VALUE"},
		{"idle --a-bin " + os.Args[0] + " --a-pid 3 --b h:2", "--a-pid"},
		{"idle --a-bin /no/such --b h:2", "/no/such"},
		{"idle --a h:1 --b h:2 --b-pid 0", "--b-pid 0"},
		{"idle --a h:1 --b h:2 --rounds 3", "3 pairs"},
		{"idle --a h:1 --b h:2 --data-dir /no/such", "/no/such"},
		{"idle --a h:1 --b h:2 --least 1", "--least 1"},
		{"idle --a h:1 --b h:2 --topic t", "--topic"},
		{"idel --a h:1 --b h:2", `did you mean "idle"`},
		{"--a h:1 --b h:2", "no workload"},
	} {
		s.fails(exitUsage, append([]string{"bench", "ab"}, strings.Fields(c.line)...), c.text)
	}
	has(t, s.ok("", "bench", "ab", "--help"), "Side A, the base:", "--rounds", "--record-size", "--command-config")
}
