package table

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"ringmain/bench/workload"
	"ringmain/perf"
)

// duel is two sides that are measured at once: the readings of ours are those of
// the base times a factor for each figure.
type duel struct {
	factor  map[string]float64
	order   []string
	loads   map[string][2]workload.Spec
	failing map[string]error // by the row
}

var base = perf.Reading{
	"throughput": 600, "fetch throughput": 900, "requests": 40_000, "p50": 1000, "p99": 3000, "p99.9": 9000, "server CPU per GB": 1.2, "server CPU per request": 60,
}

func (d *duel) sides(r Row, a, b workload.Spec) (perf.Contender, perf.Contender) {
	if d.loads == nil {
		d.loads = map[string][2]workload.Spec{}
	}
	d.loads[r.Name] = [2]workload.Spec{a, b}
	round := func(name string, ours bool) perf.Contender {
		return perf.Contender{Name: name, Round: func(context.Context) (perf.Reading, error) {
			d.order = append(d.order, name)
			if err := d.failing[r.Name]; err != nil {
				return nil, err
			}
			// A machine that gets slower, for both.
			drift := 1 - 0.001*float64(len(d.order))
			reading := perf.Reading{}
			for figure, v := range base {
				if f, other := d.factor[figure]; ours && other {
					v *= f
				}
				reading[figure] = v * drift
			}
			return reading, nil
		}}
	}
	return round("a", false), round("b", true)
}

func (d *duel) plan(t *testing.T, against Bounds, rounds int, rows ...string) Plan {
	t.Helper()
	selected, err := Select(rows)
	if err != nil {
		t.Fatal(err)
	}
	return Plan{Rows: selected, Against: against, Rounds: rounds, Seed: 1, Sides: d.sides, Base: "base", Ours: "ours"}
}

func (d *duel) measure(t *testing.T, against Bounds, rounds int, rows ...string) Table {
	t.Helper()
	table, err := Measure(t.Context(), d.plan(t, against, rounds, rows...))
	if err != nil {
		t.Fatal(err)
	}
	return table
}

// holds is what the table says of each figure that has a bound.
func holds(t Table) string {
	var out []string
	for _, m := range t.Rows {
		for _, l := range m.Lines {
			if l.Holds != nil {
				out = append(out, fmt.Sprintf("%s %s %v", m.Row, l.Figure.Name, *l.Holds))
			}
		}
	}
	return strings.Join(out, "\n")
}

func TestEveryRowIsALoadWithFiguresThatResultsHave(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range Rows() {
		if seen[r.Name] {
			t.Errorf("%s is there twice", r.Name)
		}
		seen[r.Name] = true
		if len(r.Bounds)+len(r.Shown) == 0 {
			t.Errorf("%s shows nothing", r.Name)
		}
		for _, b := range r.Bounds {
			kinds := 0
			for _, of := range []float64{b.Value, b.Ratio, b.Times} {
				if of > 0 {
					kinds++
				}
			}
			if kinds != 1 || (b.Times > 0) != (b.Row != "") || b.Row != "" && !seen[b.Row] {
				t.Errorf("%s: the bound %+v is of a value, or of a ratio, or of an earlier row", r.Name, b)
			}
			figure(b.Figure) // panics
		}
		for _, name := range r.Shown {
			figure(name)
		}
		if r.Workload == "" {
			continue
		}
		if _, err := r.load(); err != nil {
			t.Error(err)
		}
	}
}

func TestSelect(t *testing.T) {
	for _, c := range []struct{ ask, got string }{
		{"", "P1 P2 P3 P3s P4 P5 P7 P7m P8-alone P8 P9-1k P9-10k P9-20k P9d P11 P13-storm P13-idle"},
		{"P7 P5", "P5 P7"}, {"p9", "P9-1k P9-10k P9-20k"}, {"P8", "P8-alone P8"}, {"P9d P9-1K", "P9-1k P9d"}, {"P13", "P13-storm P13-idle"},
	} {
		rows, err := Select(strings.Fields(c.ask))
		var names []string
		for _, r := range rows {
			names = append(names, r.Name)
		}
		if got := strings.Join(names, " "); err != nil || got != c.got {
			t.Errorf("%q selects %q (%v), want %q", c.ask, got, err, c.got)
		}
	}
	if _, err := Select([]string{"P6"}); err == nil || !strings.Contains(err.Error(), `"P6"`) || !strings.Contains(err.Error(), "P3s") {
		t.Errorf("a row that is not there: %v", err)
	}
}

