package perf

import (
	"ringmain/bench/result"
)

// Figures are the figures of a result, the judged ones first. They are the ones
// that answer different questions: how much, how long as a rule, how long at
// worst, at what cost. Figures that follow from these, or whose noise drowns
// everything on any machine, are for information.
func Figures() []Figure {
	out := make([]Figure, len(figures))
	for i, f := range figures {
		out[i] = f.Figure
	}
	return out
}

// ReadingOf takes the figures from a result. What it lacks is absent.
func ReadingOf(d *result.Document) Reading {
	r := Reading{}
	for _, f := range figures {
		if v, ok := f.of(d); ok {
			r[f.Name] = v
		}
	}
	return r
}

// RoundOf is a result as a round of a side.
func RoundOf(d *result.Document) Round { return Round{At: d.When, Values: ReadingOf(d)} }

// figures says where each figure stands in a result.
var figures = []struct {
	Figure
	of func(*result.Document) (float64, bool)
}{
	{Figure{"throughput", "MB/s", MoreIsBetter, true}, func(d *result.Document) (float64, bool) {
		return d.Reached.Bytes / 1e6, d.Reached.Bytes > 0
	}},
	{Figure{"p50", "us", LessIsBetter, true}, ofLatency(func(l *result.Latency) int64 { return l.Corrected.P50 })},
	{Figure{"p99", "us", LessIsBetter, true}, ofLatency(func(l *result.Latency) int64 { return l.Corrected.P99 })},
	{Figure{"server CPU per request", "us", LessIsBetter, true}, known(func(d *result.Document) *float64 { return d.Costs.ServerCPUPerRequest })},
	{Figure{"requests", "/s", MoreIsBetter, false}, func(d *result.Document) (float64, bool) {
		return d.Reached.Requests, d.Reached.Requests > 0
	}},
	{Figure{"fetch throughput", "MB/s", MoreIsBetter, false}, func(d *result.Document) (float64, bool) {
		if d.Fetch == nil || d.Fetch.Reached.Bytes == 0 {
			return 0, false
		}
		return d.Fetch.Reached.Bytes / 1e6, true
	}},
	{Figure{"p99.9", "us", LessIsBetter, false}, ofLatency(func(l *result.Latency) int64 { return l.Corrected.P999 })},
	{Figure{"p99 uncorrected", "us", LessIsBetter, false}, ofLatency(func(l *result.Latency) int64 { return l.Uncorrected.P99 })},
	{Figure{"server CPU per GB", "s", LessIsBetter, false}, known(func(d *result.Document) *float64 { return d.Costs.ServerCPUPerGB })},
	{Figure{"server memory", "MB", LessIsBetter, false}, func(d *result.Document) (float64, bool) {
		if d.Costs.ServerRSS == nil {
			return 0, false
		}
		return float64(*d.Costs.ServerRSS) / 1e6, true
	}},
	{Figure{"memory per connection", "B", LessIsBetter, false}, func(d *result.Document) (float64, bool) {
		if d.Idle == nil || d.Idle.BytesPerConnection == nil {
			return 0, false
		}
		return *d.Idle.BytesPerConnection, true
	}},
	{Figure{"disk bytes per byte", "", LessIsBetter, false}, known(func(d *result.Document) *float64 { return d.Costs.DiskWrittenPerByteIn })},
	{Figure{"client CPU", "s", LessIsBetter, false}, func(d *result.Document) (float64, bool) {
		return d.Costs.ClientCPU, d.Costs.ClientCPU > 0
	}},
}

// ofLatency is a percentile; a latency of no operation is none.
func ofLatency(of func(*result.Latency) int64) func(*result.Document) (float64, bool) {
	return func(d *result.Document) (float64, bool) {
		if d.Latency == nil || d.Latency.Corrected.Count == 0 {
			return 0, false
		}
		return float64(of(d.Latency)), true
	}
}

func known(of func(*result.Document) *float64) func(*result.Document) (float64, bool) {
	return func(d *result.Document) (float64, bool) {
		if v := of(d); v != nil {
			return *v, true
		}
		return 0, false
	}
}
