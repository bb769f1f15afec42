package report

import (
	"slices"
	"strings"
	"testing"
	"time"

	"ringmain/bench/facts"
	"ringmain/bench/latency"
	"ringmain/bench/result"
	"ringmain/bench/workload"
)

// document is a result with everything in it.
func document() *result.Document {
	cpu, perGB, perRequest, written, cores := 4.2, 0.53, 34.5, 1.02, 0.8
	memory, syncs := int64(21e6), int64(77)
	d := &result.Document{
		Format: result.Format, Tool: result.Build{Version: "1.2", Commit: "0123456789abcdef"}, When: time.Unix(1e9, 0),
		Machine:  facts.Machine{CPU: "EPYC", Cores: 2, MemoryBytes: 24e9, System: "Debian", Kernel: "6.1", Virtual: "kvm"},
		Storage:  &facts.Storage{Filesystem: "tmpfs", Device: "none", InMemory: true},
		Server:   result.Server{Bootstrap: []string{"127.0.0.1:9092"}, Software: "kafka", Version: "4.4", Config: map[string]string{"num.io.threads": "4"}},
		Workload: workload.Defaults(workload.Produce),
		Seconds:  10, Asked: &result.Rates{Bytes: 200e6, Records: 195e3}, Reached: result.Rates{Bytes: 199e6, Records: 194e3, Requests: 3100},
		Latency: &result.Latency{
			Corrected: latency.Percentiles{Count: 31_000, Min: 90, P50: 210, P90: 800, P99: 1900, P999: 5200, P9999: 9000, Max: 12_000}, Uncorrected: latency.Percentiles{Count: 31_000, P99: 1700},
			LateSends: 3, Points: []latency.Point{{Percentile: 50, Corrected: 210, Uncorrected: 205}, {Percentile: 99, Corrected: 1900, Uncorrected: 1700}},
		},
		Produce: &result.Section{Records: 1_940_000, Bytes: 1_990_000_000, Requests: 31_000},
		Costs:   result.Costs{ClientCPU: 1.1, ServerCPU: &cpu, ServerCPUPerGB: &perGB, ServerCPUPerRequest: &perRequest, ServerRSS: &memory, Syncs: &syncs, DiskWrittenPerByteIn: &written},
		Audit:   &result.Audit{Acked: 10, Seen: 9, Lost: 1},
		Errors:  map[string]int64{"NOT_LEADER_OR_FOLLOWER": 2},
		Floor:   &result.Floor{P50: 60, P99: 150},
		Knee:    &result.Knee{SLO: "p99=10ms", Found: true, Held: result.Rates{Requests: 20_000}},
		Verdict: result.Verdict{Reasons: []string{"1 of 10 records is lost"}}, Warnings: []string{"the clock jumped"},
	}
	for i := range 10 {
		d.Series = append(d.Series, result.Point{Second: float64(i), Bytes: 199e6, P50: 200, P99: 1900, ServerCPU: &cores})
		rates := result.Rates{Requests: float64(20_000 - 1000*i)}
		d.Curve = append(d.Curve, result.CurvePoint{Asked: &rates, Reached: rates, Corrected: latency.Percentiles{P50: 300, P99: 2000}, Holds: true})
	}
	return d
}

func TestDocumentInWords(t *testing.T) {
	html := written(t, Page{Title: "t", Runs: []Run{FromDocument("a", document())}})
	for _, text := range []string{
		"EPYC, 2 cores", "24 GB", "Debian, 6.1", "tmpfs on none (in memory: nothing here is durable)", "kafka 4.4", "ringmain 1.2 0123456789", "num.io.threads",
		"200 MB/s, 195k records/s", "199 MB/s, 194k records/s, 3100 requests/s", "1.94M records, 1.99 GB, 31k requests",
		"1.9 ms (1.7 ms)", "5.2 ms", "12 ms", "0.53 s", "34.5 µs", "21 MB", "1.02", "77",
		"1 of 10 records is lost", "the clock jumped", "error NOT_LEADER_OR_FOLLOWER", "60 µs p50, 150 µs p99", "knee at p99=10ms", "20k requests/s", "bound 10 ms",
		"kind: produce", "Throughput over time", "Latency against load", "Latency by percentile", "Server processors",
	} {
		if !strings.Contains(strings.ReplaceAll(html, "&#43;", "+"), text) {
			t.Errorf("the page lacks %q", text)
		}
	}
	if strings.Contains(html, "closed loop") {
		t.Error("an open loop is called closed")
	}
}

