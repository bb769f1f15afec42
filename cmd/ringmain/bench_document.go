package main

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"ringmain/bench/latency"
	"ringmain/bench/result"
	"ringmain/bench/workload"
	"ringmain/cmd/ringmain/internal/show"
	"ringmain/perf/report"
)

// writeDocument prints a result for people. The texts of its parts are those of
// the page that --report writes, so that nobody has to compare two wordings.
func writeDocument(w io.Writer, d *result.Document) error {
	run := report.FromDocument(d.Workload.Name, d)
	fmt.Fprintf(w, "%s: %s\n%s\n", show.Plain(orDash(d.Workload.Name)), show.Plain(run.What), show.Plain(shape(d.Workload)))
	if d.ClosedLoop {
		fmt.Fprintln(w, "closed loop: every answer made room for the next request, so the latency is that at full load")
	}
	if err := writeFacts(w, "RESULT", run.Summary); err != nil {
		return err
	}
	for _, l := range latencies(d) {
		if err := writeLatency(w, l.title, l.of); err != nil {
			return err
		}
	}
	if err := writeCurve(w, d); err != nil {
		return err
	}
	if err := writeFacts(w, "COST", run.Costs); err != nil {
		return err
	}
	if err := writeFacts(w, "CHECK", run.Checks); err != nil {
		return err
	}
	if len(d.Warnings) > 0 {
		fmt.Fprintln(w)
	}
	for _, text := range d.Warnings {
		fmt.Fprintf(w, "warning: %s\n", show.Plain(text))
	}
	return nil
}

// shape is the load in a line.
func shape(s workload.Spec) string {
	parts := []string{"engine " + s.Engine}
	if s.Topic != "" {
		parts = append(parts, "topic "+s.Topic)
	} else {
		parts = append(parts, plural(s.Topics*s.Partitions, "partition"))
	}
	if s.Kind != workload.Fetch {
		parts = append(parts, plural(s.Connections, "connection"))
	}
	if s.Kind.Produces() {
		parts = append(parts, fmt.Sprintf("%d in flight", s.InFlight), "acks "+workload.FormatAcks(s.Acks), "codec "+s.Codec)
	}
	if s.Kind.Fetches() {
		parts = append(parts, plural(s.Consumers, "consumer"), "fetch "+s.FetchMode)
	}
	if s.Kind.Produces() || s.Kind.Fetches() {
		parts = append(parts, fmt.Sprintf("records of %v", s.Record))
		parts = append(parts, pick(s.BatchBytes == 1, "one in a batch", "batches of "+workload.FormatBytes(int64(s.BatchBytes))))
	}
	return strings.Join(parts, ", ")
}

func plural(n int, noun string) string {
	return fmt.Sprintf("%d %s%s", n, noun, pick(n == 1, "", "s"))
}

// writeFacts prints named values, and nothing if there are none.
func writeFacts(w io.Writer, title string, facts []report.Fact) error {
	if len(facts) == 0 {
		return nil
	}
	grid := show.NewGrid(title, "")
	for _, f := range facts {
		grid.Row(f.Name, f.Value)
	}
	fmt.Fprintln(w)
	return grid.Write(w)
}

// titledLatency is a latency and what it is of.
type titledLatency struct {
	title string
	of    *result.Latency
}

// latencies are all that the result has, the one that it is about first.
func latencies(d *result.Document) []titledLatency {
	parts := []struct {
		title   string
		section *result.Section
		kinds   []workload.Kind // of whose results it is the main one
	}{
		{"PRODUCE", d.Produce, []workload.Kind{workload.Produce, workload.Mixed}},
		{"FETCH", d.Fetch, []workload.Kind{workload.Fetch}},
		{"SEND TO ARRIVAL", d.EndToEnd, []workload.Kind{workload.EndToEnd}},
		{"CONNECT", d.Connect, []workload.Kind{workload.Storm}},
	}
	main := titledLatency{"LATENCY", d.Latency}
	var others []titledLatency
	for _, p := range parts {
		mine := false
		for _, k := range p.kinds {
			mine = mine || k == d.Workload.Kind
		}
		switch {
		case mine:
			main.title = p.title
		case p.section != nil:
			others = append(others, titledLatency{p.title, p.section.Latency})
		}
	}
	return append([]titledLatency{main}, others...)
}

