package report

import (
	"fmt"
	"sort"
	"strings"
	"time"

	"ringmain/bench/latency"
	"ringmain/bench/result"
)

// FromDocument makes a run of a result. name tells it from the page's others.
func FromDocument(name string, d *result.Document) Run {
	r := Run{
		Name:     name,
		What:     what(d),
		Closed:   d.ClosedLoop,
		Alarms:   d.Verdict.Reasons,
		Notes:    d.Warnings,
		Summary:  summary(d),
		Costs:    costs(d.Costs),
		Checks:   checks(d),
		Machine:  machine(d),
		BoundUs:  boundOf(d.Knee),
		Workload: workloadText(d),
	}
	if l := d.Latency; l != nil && l.Corrected.Count > 0 {
		r.Percentiles = percentilesOf(l)
		for _, p := range l.Points {
			r.Distribution = append(r.Distribution, Percentile{p.Percentile, float64(p.Corrected), float64(p.Uncorrected)})
		}
	}
	for _, p := range d.Series {
		s := Second{At: p.Second, BytesPerSecond: p.Bytes, RequestsPerSecond: p.Requests, P50Us: float64(p.P50), P99Us: float64(p.P99), Errors: p.Errors}
		if p.ServerCPU != nil {
			s.ServerCores = *p.ServerCPU
		}
		r.Seconds = append(r.Seconds, s)
	}
	for _, p := range d.Curve {
		if p.Asked == nil {
			continue // a closed loop has no rate that it could have held
		}
		r.Loads = append(r.Loads, Load{p.Reached.Requests, float64(p.Corrected.P50), float64(p.Corrected.P99), p.Holds})
	}
	sort.SliceStable(r.Loads, func(i, j int) bool { return r.Loads[i].RequestsPerSecond < r.Loads[j].RequestsPerSecond })
	return r
}

// what is the load in a line.
func what(d *result.Document) string {
	w := d.Workload
	if w.Description != "" {
		return w.Description
	}
	return fmt.Sprintf("%s with %s", w.Kind, w.Engine)
}

func workloadText(d *result.Document) string {
	var b strings.Builder
	if d.Workload.Kind == "" {
		return ""
	}
	if err := d.Workload.Write(&b); err != nil {
		return err.Error()
	}
	return b.String()
}

// list collects facts that are known.
type list []Fact

func (f *list) add(name, value string) {
	if value != "" {
		*f = append(*f, Fact{name, value})
	}
}

func summary(d *result.Document) []Fact {
	var f list
	f.add("asked", rates(d.Asked))
	if d.ClosedLoop {
		f.add("asked", "as fast as it goes")
	}
	f.add("reached", rates(&d.Reached))
	for _, part := range []struct {
		name    string
		section *result.Section
	}{{"produced", d.Produce}, {"fetched", d.Fetch}} {
		if s := part.section; s != nil {
			f.add(part.name, fmt.Sprintf("%s records, %s, %s requests", number(float64(s.Records)), size(float64(s.Bytes)), number(float64(s.Requests))))
		}
	}
	// What came through is counted in records, and each visit is a connection.
	if s := d.EndToEnd; s != nil {
		f.add("end to end", number(float64(s.Records))+" records")
	}
	if s := d.Connect; s != nil {
		f.add("connected", number(float64(s.Requests))+" connections")
	}
	if d.Seconds > 0 {
		f.add("measured for", trim(d.Seconds)+" s")
	}
	if k := d.Knee; k != nil {
		f.add("knee at "+k.SLO, found(k))
		f.add("closed loop", rates(k.MaxRate))
	}
	if i := d.Idle; i != nil {
		f.add("connections", number(float64(i.Connections)))
		f.add("opened within", trim(i.OpenSeconds)+" s")
		if each := i.BytesPerConnection; each != nil {
			f.add("server memory per connection", trim(*each/1024)+" KiB")
		}
		f.add("lost", number(float64(i.Lost)))
	}
	return f
}

// found is what a search found, or how far it came.
func found(k *result.Knee) string {
	held := rates(&k.Held)
	switch {
	case k.Found:
		return held
	case k.Unfinished == "":
		return "no rate held it"
	case held == "":
		return "not found, the search was not finished: no rate held so far"
	}
	return "not found, the search was not finished: " + held + " held so far"
}

// rates says a throughput in the units that are not 0.
func rates(r *result.Rates) string {
	if r == nil {
		return ""
	}
	var parts []string
	for _, p := range []struct {
		v    float64
		unit string
	}{{r.Bytes / 1e6, "MB/s"}, {r.Records, "records/s"}, {r.Requests, "requests/s"}} {
		if p.v > 0 {
			parts = append(parts, number(p.v)+" "+p.unit)
		}
	}
	return strings.Join(parts, ", ")
}

func percentilesOf(l *result.Latency) []Percentile {
	c, u := l.Corrected, l.Uncorrected
	var out []Percentile
	for _, p := range []struct {
		percent float64
		of      func(latency.Percentiles) int64
	}{
		{0, func(p latency.Percentiles) int64 { return p.Min }},
		{50, func(p latency.Percentiles) int64 { return p.P50 }},
		{90, func(p latency.Percentiles) int64 { return p.P90 }},
		{99, func(p latency.Percentiles) int64 { return p.P99 }},
		{99.9, func(p latency.Percentiles) int64 { return p.P999 }},
		{99.99, func(p latency.Percentiles) int64 { return p.P9999 }},
		{100, func(p latency.Percentiles) int64 { return p.Max }},
	} {
		out = append(out, Percentile{p.percent, float64(p.of(c)), float64(p.of(u))})
	}
	return out
}

// boundOf is the latency that a knee was looked for with: "p99=10ms".
func boundOf(k *result.Knee) float64 {
	if k == nil {
		return 0
	}
	_, text, _ := strings.Cut(k.SLO, "=")
	bound, err := time.ParseDuration(text)
	if err != nil {
		return 0
	}
	return float64(bound.Microseconds())
}
