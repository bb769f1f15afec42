package report

import "strings"

// charts are the drawings that the runs have something for.
func charts(runs []Run) []chart {
	var out []chart
	for _, c := range []func([]Run) (chart, bool){throughputOverTime, latencyOverTime, distribution, latencyAgainstLoad, serverOverTime} {
		if drawn, any := c(runs); any {
			out = append(out, drawn)
		}
	}
	return out
}

// course makes one curve of each run's seconds; 0 is shown where zeros is set,
// and is a gap otherwise: no request ended then.
func course(runs []Run, label string, zeros, faint bool, of func(Second) float64) []curve {
	var out []curve
	for i, r := range runs {
		k := curve{name: named(r, runs, label), colour: i, faint: faint}
		for _, s := range r.Seconds {
			v := of(s)
			if v == 0 && !zeros {
				v = gap
			}
			k.points = append(k.points, point{x: s.At, y: v})
		}
		if highest([]curve{k}) > 0 {
			out = append(out, k)
		}
	}
	return out
}

// named tells curves apart by run where there are several, and by figure.
func named(r Run, runs []Run, label string) string {
	if len(runs) == 1 {
		return label
	}
	return strings.TrimSpace(r.Name + " " + label)
}

func throughputOverTime(runs []Run) (chart, bool) {
	unit := "MB/s"
	curves := course(runs, "throughput", true, false, func(s Second) float64 { return s.BytesPerSecond / 1e6 })
	if len(curves) == 0 { // loads that move no records
		unit = "requests/s"
		curves = course(runs, "requests", true, false, func(s Second) float64 { return s.RequestsPerSecond })
	}
	return draw(axes{title: "Throughput over time", note: unit, xLabel: "seconds",
		x: linear(widest(curves)), y: linear(highest(curves)), value: func(v float64) string { return number(v) + " " + unit }, xValue: seconds}, curves), len(curves) > 0
}

func latencyOverTime(runs []Run) (chart, bool) {
	curves := append(course(runs, "p50", false, true, func(s Second) float64 { return s.P50Us }),
		course(runs, "p99", false, false, func(s Second) float64 { return s.P99Us })...)
	return draw(axes{title: "Latency over time", note: "from the intended send", xLabel: "seconds",
		x: linear(widest(curves)), y: logarithmic(lowest(curves), highest(curves), duration), value: duration, xValue: seconds}, curves), len(curves) > 0
}

func distribution(runs []Run) (chart, bool) {
	var curves []curve
	for i, r := range runs {
		corrected := curve{name: named(r, runs, "corrected"), colour: i}
		uncorrected := curve{name: named(r, runs, "uncorrected"), colour: i, dashed: true}
		for _, p := range r.Distribution {
			if p.Percent > lastPercentile {
				continue // the largest value alone is in the table
			}
			corrected.points = append(corrected.points, point{x: p.Percent, y: positive(p.Corrected)})
			uncorrected.points = append(uncorrected.points, point{x: p.Percent, y: positive(p.Uncorrected)})
		}
		for _, k := range []curve{corrected, uncorrected} {
			if highest([]curve{k}) > 0 {
				curves = append(curves, k)
			}
		}
	}
	return draw(axes{title: "Latency by percentile", note: "corrected: from the intended send; uncorrected: from the send", xLabel: "per cent of the operations",
		x: percentiles(), y: logarithmic(lowest(curves), highest(curves), duration), value: duration,
		xValue: func(v float64) string { return number(v) + " %" }}, curves), len(curves) > 0
}

func latencyAgainstLoad(runs []Run) (chart, bool) {
	var lower, upper []curve
	bound := 0.0
	for i, r := range runs {
		p50 := curve{name: named(r, runs, "p50"), colour: i, faint: true, dots: true}
		p99 := curve{name: named(r, runs, "p99"), colour: i, dots: true}
		for _, l := range r.Loads {
			p50.points = append(p50.points, point{l.RequestsPerSecond, positive(l.P50Us), l.Held})
			p99.points = append(p99.points, point{l.RequestsPerSecond, positive(l.P99Us), l.Held})
		}
		if len(r.Loads) > 0 {
			lower, upper = append(lower, p50), append(upper, p99)
		}
		if r.BoundUs > 0 {
			bound = r.BoundUs
		}
	}
	curves := append(lower, upper...)
	high := max(highest(curves), 1.5*bound) // room for the bound's name above it
	return draw(axes{title: "Latency against load", note: "each dot is one run at one rate, filled where it held the bound", xLabel: "requests a second",
		x: linear(widest(curves)), y: logarithmic(lowest(curves), high, duration), value: duration, bound: bound, boundName: "bound " + duration(bound),
		xValue: func(v float64) string { return number(v) + " requests a second" }}, curves), len(curves) > 0
}

func serverOverTime(runs []Run) (chart, bool) {
	curves := course(runs, "server", true, false, func(s Second) float64 { return s.ServerCores })
	return draw(axes{title: "Server processors in use", xLabel: "seconds",
		x: linear(widest(curves)), y: linear(highest(curves)), value: number, xValue: seconds}, curves), len(curves) > 0
}

func seconds(v float64) string { return number(v) + " s" }
