package bench

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"ringmain/bench/latency"
	"ringmain/bench/result"
	"ringmain/bench/workload"
)

// synthetic is a broker whose latency is known: it answers everything within a
// millisecond up to its knee, and above it everything takes a second.
type synthetic struct {
	t     *testing.T
	kind  workload.Kind
	most  float64 // closed loop
	knee  float64
	runs  []float64
	spoil func(run int, rate float64, d *result.Document) // may be nil
}

func (s *synthetic) run(_ context.Context, o Options) (*result.Document, error) {
	rate := o.Spec.Rate.Records
	s.runs = append(s.runs, rate)
	if o.Progress != nil {
		o.Progress(Progress{Phase: "measure"})
	}
	d := &result.Document{Workload: o.Spec, Seconds: 10, Verdict: result.Verdict{OK: true}, ClosedLoop: rate == 0}
	reached, took := rate, time.Millisecond
	if rate == 0 {
		reached = s.most
	} else {
		d.Asked = s.rates(rate)
	}
	if reached > s.knee {
		took = time.Second
	}
	d.Reached = *s.rates(reached)
	r := latency.NewRecorder()
	for range 1000 {
		r.Record(0, 0, took)
	}
	var snapshot latency.Snapshot
	r.Drain(&snapshot)
	var err error
	if d.Latency, err = result.LatencyOf(&snapshot); err != nil {
		s.t.Fatal(err)
	}
	if s.spoil != nil {
		s.spoil(len(s.runs), rate, d)
	}
	return d, nil
}

func (s *synthetic) rates(n float64) *result.Rates {
	if s.kind == workload.Storm {
		return &result.Rates{Requests: n}
	}
	return &result.Rates{Records: n, Bytes: 100 * n, Requests: n / 10}
}

