package table

import (
	"fmt"
	"slices"

	"ringmain/perf"
)

// What a build may lose against an earlier one: a tenth, in what there should be
// much of and in what there should be little of.
const (
	leastWorse = 0.1
	mostLess   = 1 - leastWorse
	mostMore   = 1 + leastWorse
)

// judged takes the figures that a comparison judges into the table.
func judged(c perf.Comparison) (m Measured) {
	for _, row := range c.Rows {
		if !row.Figure.Judged {
			continue
		}
		j, l := row.Against[0], line(row.Figure, readings(c.Sides[0]), readings(c.Sides[1]))
		limit := mostMore
		if row.Figure.Better == perf.MoreIsBetter {
			limit = mostLess
		}
		if j.Ratio > 0 {
			// The centre of the pairs' ratios, which is what the verdict is of.
			l.Ratio = &j.Ratio
		}
		worse := row.Word(j) == "worse" && !within(row.Figure, j.Ratio, limit)
		holds := !worse && j.Verdict != perf.Unjudged
		l.Bound, l.Holds = fmt.Sprintf("%s %v x", sign(row.Figure), limit), &holds
		if j.Verdict == perf.Unjudged {
			l.Why = string(j.Verdict) + ", " + j.Reason
		}
		m.Lines = append(m.Lines, l)
	}
	return m
}

func readings(s perf.Side) (out []perf.Reading) {
	for _, r := range s.Rounds {
		out = append(out, r.Values)
	}
	return out
}

// values are what the rounds have of one figure; empty, not nil, for programs.
func values(rounds []perf.Reading, name string) []float64 {
	out := []float64{}
	for _, r := range rounds {
		if v, ok := r[name]; ok {
			out = append(out, v)
		}
	}
	return out
}

// median is nil of nothing.
func median(values []float64) *float64 {
	if len(values) == 0 {
		return nil
	}
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	m := (sorted[(n-1)/2] + sorted[n/2]) / 2
	return &m
}