func TestBounds(t *testing.T) {
	v := func(f float64) *float64 { return &f }
	for _, c := range []struct {
		bound       Bound
		ours, ratio *float64 // ratio: for a bound of an earlier row, ours there
		holds       bool
		text        string
	}{
		{Bound{Figure: "throughput", Ratio: 2}, v(100), v(2), true, "≥ 2 x"},
		{Bound{Figure: "throughput", Ratio: 2}, v(100), v(1.99), false, "≥ 2 x"},
		{Bound{Figure: "throughput", Ratio: 2, Enough: 1500}, v(1500), v(1.2), true, "≥ 2 x, or 1500 MB/s"},
		{Bound{Figure: "throughput", Ratio: 2, Enough: 1500}, v(1499), v(1.2), false, "≥ 2 x, or 1500 MB/s"},
		{Bound{Figure: "throughput", Ratio: 2, Enough: 1500}, v(1600), nil, true, "≥ 2 x, or 1500 MB/s"},
		{Bound{Figure: "p99", Ratio: 0.5}, v(3), v(0.5), true, "≤ 0.5 x"},
		{Bound{Figure: "p99", Ratio: 0.5}, v(3), v(0.51), false, "≤ 0.5 x"},
		{Bound{Figure: "p99", Ratio: 0.5}, v(3), nil, false, "≤ 0.5 x"},
		{Bound{Figure: "p99", Ratio: 0.5}, nil, nil, false, "≤ 0.5 x"},
		{Bound{Figure: "server CPU per GB", Ratio: third}, v(1), v(1. / 3), true, "≤ 0.334 x"},
		{Bound{Figure: startFigure, Value: 50}, v(50), nil, true, "≤ 50 ms"},
		{Bound{Figure: idleFigure, Value: 30}, v(30.1), nil, false, "≤ 30 MB"},
		{Bound{Figure: "p99", Times: 2, Row: "P8-alone"}, v(600), v(300), true, "≤ 2 x ours in P8-alone"},
		{Bound{Figure: "p99", Times: 2, Row: "P8-alone"}, v(601), v(300), false, "≤ 2 x ours in P8-alone"},
		{Bound{Figure: "p99", Times: 2, Row: "P8-alone"}, v(1), nil, false, "≤ 2 x ours in P8-alone"},
	} {
		if c.bound.holds(c.ours, c.ratio, c.ratio) != c.holds || c.bound.String() != c.text {
			t.Errorf("%+v: holds %v, %q; want %v, %q", c.bound, !c.holds, c.bound, c.holds, c.text)
		}
	}
}

func TestBesideKafka(t *testing.T) {
	d := &duel{factor: map[string]float64{"throughput": 1.6, "server CPU per GB": 0.3, "requests": 2.5, "server CPU per request": 0.2, "p50": 0.5, "p99": 0.7, "p99.9": 0.5, "fetch throughput": 0.9}}
	table := d.measure(t, Kafka, 3, "P1", "P5", "P8", "P9-1k", "P9-10k")
	want := strings.Join([]string{
		"P1 throughput false", "P1 server CPU per GB true", "P5 requests true", "P5 server CPU per request true",
		"P8 p99 true", "P8 p99 true", "P8 fetch throughput false",
		"P9-1k p50 true", "P9-1k p99 false", "P9-10k p50 true", "P9-10k p99 false", "P9-10k p99.9 true",
	}, "\n")
	if got := holds(table); got != want {
		t.Errorf("it says\n%s\nwant\n%s", got, want)
	}
	if table.Holds || len(table.Broken()) != 4 {
		t.Errorf("%v are broken, and the whole holds: %v", table.Broken(), table.Holds)
	}
	if order := strings.Join(d.order[:6], ""); order != "abbaab" {
		t.Errorf("the order of the rounds is %s", order)
	}
	l := table.Rows[0].Lines[0]
	if len(l.BaseRounds) != 3 || *l.Base != l.BaseRounds[1] || math.Abs(*l.Ratio-1.6) > 0.01 {
		t.Errorf("the line is %+v", l)
	}
}

func TestOnlyKafkaIsToldToSync(t *testing.T) {
	d := &duel{}
	d.measure(t, Kafka, 1, "P3", "P3s")
	for row, loads := range d.loads {
		if kafka := loads[0].TopicConfig["flush.messages"]; kafka != "1" {
			t.Errorf("%s: Kafka syncs every %q messages", row, kafka)
		}
		if _, ours := loads[1].TopicConfig["flush.messages"]; ours {
			t.Errorf("%s: we are told to sync", row)
		}
	}
	d.measure(t, Earlier, perf.MinPairs, "P3")
	if loads := d.loads["P3"]; loads[0].TopicConfig["flush.messages"] != "1" || loads[1].TopicConfig["flush.messages"] != "1" {
		t.Error("two builds of ours are measured with different loads")
	}
}

func TestAgainstAnEarlierBuild(t *testing.T) {
	d := &duel{factor: map[string]float64{"throughput": 0.8, "p50": 1.05, "p99": 1.5, "server CPU per request": 0.5}}
	table := d.measure(t, Earlier, 12, "P1")
	want := "P1 throughput false\nP1 p50 true\nP1 p99 false\nP1 server CPU per request true"
	if got := holds(table); got != want {
		t.Errorf("it says\n%s\nwant\n%s", got, want)
	}
	if l := table.Rows[0].Lines[0]; l.Bound != "≥ 0.9 x" || math.Abs(*l.Ratio-0.8) > 0.01 {
		t.Errorf("the line is %+v", l)
	}
	if l := table.Rows[0].Lines[1]; l.Bound != "≤ 1.1 x" {
		t.Errorf("the bound is %q", l.Bound)
	}
	if equal := (&duel{}).measure(t, Earlier, 11); !equal.Holds {
		t.Errorf("an equal build is worse:\n%s", holds(equal))
	}
}

