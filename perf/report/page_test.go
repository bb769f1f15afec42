package report

import (
	"bytes"
	"encoding/xml"
	"io"
	"math"
	"regexp"
	"strings"
	"testing"
	"time"

	"ringmain/perf"
)

// sampleRun is a run with everything in it.
func sampleRun(name string, factor float64) Run {
	r := Run{
		Name:     name,
		What:     "produce, 64 KiB batches of 1 KiB records, 8 connections with 5 in flight",
		Summary:  []Fact{{"asked", "200 MB/s"}, {"reached", "199.8 MB/s"}, {"records", "195 k/s"}},
		BoundUs:  10_000,
		Costs:    []Fact{{"server CPU per GB", "0.53 s"}, {"server memory", "21 MiB"}, {"syncs", ""}},
		Checks:   []Fact{{"lost", "0"}, {"late sends", "0.02 %"}},
		Machine:  []Fact{{"processor", "AMD EPYC, 2 cores"}, {"kernel", "6.1"}},
		Workload: "kind: produce\nrecord: 1024\n",
	}
	for _, q := range []float64{0, 50, 90, 99, 99.9, 99.99, 100} {
		v := factor * 200 / math.Pow(1-min(q, 99.999)/100, 0.4)
		r.Percentiles = append(r.Percentiles, Percentile{q, v, v * 0.7})
		r.Distribution = append(r.Distribution, Percentile{q, v, v * 0.7})
	}
	for i := range 30 {
		wave := 1 + 0.2*math.Sin(float64(i))
		r.Seconds = append(r.Seconds, Second{At: float64(i), BytesPerSecond: 200e6 * wave / factor, P50Us: 210 * factor, P99Us: 1900 * factor * wave, ServerCores: 0.4 * wave})
	}
	for i := 1; i < 10; i++ {
		load := float64(i) * 2500
		r.Loads = append(r.Loads, Load{load, 200 * factor / (1 - load/26000), 900 * factor / math.Pow(1-load/26000, 1.5), i < 8})
	}
	return r
}

func sampleComparison(t *testing.T) *perf.Comparison {
	t.Helper()
	sides := []perf.Side{{Name: "old"}, {Name: "new"}}
	for i := range 24 {
		v := 100 * (1 + 0.05*math.Sin(float64(7*i)))
		sides[0].Rounds = append(sides[0].Rounds, perf.Round{At: time.Unix(int64(2*i), 0), Values: perf.Reading{"throughput": v * 2, "p99": v * 50}})
		sides[1].Rounds = append(sides[1].Rounds, perf.Round{At: time.Unix(int64(2*i+1), 0), Values: perf.Reading{"throughput": v * 2.3, "p99": v * 50}})
	}
	c, err := perf.Compare(sides, []perf.Figure{
		{Name: "throughput", Unit: "MB/s", Better: perf.MoreIsBetter, Judged: true},
		{Name: "p99", Unit: "us", Better: perf.LessIsBetter, Judged: true},
	}, perf.DefaultLeast)
	if err != nil {
		t.Fatal(err)
	}
	return &c
}

func written(t *testing.T, p Page) string {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, p); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func full(t *testing.T) Page {
	return Page{Title: "Bench of two", Made: time.Unix(1e9, 0), Tool: "ringmain 1", Runs: []Run{sampleRun("old", 1), sampleRun("new", 0.8)}, Comparison: sampleComparison(t),
		Table: &Table{Title: "Of many", Summary: "1 of 2 rows does not hold.", Columns: []string{"ROW", "HOLDS"}, Rows: [][]Cell{{{Text: "P1"}, {"NO: 1 < 2", "worse"}}}, Note: "Medians."},
		Parts: []Part{{Title: "P1 folded", Runs: []Run{sampleRun("folded", 2)}}}}
}

