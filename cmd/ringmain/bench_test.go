package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"ringmain/bench"
	"ringmain/bench/latency"
	"ringmain/bench/result"
	"ringmain/bench/workload"
)

// measured is a result of the workload, as one that took time would look.
func measured(t *testing.T, s workload.Spec) *result.Document {
	t.Helper()
	r := latency.NewRecorder()
	for i := range 1000 {
		at := time.Duration(i) * time.Microsecond
		r.Record(0, at, 2*time.Millisecond+at)
	}
	var snapshot latency.Snapshot
	r.Drain(&snapshot)
	l, err := result.LatencyOf(&snapshot)
	if err != nil {
		t.Fatal(err)
	}
	cpu, rss := 12.5, int64(50<<20)
	rates := result.Rates{Records: 50_000, Bytes: 51_200_000, Requests: 800}
	d := &result.Document{
		Format: result.Format, When: time.Unix(1_700_000_000, 0), Workload: s, ClosedLoop: s.Rate.Max(), Seconds: 20,
		Reached: rates, Latency: l, Produce: &result.Section{Records: 1_000_000, Requests: 16_000, Reached: rates, Latency: l},
		Costs: result.Costs{ClientCPU: 1, ServerCPU: &cpu, ServerCPUPerRequest: &cpu, ServerRSS: &rss},
		Audit: &result.Audit{Acked: 1_000_000, Seen: 1_000_000}, Floor: &result.Floor{P50: 40, P99: 90},
		Errors: map[string]int64{}, Verdict: result.Verdict{OK: true},
	}
	if !s.Rate.Max() {
		d.Asked = &rates
	}
	return d
}

// stand is a stand for the instrument: it notes what it was told, and answers at
// once.
type stand struct {
	t     *testing.T
	asked bench.Options
	slo   bench.SLO
	spoil func(*result.Document)
	err   error
}

func (s *stand) run(_ context.Context, o bench.Options) (*result.Document, error) {
	s.asked = o
	d := measured(s.t, o.Spec)
	if s.spoil != nil {
		s.spoil(d)
	}
	return d, s.err
}

func (s *stand) findKnee(ctx context.Context, o bench.Options, slo bench.SLO) (*result.Document, error) {
	s.slo = slo
	d, err := s.run(ctx, o)
	p := d.Latency.Corrected
	d.Knee = &result.Knee{SLO: slo.String(), Found: true, Held: d.Reached, Broke: &result.Rates{Records: 55_000}, Width: 0.1}
	d.Curve = []result.CurvePoint{
		{Reached: d.Reached, Corrected: p, Uncorrected: p},
		{Asked: &result.Rates{Records: 55_000}, Reached: d.Reached, Corrected: p, Uncorrected: p, Why: "p99 is 30000 us"},
		{Asked: &result.Rates{Records: 49_999}, Reached: d.Reached, Corrected: p, Uncorrected: p, Holds: true, Confirms: true},
	}
	return d, err
}

// benchLine runs 'ringmain bench' with a stand.
func benchLine(t *testing.T, s *stand, args ...string) (code int, out, errOut string) {
	t.Helper()
	return benchLineWith(t, instrument{s.run, s.findKnee}, args...)
}

func benchLineWith(t *testing.T, with instrument, args ...string) (code int, out, errOut string) {
	t.Helper()
	t.Setenv(bootstrapVariable, "")
	root := newRootCmd()
	for _, cmd := range root.Commands() {
		if cmd.Name() == "bench" {
			root.RemoveCommand(cmd)
		}
	}
	cmd := newBenchCmd(with)
	root.AddCommand(cmd)
	strictUsage(cmd)
	var o, e bytes.Buffer
	code = execute(root, append([]string{"bench"}, args...), strings.NewReader(""), &o, &e)
	return code, o.String(), e.String()
}

func has(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("it lacks %q:\n%s", part, text)
		}
	}
}