func (s *synthetic) find(t *testing.T) *result.Document {
	t.Helper()
	d, err := s.findIn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func (s *synthetic) findIn(ctx context.Context) (*result.Document, error) {
	if s.kind == "" {
		s.kind = workload.Produce
	}
	slo, err := ParseSLO("p99=10ms")
	if err != nil {
		s.t.Fatal(err)
	}
	return findKnee(ctx, Options{Spec: workload.Defaults(s.kind)}, slo, s.run)
}

// held is the rate that a search found.
func held(d *result.Document) float64 { return max(d.Knee.Held.Records, d.Knee.Held.Requests) }

func TestTheKneeIsFoundWhereItIs(t *testing.T) {
	for _, kind := range []workload.Kind{workload.Produce, workload.Storm} {
		for _, knee := range []float64{0.003, 0.1, 0.33, 0.62, 0.85, 0.99} {
			for _, most := range []float64{1000, 3e6} {
				s := &synthetic{t: t, kind: kind, most: most, knee: knee * most}
				if s.knee < 20 {
					continue // there are not enough whole numbers
				}
				d := s.find(t)
				k := d.Knee
				if !k.Found || held(d) > s.knee || held(d) < s.knee/(1+kneeWidth)/1.005 {
					t.Errorf("%s: knee at %.0f of %.0f: found %v at %v", kind, s.knee, most, k.Found, held(d))
				}
				if k.Broke == nil || k.Width <= 0 || k.Width > kneeWidth || max(k.Broke.Records, k.Broke.Requests) <= s.knee {
					t.Errorf("%s: knee at %.0f of %.0f: %+v", kind, s.knee, most, k)
				}
				last := d.Curve[len(d.Curve)-1]
				if !last.Confirms || !last.Holds || asked(&last) != held(d) || len(d.Curve) != len(s.runs) || len(s.runs) > maxKneeSteps {
					t.Errorf("%s: knee at %.0f of %.0f: %d runs, the last one is %+v", kind, s.knee, most, len(s.runs), last)
				}
				if d.Curve[0].Asked != nil || d.Curve[0].Holds || k.MaxRate == nil || !d.Verdict.OK || k.SLO != "p99=10ms" {
					t.Errorf("%s: it begins with %+v", kind, d.Curve[0])
				}
			}
		}
	}
}

// A rate that held once and not again did not hold.
func TestLuckIsNoKnee(t *testing.T) {
	s := &synthetic{t: t, most: 10_000, knee: 4000}
	lucky := 0
	s.spoil = func(_ int, rate float64, d *result.Document) {
		// Just above the knee it holds the first time.
		if rate > 4000 && rate < 4500 && lucky == 0 {
			lucky++
			good := &synthetic{t: t, kind: s.kind, most: s.most, knee: math.Inf(1)}
			g, _ := good.run(t.Context(), Options{Spec: workload.Spec{Rate: workload.Rate{Records: rate}}})
			d.Latency = g.Latency
		}
	}
	d := s.find(t)
	if lucky == 0 {
		t.Fatal("there was no luck")
	}
	if !d.Knee.Found || held(d) > 4000 || held(d) < 3750 || !d.Curve[len(d.Curve)-1].Confirms {
		t.Errorf("found %v at %v; %v", d.Knee.Found, held(d), s.runs)
	}
}

// On a machine on which nothing can be repeated the search ends somewhere. What held is not forgotten then.
func TestWhatHeldIsFoundWhereNothingCanBeRepeated(t *testing.T) {
	s := &synthetic{t: t, most: 10_000, knee: math.Inf(1)}
	seen := map[float64]bool{}
	s.spoil = func(_ int, rate float64, d *result.Document) {
		// A rate holds once, and those at the bottom always.
		if rate > 1000 && seen[rate] {
			bad := &synthetic{t: t, kind: s.kind, most: s.most}
			b, _ := bad.run(t.Context(), Options{Spec: workload.Spec{Rate: workload.Rate{Records: rate}}})
			d.Latency = b.Latency
		}
		seen[rate] = true
	}
	d := s.find(t)
	if len(s.runs) > maxKneeSteps {
		t.Errorf("%d runs", len(s.runs))
	}
	if !d.Knee.Found || held(d) < 1000 || !d.Verdict.OK {
		t.Errorf("found %v at %v; %v; %v", d.Knee.Found, held(d), d.Verdict, s.runs)
	}
	if last := d.Curve[len(d.Curve)-1]; !last.Confirms {
		t.Errorf("the last run is of a rate that was not tried before: %+v", last)
	}
}

func TestNoRateHolds(t *testing.T) {
	s := &synthetic{t: t, most: 10_000, knee: 0}
	d := s.find(t)
	if k := d.Knee; k.Found || held(d) != 0 || k.Width != 0 || k.Broke == nil || d.Verdict.OK || !strings.Contains(strings.Join(d.Verdict.Reasons, "; "), "no rate held p99=10ms") {
		t.Errorf("%+v, %+v", k, d.Verdict)
	}
	if len(s.runs) > maxKneeSteps {
		t.Errorf("%d runs", len(s.runs))
	}
}

// What held every rate of the ladder is measured once more, too.
func TestAllRatesHold(t *testing.T) {
	s := &synthetic{t: t, most: 10_000, knee: 20_000}
	d := s.find(t)
	if k := d.Knee; !k.Found || held(d) != 10_000 || k.Broke != nil || k.Width != 0 || !d.Curve[len(d.Curve)-1].Confirms {
		t.Errorf("%+v, %v", k, s.runs)
	}
	s = &synthetic{t: t, most: 10_000, knee: 20_000}
	full := 0
	s.spoil = func(_ int, rate float64, d *result.Document) {
		if rate == 10_000 {
			if full++; full == 2 {
				d.Verdict = result.Verdict{Reasons: []string{"3 requests failed"}}
			}
		}
	}
	d = s.find(t)
	if k := d.Knee; !k.Found || held(d) >= 10_000 || held(d) < 9000 || k.Broke == nil {
		t.Errorf("%+v, %v", k, s.runs)
	}
}

// Rates that are so low that there is no other whole number between them are near
// enough.
func TestFewASecond(t *testing.T) {
	s := &synthetic{t: t, most: 12, knee: 4}
	d := s.find(t)
	if k := d.Knee; !k.Found || held(d) != 4 || !d.Curve[len(d.Curve)-1].Confirms || len(s.runs) > 12 {
		t.Errorf("%+v, %v", k, s.runs)
	}
}

func TestWhatDoesNotHold(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(d *result.Document)
		why   string
	}{
		"lost records":       {func(d *result.Document) { d.Verdict = result.Verdict{Reasons: []string{"2 lost"}} }, "2 lost"},
		"nothing measured":   {func(d *result.Document) { d.Latency = nil }, "nothing was measured"},
		"a rate not reached": {func(d *result.Document) { d.Reached.Records *= 0.97 }, "the rate was not reached"},
	} {
		s := &synthetic{t: t, most: 10_000, knee: 20_000}
		s.spoil = func(_ int, rate float64, d *result.Document) {
			if rate > 3000 {
				c.spoil(d)
			}
		}
		d := s.find(t)
		if held(d) > 3000 || held(d) < 2800 {
			t.Errorf("%s: found at %v", name, held(d))
		}
		whys := map[string]bool{}
		for _, p := range d.Curve[1:] {
			if !p.Holds {
				whys[p.Why] = true
			}
		}
		if len(whys) != 1 || !whys[c.why] {
			t.Errorf("%s: rates do not hold because of %v", name, whys)
		}
	}
}