func TestARowThatFailsIsNotedAndTheNextFollows(t *testing.T) {
	for _, against := range []Bounds{Kafka, Earlier} {
		d := &duel{failing: map[string]error{"P13-storm": errors.New("3 requests failed")}}
		table := d.measure(t, against, 11, "P13-storm", "P8-alone")
		if len(table.Rows) != 2 || table.Holds || len(table.Broken()) != 1 {
			t.Fatalf("%s: %+v", against, table)
		}
		storm := table.Rows[1]
		if !strings.Contains(storm.Failure, "round 1 of 22") || !strings.Contains(storm.Failure, "3 requests failed") {
			t.Errorf("%s: the failure is %q", against, storm.Failure)
		}
	}
}

func TestTheStart(t *testing.T) {
	d := &duel{}
	p := d.plan(t, Kafka, 3, "P11")
	if table, err := Measure(t.Context(), p); err != nil || len(table.Rows) != 0 {
		t.Errorf("without a build to start there is %+v (%v)", table.Rows, err)
	}
	starts := []float64{70, 20, 30}
	p.Start = func(context.Context) (perf.Reading, error) {
		ms := starts[0]
		starts = starts[1:]
		return StartReading(ms, 31), nil
	}
	table, err := Measure(t.Context(), p)
	if got := holds(table); err != nil || got != "P11 start to ready true\nP11 idle memory false" {
		t.Errorf("it says\n%s (%v)", got, err)
	}
}

func TestAnInterruptKeepsWhatIsComplete(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	d := &duel{}
	p := d.plan(t, Kafka, 2, "P1", "P2", "P3")
	p.Pause = time.Millisecond
	p.Before = func(r Row, n, rows int) {
		if n == 2 && rows == 3 && r.Name == "P2" {
			cancel(errors.New("somebody pressed Ctrl-C"))
		}
	}
	table, err := Measure(ctx, p)
	if err == nil || !strings.Contains(err.Error(), "row P2, 2 of 3: somebody pressed Ctrl-C") || len(table.Rows) != 1 {
		t.Errorf("%v, %d rows", err, len(table.Rows))
	}
}

func TestPlansThatMakeNoSense(t *testing.T) {
	for _, c := range []struct {
		p    Plan
		says string
	}{
		{Plan{Against: "redpanda", Rounds: 3}, `"redpanda"`}, {Plan{Against: Kafka}, "0 rounds"}, {Plan{Against: Earlier, Rounds: 3}, "from 11"},
		{Plan{Against: Kafka, Rounds: 101}, "101"}, {Plan{Against: Kafka, Rounds: 1, Pause: -1}, "pause"},
	} {
		if _, err := Measure(t.Context(), c.p); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%+v: %v", c.p, err)
		}
	}
	p := (&duel{}).plan(t, Kafka, 1, "P1")
	p.Adjust = func(*workload.Spec) error { return errors.New("no such time") }
	if table, err := Measure(t.Context(), p); err != nil || !strings.Contains(table.Rows[0].Failure, "no such time") {
		t.Errorf("%+v, %v", table, err)
	}
}

func TestCells(t *testing.T) {
	d := &duel{factor: map[string]float64{"throughput": 1.6, "server CPU per GB": 0.3}, failing: map[string]error{"P2": errors.New("lost")}}
	table := d.measure(t, Kafka, 1, "P1", "P2", "P8")
	var text []string
	for _, cells := range table.Cells() {
		if len(cells) != len(table.Columns()) {
			t.Fatalf("%d cells below %d columns", len(cells), len(table.Columns()))
		}
		var row []string
		for _, c := range cells {
			row = append(row, c.Text)
			if c.Broken != strings.HasPrefix(c.Text, "NO") {
				t.Errorf("%q is marked as broken: %v", c.Text, c.Broken)
			}
		}
		text = append(text, strings.Join(row, "|"))
	}
	for _, want := range []string{
		"P1|produce-64k|throughput|599 MB/s|958 MB/s|1.6|≥ 2 x, or 1500 MB/s|NO",
		"P2|produce-64k-durable|throughput|-|-|-|≥ 1.3 x|NO: not measured",
		"P8-alone|produce-1500-a-second|p99|", "|0.999|≤ 2 x ours in P8-alone|yes", "lost",
	} {
		if !slices.ContainsFunc(text, func(row string) bool { return strings.Contains(row, want) }) {
			t.Errorf("there is no row %q in\n%s", want, strings.Join(text, "\n"))
		}
	}
}