// writeLatency prints both ways of counting side by side.
func writeLatency(w io.Writer, title string, l *result.Latency) error {
	if l == nil || l.Corrected.Count == 0 {
		return nil
	}
	grid := show.NewGrid(title, "CORRECTED", "UNCORRECTED")
	row := func(name string, of func(latency.Percentiles) float64) {
		grid.Row(name, duration(of(l.Corrected)), duration(of(l.Uncorrected)))
	}
	row("min", func(p latency.Percentiles) float64 { return float64(p.Min) })
	row("mean", func(p latency.Percentiles) float64 { return p.Mean })
	row("p50", func(p latency.Percentiles) float64 { return float64(p.P50) })
	row("p90", func(p latency.Percentiles) float64 { return float64(p.P90) })
	row("p99", func(p latency.Percentiles) float64 { return float64(p.P99) })
	row("p99.9", func(p latency.Percentiles) float64 { return float64(p.P999) })
	row("p99.99", func(p latency.Percentiles) float64 { return float64(p.P9999) })
	row("max", func(p latency.Percentiles) float64 { return float64(p.Max) })
	fmt.Fprintln(w)
	return grid.Write(w)
}

// writeCurve prints the rates that were tried for the knee.
func writeCurve(w io.Writer, d *result.Document) error {
	if d.Knee != nil {
		fmt.Fprintf(w, "\n%s\n", knee(d.Knee))
	}
	if len(d.Curve) == 0 {
		return nil
	}
	grid := show.NewGrid("ASKED/S", "REACHED/S", "MB/S", "P50", "P99", "UNCORR.", "LATE", "CORES", "HOLDS")
	var why []string
	for _, p := range d.Curve {
		asked, cores, holds := "max", "-", "-" // a closed loop has no rate that could be held
		if p.Asked != nil {
			asked = fmt.Sprintf("%.0f", rateOf(*p.Asked))
			switch {
			case !p.Holds:
				holds = "no"
				why = append(why, fmt.Sprintf("%s/s does not hold%s: %s", asked, pick(p.Confirms, " again", ""), orDash(show.Plain(p.Why))))
			case p.Confirms:
				holds = "again"
			default:
				holds = "yes"
			}
		}
		if p.ServerCPU != nil {
			cores = fmt.Sprintf("%.2f", *p.ServerCPU)
		}
		grid.Row(asked, fmt.Sprintf("%.0f", rateOf(p.Reached)), fmt.Sprintf("%.1f", p.Reached.Bytes/1e6), threeDigits(float64(p.Corrected.P50)),
			threeDigits(float64(p.Corrected.P99)), threeDigits(float64(p.Uncorrected.P99)), p.LateSends, cores, holds)
	}
	if err := grid.Write(w); err != nil {
		return err
	}
	fmt.Fprintln(w, "UNCORR.: p99 from the send; LATE: sends over 1 ms late; CORES: of the server")
	for _, line := range why {
		fmt.Fprintln(w, line)
	}
	return nil
}

// rateOf is the rate in records, or in requests where there are no records.
func rateOf(r result.Rates) float64 { return cmp.Or(r.Records, r.Requests) }

// knee says in a sentence what the search found.
func knee(k *result.Knee) string {
	rate := func(r *result.Rates) string { return fmt.Sprintf("%.0f/s (%.1f MB/s)", rateOf(*r), r.Bytes/1e6) }
	var b strings.Builder
	slo := show.Plain(k.SLO)
	if k.Unfinished != "" {
		fmt.Fprintf(&b, "search not finished: %s\n", show.Plain(k.Unfinished))
	}
	switch {
	case k.Found:
		fmt.Fprintf(&b, "knee: %s holds at %s", slo, rate(&k.Held))
	case k.Unfinished == "":
		fmt.Fprintf(&b, "knee: no rate holds %s", slo)
	case rateOf(k.Held) > 0:
		fmt.Fprintf(&b, "so far: %s holds at %s", slo, rate(&k.Held))
	default:
		fmt.Fprintf(&b, "so far: no rate holds %s", slo)
	}
	if k.Broke != nil {
		fmt.Fprintf(&b, ", breaks at %s", rate(k.Broke))
	}
	if k.Found && k.Width > 0 {
		fmt.Fprintf(&b, ", known to %.1f %%", 100*k.Width)
	}
	if k.MaxRate != nil {
		fmt.Fprintf(&b, "; closed loop %s", rate(k.MaxRate))
	}
	return b.String()
}

// threeDigits is duration for columns that have little room.
func threeDigits(us float64) string {
	text := func(v float64, unit string) string {
		decimals := 2
		for n := v; n >= 9.995 && decimals > 0; n /= 10 {
			decimals--
		}
		return fmt.Sprintf("%.*f %s", decimals, v, unit)
	}
	switch {
	case us >= 999.5e3:
		return text(us/1e6, "s")
	case us >= 999.5:
		return text(us/1e3, "ms")
	}
	return fmt.Sprintf("%.0f µs", us)
}

// duration is microseconds in the unit that fits.
func duration(us float64) string {
	switch {
	case us >= 1e6:
		return fmt.Sprintf("%.2f s", us/1e6)
	case us >= 1e3:
		return fmt.Sprintf("%.2f ms", us/1e3)
	}
	return fmt.Sprintf("%.0f µs", us)
}