func TestSearchesThatCannotBegin(t *testing.T) {
	for kind, says := range map[workload.Kind]string{workload.Idle: "no rate", workload.Fetch: "kind e2e"} {
		spec := workload.Defaults(kind)
		spec.FetchMode = workload.Tail
		if _, err := FindKnee(t.Context(), Options{Spec: spec}, SLO{99, time.Second}); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", kind, err)
		}
	}
	s := &synthetic{t: t, most: 0}
	if d, err := s.findIn(t.Context()); d != nil || err == nil || !strings.Contains(err.Error(), "did nothing") {
		t.Errorf("got %+v, %v", d, err)
	}
	s = &synthetic{t: t, most: 1000, spoil: func(_ int, _ float64, d *result.Document) {
		d.Verdict = result.Verdict{Reasons: []string{"5 requests failed"}}
	}}
	if _, err := s.findIn(t.Context()); err == nil || !strings.Contains(err.Error(), "cannot be used: 5 requests failed") {
		t.Errorf("got %v", err)
	}
}

// What was measured before a search ended is told, and not taken for what it would have
// found.
func TestASearchThatIsNotFinishedTellsWhatItHas(t *testing.T) {
	for name, c := range map[string]struct {
		after     int // runs
		interrupt bool
		says      string
		held      float64
	}{
		"the closed loop only": {after: 1, interrupt: true, says: "interrupted"},
		"in the ladder":        {after: 3, interrupt: true, says: "interrupted", held: 2500},
		"before it is sure":    {after: 5, interrupt: true, says: "interrupted", held: 5000},
		"an error":             {after: 3, says: "the broker went away", held: 2500},
	} {
		ctx, interrupt := context.WithCancel(t.Context())
		defer interrupt()
		s := &synthetic{t: t, kind: workload.Produce, most: 10_000, knee: 6000}
		d, err := findKnee(ctx, Options{Spec: workload.Defaults(workload.Produce)}, SLO{99, 10 * time.Millisecond},
			func(ctx context.Context, o Options) (*result.Document, error) {
				if len(s.runs) < c.after {
					return s.run(ctx, o)
				}
				if c.interrupt {
					interrupt()
					return nil, context.Cause(ctx)
				}
				return nil, errors.New("the broker went away")
			})
		if err == nil || d == nil {
			t.Errorf("%s: %v, %+v", name, err, d)
			continue
		}
		if k := d.Knee; k.Found || k.Unfinished != c.says || held(d) != c.held || k.MaxRate == nil || len(d.Curve) != c.after {
			t.Errorf("%s: %+v after %d runs", name, k, len(d.Curve))
		}
		if d.Verdict.OK || !strings.Contains(strings.Join(d.Verdict.Reasons, "; "), "did not come to its end: "+c.says) {
			t.Errorf("%s: %+v", name, d.Verdict)
		}
	}
}

func TestASearchEndsWithAnError(t *testing.T) {
	why := errors.New("the broker went away")
	n := 0
	_, err := findKnee(t.Context(), Options{Spec: workload.Defaults(workload.Produce)}, SLO{99, time.Second},
		func(ctx context.Context, o Options) (*result.Document, error) {
			if n++; n == 3 {
				return nil, why
			}
			return (&synthetic{t: t, kind: workload.Produce, most: 1000, knee: 500}).run(ctx, o)
		})
	if !errors.Is(err, why) {
		t.Errorf("got %v", err)
	}
}

func TestProgressOfASearchSaysTheStep(t *testing.T) {
	var phases []string
	s := &synthetic{t: t, kind: workload.Produce, most: 1000, knee: 2000}
	o := Options{Spec: workload.Defaults(workload.Produce), Progress: func(p Progress) { phases = append(phases, p.Phase) }}
	if _, err := findKnee(t.Context(), o, SLO{99, 10 * time.Millisecond}, s.run); err != nil {
		t.Fatal(err)
	}
	for i, p := range phases {
		if p != fmt.Sprintf("step %d, measure", i+1) {
			t.Errorf("phase %d is %q", i, p)
		}
	}
}

func TestParseSLO(t *testing.T) {
	for text, want := range map[string]SLO{
		"p99=10ms": {99, 10 * time.Millisecond}, "p99.9=500us": {99.9, 500 * time.Microsecond}, "p50=1m": {50, time.Minute},
		"p100=1us": {100, time.Microsecond}, "p0.1=1.5s": {0.1, 1500 * time.Millisecond},
	} {
		got, err := ParseSLO(text)
		if err != nil || got != want {
			t.Errorf("%q: %v, %v", text, got, err)
		}
		if again, err := ParseSLO(got.String()); err != nil || again != got {
			t.Errorf("%q comes back from %q as %v, %v", text, got.String(), again, err)
		}
	}
	for _, text := range []string{"", "p99", "99=10ms", "p99=", "p=10ms", "p99=10", "p99=fast", "p0=1ms", "p-1=1ms", "p100.1=1ms", "pNaN=1ms", "pInf=1ms", "p99=0s", "p99=-1ms", "p99=999ns", "p99=2m", "P99=1ms", "p99=1ms=2"} {
		if got, err := ParseSLO(text); err == nil {
			t.Errorf("%q was read as %v", text, got)
		} else if !strings.Contains(err.Error(), fmt.Sprintf("%q", text)) {
			t.Errorf("%q: the error does not say so: %v", text, err)
		}
	}
}
