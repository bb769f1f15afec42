package perf

import (
	"testing"
	"time"

	"ringmain/bench/latency"
	"ringmain/bench/result"
)

func TestReadingOfAResult(t *testing.T) {
	perRequest, memory := 7.5, int64(20e6)
	d := &result.Document{
		When:    time.Unix(5, 0),
		Reached: result.Rates{Bytes: 1.5e9, Requests: 23_000},
		Latency: &result.Latency{Corrected: latency.Percentiles{Count: 9, P50: 200, P99: 4000}, Uncorrected: latency.Percentiles{Count: 9, P99: 3000}},
		Costs:   result.Costs{ServerCPUPerRequest: &perRequest, ServerRSS: &memory},
	}
	r := RoundOf(d)
	want := Reading{"throughput": 1500, "requests": 23_000, "p50": 200, "p99": 4000, "p99.9": 0, "p99 uncorrected": 3000, "server CPU per request": 7.5, "server memory": 20}
	if len(r.Values) != len(want) || !r.At.Equal(d.When) {
		t.Errorf("%v, want %v", r, want)
	}
	for name, v := range want {
		if got, ok := r.Values[name]; !ok || got != v {
			t.Errorf("%s: %v, want %v", name, got, v)
		}
	}
}

func TestWhatWasNotMeasuredIsAbsent(t *testing.T) {
	if r := ReadingOf(&result.Document{Latency: &result.Latency{}}); len(r) != 0 {
		t.Errorf("an empty result has %v", r)
	}
}

// Compare refuses more figures to judge than the promised rate of errors is for.
func TestFiguresCanBeJudged(t *testing.T) {
	if _, err := Compare([]Side{{}, {}}, Figures(), 0); err != nil {
		t.Error(err)
	}
	seen := map[string]bool{}
	for _, f := range Figures() {
		if f.Name == "" || seen[f.Name] || f.Better != MoreIsBetter && f.Better != LessIsBetter {
			t.Errorf("%+v", f)
		}
		seen[f.Name] = true
	}
}