func TestPageShowsEverything(t *testing.T) {
	html := written(t, full(t))
	for _, text := range []string{
		"Bench of two", "9 September 2001, 01:46 UTC", "Throughput over time", "Latency over time", "Latency by percentile", "Latency against load", "Server processors",
		"Different: 1 of 2 judged figures", "no difference", "better", "1.150", "new against old", "AMD EPYC", "0.53 s", "bound 10 ms", "199.8 MB/s", "99.99", "kind: produce",
		"Of many", "1 of 2 rows does not hold.", "<th>HOLDS</th>", `<td class="worse" data-label="HOLDS">NO: 1 &lt; 2</td>`, "Medians.", "<summary>P1 folded</summary>", "<b>folded</b>",
	} {
		if !strings.Contains(html, text) {
			t.Errorf("the page lacks %q", text)
		}
	}
}

// Nothing is fetched: a report is opened from a mail, behind a firewall, in ten
// years.
func TestPageStandsAlone(t *testing.T) {
	html := written(t, full(t))
	if found := regexp.MustCompile(`(?i)https?:|<script|<link|<img|<iframe|\bsrc=|@import|url\(|NaN|Inf\b|ZgotmplZ`).FindString(html); found != "" {
		t.Errorf("the page has %q", found)
	}
	for _, rule := range []string{"@media print", "prefers-color-scheme: dark", "width=device-width"} {
		if !strings.Contains(html, rule) {
			t.Errorf("the page lacks %q", rule)
		}
	}
}

// Every tag is closed and every attribute quoted, except for those that HTML
// leaves open.
func TestPageIsWellFormed(t *testing.T) {
	html := written(t, full(t))
	html = regexp.MustCompile(`<meta[^>]*>`).ReplaceAllString(html, "")
	html = strings.Replace(html, "<!doctype html>", "", 1)
	html = strings.Replace(html, "<details open>", "<details>", -1)
	d := xml.NewDecoder(strings.NewReader(html))
	for {
		if _, err := d.Token(); err == io.EOF {
			return
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

func TestNamesCanNotBreakOut(t *testing.T) {
	evil := `"><script>alert(1)</script>`
	r := sampleRun(evil, 1)
	r.What, r.Alarms, r.Workload = evil, []string{evil}, evil
	r.Costs = []Fact{{evil, evil}}
	table := &Table{Title: evil, Summary: evil, Columns: []string{evil}, Rows: [][]Cell{{{evil, evil}}}, Note: evil}
	if html := written(t, Page{Title: evil, Runs: []Run{r, r}, Table: table, Parts: []Part{{evil, []Run{r}}}}); strings.Contains(html, "<script") {
		t.Error("a name became a script")
	}
}

func TestWhatWasNotMeasuredIsNotDrawn(t *testing.T) {
	for name, p := range map[string]Page{
		"nothing":         {Title: "t"},
		"an empty run":    {Title: "t", Runs: []Run{{Name: "a"}}},
		"empty seconds":   {Title: "t", Runs: []Run{{Name: "a", Seconds: make([]Second, 5), Distribution: []Percentile{{50, 0, 0}}}}},
		"no number":       {Title: "t", Runs: []Run{{Name: "a", Seconds: []Second{{At: 1, P99Us: math.NaN(), P50Us: math.Inf(1)}}}}},
		"a single second": {Title: "t", Runs: []Run{{Name: "a", Seconds: []Second{{At: 0, BytesPerSecond: 1e6, P50Us: 5, P99Us: 5}}}}},
	} {
		html := written(t, p)
		if strings.Contains(html, "NaN") || strings.Contains(html, "Inf") {
			t.Errorf("%s: a coordinate is no number", name)
		}
		if name != "a single second" && strings.Contains(html, "<figure>") {
			t.Errorf("%s: something is drawn", name)
		}
	}
}

func TestAlarmsComeFirst(t *testing.T) {
	r := sampleRun("a", 1)
	r.Alarms = []string{"3 records are lost"}
	html := written(t, Page{Title: "t", Runs: []Run{r}})
	if at := strings.Index(html, "3 records are lost"); at < 0 || at > strings.Index(html, "<h2>Result</h2>") {
		t.Error("the loss is not shown before the result")
	}
}