func TestLoadsAreInOrder(t *testing.T) {
	last := 0.0
	for _, l := range FromDocument("a", document()).Loads {
		if l.RequestsPerSecond < last {
			t.Errorf("%v after %v", l.RequestsPerSecond, last)
		}
		last = l.RequestsPerSecond
	}
}

// A search begins with a closed loop. Its latency is that of a full queue, which a curve of open loops would be
// bent by.
func TestClosedLoopIsNoPointOfTheCurve(t *testing.T) {
	d := document()
	most := result.Rates{Requests: 90_000}
	d.Knee.MaxRate = &most
	d.Curve = append([]result.CurvePoint{{Reached: most, Corrected: latency.Percentiles{P50: 9000, P99: 9000}}}, d.Curve...)
	r := FromDocument("a", d)
	if len(r.Loads) != len(d.Curve)-1 || r.Loads[len(r.Loads)-1].RequestsPerSecond != 20_000 {
		t.Errorf("the curve has %v", r.Loads)
	}
	if !slices.Contains(r.Summary, Fact{"closed loop", "90k requests/s"}) {
		t.Errorf("the summary does not say how much went at most: %v", r.Summary)
	}
}

func TestDotsTellWhatHeld(t *testing.T) {
	r := Run{Name: "a", BoundUs: 1000, Loads: []Load{{1000, 100, 900, true}, {2000, 200, 1900, false}}}
	drawn, _ := latencyAgainstLoad([]Run{r})
	filled := 0
	for _, d := range drawn.Dots {
		if strings.Contains(d.Class, "full") {
			filled++
		}
	}
	if len(drawn.Dots) != 4 || filled != 2 {
		t.Errorf("%d of %d dots are filled, want 2 of 4", filled, len(drawn.Dots))
	}
}

func TestEmptyDocument(t *testing.T) {
	html := written(t, Page{Title: "t", Runs: []Run{FromDocument("a", &result.Document{ClosedLoop: true})}})
	if strings.Contains(html, "<figure>") || !strings.Contains(html, "as fast as it goes") {
		t.Error("a result without measurements is drawn, or not said to be of a closed loop")
	}
}

func TestStormHasRequestsForThroughput(t *testing.T) {
	d := &result.Document{Series: []result.Point{{Second: 0, Requests: 500}, {Second: 1, Requests: 600}}}
	html := written(t, Page{Title: "t", Runs: []Run{FromDocument("a", d)}})
	if !strings.Contains(html, "requests from 500 requests/s to 600 requests/s") {
		t.Error("requests are not drawn")
	}
}

// Each kind of load has the figures that it has, and none that are always 0.
func TestSummariesSayWhatTheKindHas(t *testing.T) {
	each := 12.5 * 1024
	for _, c := range []struct {
		d    *result.Document
		want map[string]string // by name
	}{
		{&result.Document{EndToEnd: &result.Section{Records: 1234}}, map[string]string{"end to end": "1234 records"}},
		{&result.Document{Connect: &result.Section{Requests: 77}}, map[string]string{"connected": "77 connections"}},
		{&result.Document{Produce: &result.Section{Records: 10, Bytes: 2000, Requests: 3}}, map[string]string{"produced": "10 records, 2 kB, 3 requests"}},
		{&result.Document{Idle: &result.Idle{Connections: 1000, OpenSeconds: 0.25, BytesPerConnection: &each, Lost: 2}},
			map[string]string{"connections": "1000", "opened within": "0.25 s", "server memory per connection": "12.5 KiB", "lost": "2"}},
		{&result.Document{Idle: &result.Idle{Connections: 5}}, map[string]string{"connections": "5", "opened within": "0 s", "lost": "0"}},
	} {
		got := FromDocument("a", c.d).Summary
		if len(got) != len(c.want) {
			t.Errorf("%v, want %v", got, c.want)
		}
		for _, f := range got {
			if c.want[f.Name] != f.Value {
				t.Errorf("%s is %q, want %q", f.Name, f.Value, c.want[f.Name])
			}
		}
	}
}