func TestBenchTellsWhatWasAskedAndReached(t *testing.T) {
	c := fakeCluster(t)
	s := &stand{t: t, spoil: func(d *result.Document) { d.Warnings = []string{"the disk is\x1b[2J in memory"} }}
	dir := t.TempDir()
	file := func(name string) string { return filepath.Join(dir, name) }
	code, out, errOut := benchLine(t, s, "produce-64k", "--record-size", "2KiB", "--in-flight=7", "--idempotent=false", "--topic-config", "retention.ms=1000",
		"--pid", "1,2", "--metrics", "http://127.0.0.1:1/metrics", "--bootstrap", c.ListenAddrs()[0],
		"--json", file("run.json"), "--hlog", file("run.hlog"), "--report", file("run.html"))
	if code != exitOK || errOut != "" {
		t.Fatalf("exit code %d, %q", code, errOut)
	}
	o := s.asked
	if o.Spec.Record.Max() != 2048 || o.Spec.InFlight != 7 || o.Spec.TopicConfig["retention.ms"] != "1000" || o.Spec.Acks != 1 || o.Spec.Name != "produce-64k" {
		t.Errorf("the flags gave %+v", o.Spec)
	}
	if len(o.PIDs) != 2 || o.Metrics == "" || o.HLog == nil || o.Progress != nil || len(o.Client) == 0 || len(o.Bootstrap) != 1 || o.Tool.Version == "" || o.Log == nil || o.Existing || o.Keep {
		t.Errorf("the options are %+v", o)
	}
	has(t, out, "produce-64k: ", "closed loop", "CORRECTED  UNCORRECTED", "p99.99", "server CPU per request", "late sends", "clamped", "lost", "the instrument's own latency", "warning: the disk is")
	if strings.Contains(out, "\x1b") {
		t.Error("a control character reached the terminal")
	}
	d, err := result.ReadFile(file("run.json"))
	if err != nil || d.Reached.Records != 50_000 {
		t.Errorf("%v, %+v", err, d)
	}
	page, err := os.ReadFile(file("run.html"))
	if err != nil {
		t.Fatal(err)
	}
	has(t, string(page), "<html", "produce-64k")
}

func TestBenchWithoutAWorkloadTakesTheDefaultsOfAKind(t *testing.T) {
	c := fakeCluster(t)
	s := &stand{t: t}
	code, out, errOut := benchLine(t, s, "--kind", "e2e", "--rate", "500", "--bootstrap", c.ListenAddrs()[0], "--output", "json", "--existing", "--topic", "orders")
	if code != exitOK || errOut != "" {
		t.Fatalf("exit code %d, %q", code, errOut)
	}
	if s.asked.Spec.Kind != workload.EndToEnd || s.asked.Spec.Rate.Records != 500 || s.asked.Spec.Topic != "orders" || !s.asked.Existing {
		t.Errorf("asked for %+v", s.asked)
	}
	if d, err := result.Read(strings.NewReader(out)); err != nil || d.Workload.Rate.Records != 500 {
		t.Errorf("%v: %s", err, out)
	}
}

