package report

import (
	"fmt"
	"math"

	"ringmain/perf"
)

// comparison is a perf.Comparison in words.
type comparison struct {
	Base    string
	Summary string
	Least   string
	Others  []opponent
}

// opponent is one side against the base.
type opponent struct {
	Name string
	Rows []verdictRow
}

type verdictRow struct {
	Name, Base, Other, Ratio, Interval, Verdict, Why string
	Class                                            string
	Bar                                              *bar
}

// bar is an interval on an axis of ratios from barLow to 1/barLow.
type bar struct {
	Low, Width, Middle string
}

// barLow is the smallest ratio that the small drawings show.
const barLow = 0.5

// compared puts a comparison in words.
func compared(c perf.Comparison) *comparison {
	out := &comparison{Base: c.Sides[0].Name, Least: fmt.Sprintf("%.3g %%", 100*c.Least)}
	differences, judged := 0, 0
	for k, side := range c.Sides[1:] {
		other := opponent{Name: side.Name}
		for _, row := range c.Rows {
			j := row.Against[k]
			r := verdictRow{Name: row.Figure.Name, Base: valueOf(row.Medians[0], row.Figure.Unit), Other: valueOf(row.Medians[k+1], row.Figure.Unit),
				Verdict: row.Word(j), Why: j.Reason, Class: "same"}
			if j.Ratio > 0 {
				r.Ratio = fmt.Sprintf("%.3f", j.Ratio)
			}
			if j.Low != nil && j.High != nil {
				r.Interval = fmt.Sprintf("%.3f to %.3f", *j.Low, *j.High)
				r.Bar = newBar(*j.Low, *j.High, j.Ratio)
			}
			if j.Verdict != perf.Unjudged {
				judged++
			}
			if r.Verdict == "better" || r.Verdict == "worse" {
				r.Class = r.Verdict
				differences++
			}
			other.Rows = append(other.Rows, r)
		}
		out.Others = append(out.Others, other)
	}
	switch {
	case differences > 0:
		out.Summary = fmt.Sprintf("Different: %d of %d judged figures.", differences, judged)
	case judged > 0:
		out.Summary = "No difference."
	default:
		out.Summary = "Not judged: too few rounds next to each other."
	}
	return out
}

func newBar(low, high, middle float64) *bar {
	place := func(ratio float64) float64 {
		return 100 * clip((math.Log(ratio)-math.Log(barLow))/(-2*math.Log(barLow)))
	}
	return &bar{coordinate(place(low)), coordinate(max(place(high)-place(low), 0.5)), coordinate(place(middle))}
}

// valueOf is a figure with its unit.
func valueOf(v *float64, unit string) string {
	switch {
	case v == nil:
		return "–"
	case unit == "us":
		return duration(*v)
	case unit == "":
		return number(*v)
	}
	return number(*v) + " " + unit
}