func TestBenchReadsAFile(t *testing.T) {
	c := fakeCluster(t)
	s := &stand{t: t}
	path := filepath.Join(t.TempDir(), "mine.yaml")
	if err := os.WriteFile(path, []byte("kind: produce\nrate: 100\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if code, _, errOut := benchLine(t, s, path, "--bootstrap", c.ListenAddrs()[0]); code != exitOK || s.asked.Spec.Name != "mine" {
		t.Errorf("exit code %d, %q, asked for %+v", code, errOut, s.asked.Spec)
	}
}

func TestBenchFailsWithAResultThatCannotBeUsed(t *testing.T) {
	c := fakeCluster(t)
	s := &stand{t: t, spoil: func(d *result.Document) {
		d.Verdict = result.Verdict{Reasons: []string{"3 records are lost"}}
	}}
	path := filepath.Join(t.TempDir(), "run.json")
	code, out, errOut := benchLine(t, s, "produce-64k", "--bootstrap", c.ListenAddrs()[0], "--json", path)
	if code != exitFailure {
		t.Errorf("exit code %d", code)
	}
	has(t, errOut, "ringmain: the result cannot be used: 3 records are lost")
	has(t, out, "p99")
	if _, err := result.ReadFile(path); err != nil {
		t.Error(err)
	}
	s.spoil, s.err = nil, errors.New("the broker went away")
	if code, out, errOut = benchLine(t, s, "produce-64k", "--bootstrap", c.ListenAddrs()[0]); code != exitFailure || !strings.Contains(errOut, "went away") || !strings.Contains(out, "p99") {
		t.Errorf("exit code %d, %q, %q", code, out, errOut)
	}
}

func TestBenchShowsTheKneeAndItsCurve(t *testing.T) {
	c := fakeCluster(t)
	s := &stand{t: t}
	code, out, errOut := benchLine(t, s, "e2e-1k", "--find-knee", "--slo", "p99=5ms", "--bootstrap", c.ListenAddrs()[0])
	if code != exitOK || errOut != "" {
		t.Fatalf("exit code %d, %q", code, errOut)
	}
	if s.slo.Bound != 5*time.Millisecond {
		t.Errorf("the bound is %v", s.slo)
	}
	has(t, out, "knee: p99=5ms holds at 50000/s (51.2 MB/s), breaks at 55000/s", "55000/s does not hold: p99 is 30000 us\n", "49999", "again\n")
}

// The table of a search fits on a terminal of 80 columns, with the largest figures that
// a machine has.
func TestTheCurveFitsATerminal(t *testing.T) {
	cpu := 12.34
	slow := latency.Percentiles{Count: 1, P50: 999_999, P99: 59_999_999}
	rates := result.Rates{Records: 12_345_678, Bytes: 12_345.6e6}
	d := &result.Document{Knee: &result.Knee{SLO: "p99=10ms"}, Curve: []result.CurvePoint{
		{Reached: rates, Corrected: slow, Uncorrected: slow, ServerCPU: &cpu},
		{Asked: &rates, Reached: rates, Corrected: slow, Uncorrected: slow, ServerCPU: &cpu, LateSends: 9_999_999, Why: "the rate was not reached", Confirms: true},
		{Asked: &rates, Reached: rates, Corrected: slow, Uncorrected: slow, ServerCPU: &cpu, Holds: true, Confirms: true},
	}}
	var out strings.Builder
	if err := writeCurve(&out, d); err != nil {
		t.Fatal(err)
	}
	has(t, out.String(), "1.00 s", "60.0 s", "12345678/s does not hold again: the rate was not reached")
	for line := range strings.Lines(out.String()) {
		if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 80 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
}

func TestThreeDigits(t *testing.T) {
	for us, want := range map[float64]string{
		0: "0 µs", 999.4: "999 µs", 999.5: "1.00 ms", 1234: "1.23 ms", 9994: "9.99 ms", 9996: "10.0 ms", 99_960: "100 ms",
		999_400: "999 ms", 999_600: "1.00 s", 12_345_678: "12.3 s", 6e7: "60.0 s",
	} {
		if got := threeDigits(us); got != want {
			t.Errorf("%v us are %q, want %q", us, got, want)
		}
	}
}

func TestBenchWrongUsage(t *testing.T) {
	s := shell{t: t, bootstrap: "127.0.0.1:1"}
	dir := t.TempDir()
	for _, c := range []struct{ line, text string }{
		{"bench", "no workload"},
		{"bench produce-64", `did you mean "produce-64k"`},
		{"bench lits", `did you mean "ringmain bench list"?`},
		{"bench nothing-like-it", "neither a workload, nor a file, nor a command"},
		{"bench no/such.yaml", "no such file"},
		{"bench produce-64k idle", "usage: ringmain bench"},
		{"bench --kind eat", `"eat" is not known`},
		{"bench idle --rate fast", "--rate"},
		{"bench idle --in-flight 0", "in_flight 0"},
		{"bench produce-64k --topic t", "--existing"},
		{"bench idle --existing", "--topic"},
		{"bench idle --existing --topic t --keep", "--keep"},
		{"bench idle --existing --topic t --topic-config a=b", "--topic-config"},
		{"bench --kind produce --existing --topic t --partitions 5", "--partitions is for topics that are made"},
		{"bench --kind fetch --topic t --replication-factor 1", "--replication-factor is for topics that are made"},
		{"bench idle --topic-config a", "is not KEY=VALUE"},
		{"bench idle --slo p99=1ms", "needs --find-knee"},
		{"bench idle --find-knee --slo fast", "--slo"},
		{"bench idle --find-knee", "no knee to find"},
		{"bench --kind fetch --engine franz --find-knee", "cannot keep to the rate"},
		{"bench --kind fetch --fetch-mode tail", "nobody writes to a topic that is made"},
		{"bench --kind fetch --in-flight 2", "in_flight 2"},
		{"bench --kind e2e --codec zstd", "codec zstd: engine replay cannot mark"},
		{"bench --kind e2e --engine franz --record-size 20", "shorter than the 36 bytes"},
		{"bench --kind storm --rate 5MB", "connections carry no records"},
		{"bench --kind produce --engine franz --idempotent --in-flight 4", "use in_flight 5"},
		{"bench idle --pid 0", "--pid 0"},
		{"bench idle --pid x", "x"},
		{"bench idle --json /no/such/dir/run.json", "make it first"},
		{"bench idle --json " + dir, "is a directory"},
		{"bench idle --json " + dir + "/a --report " + dir + "/a", "same file"},
		{"bench idle --output xml", "use table or json"},
		{"bench list idle", "usage: ringmain bench list"},
		{"bench show produce-64", `did you mean "produce-64k"`},
		{"bench verify --records -1", "negative"},
		{"bench verify --record-size 3", "3 bytes"},
		{"bench verify --record-size big", "--record-size"},
		{"bench verify --batch-bytes 0", "--batch-bytes"},
		{"bench verify --codec rar", `"rar" is not known`},
		{"bench verify --rate soon", "--rate"},
		{"bench verify --existing", "no topic is named"},
		{"bench verify --remove", "--remove needs"},
		{"bench verify --resume a --state b", "resume"},
		{"bench verify --resume " + dir + "/none.json", "--resume: there is no account"},
		{"bench produce-64k --rate -5", "records or of bytes (100MB) a second, or max"},
		{"bench ab produce-64k --a 127.0.0.1:1 --a-bin x --b 127.0.0.1:2", "two brokers"},
		{"bench verify --resume a --topic b", "resume"},
		{"bench verify --patience 0s", "patience"},
		{"bench compare", "0 sides"},
		{"bench compare --side a", "NAME=FILE"},
		{"bench compare --side a=" + dir + "/*.json", "no file is like"},
		{"bench compare --least 2", "--least 2"},
		{"bench report", "usage: ringmain bench report"},
		{"bench report a.json", "--report FILE.html is missing"},
	} {
		args := strings.Fields(c.line)
		if out := s.fails(exitUsage, args, c.text, "--help'."); out != "" {
			t.Errorf("%q wrote %q to standard output", c.line, out)
		}
	}
}

func TestBenchHelpShowsEveryFlag(t *testing.T) {
	s := shell{t: t}
	out := s.ok("", "bench", "--help")
	for _, setting := range workload.Settings() {
		has(t, out, "--"+settingFlag(setting.Key)+" ")
	}
	has(t, out, "Pace:", "--find-knee", "--hlog", "--bootstrap", "Available Commands:", "verify")
}

func TestBenchListAndShow(t *testing.T) {
	s := shell{t: t}
	listed := decode[[]listedWorkload](t, s.ok("", "bench", "list", "--output", "json"))
	if len(listed) != len(workload.Builtin()) {
		t.Errorf("%d workloads are listed", len(listed))
	}
	out := s.ok("", "bench", "list")
	for _, item := range listed {
		if item.Description == "" || item.Kind == "" {
			t.Errorf("%+v", item)
		}
		has(t, out, item.Name)
	}
	has(t, s.ok("", "bench", "show", "produce-64k"), "kind: produce\n", "description: ")
	var all map[string]any
	if err := json.Unmarshal([]byte(s.ok("", "bench", "show", "produce-64k", "--output", "json")), &all); err != nil || all["record_size"] != "1KiB" {
		t.Errorf("%v, %v", err, all)
	}
}

func TestNear(t *testing.T) {
	names := []string{"produce-64k-durable", "produce-64k", "idle", "mixed"}
	for word, want := range map[string]string{"idel": "idle", "produce-64": "produce-64k produce-64k-durable", "": "", "zzz": "", "mixed": "mixed", "durable": "produce-64k-durable"} {
		if got := strings.Join(near(word, names), " "); got != want {
			t.Errorf("near %q is %q, not %q", word, got, want)
		}
	}
}
