package perf

import (
	"fmt"
	"math"
	"slices"
)

// Limits of a judgement.
const (
	// errorRate is how often one figure of two equal sides may be called
	// different. At most four figures are judged in one comparison, so that a
	// whole comparison is wrong in at most 0.6 % of the cases: 1 % is promised,
	// and whoever checks it on some thousands of cases needs room for luck.
	errorRate = 0.0015
	// maxJudged is the number of figures this error is meant for.
	maxJudged = 4
	// MinPairs is the smallest number of pairs whose 2^n orders contain one as
	// rare as errorRate.
	MinPairs = 11
	// MaxPairs bounds the work of the exact distribution.
	MaxPairs = 300
)

// DefaultLeast is the smallest change that is called a difference, as a share.
// Two processes of one build differ by this much in where their memory and
// files happen to lie, and enough rounds would prove it.
const DefaultLeast = 0.02

// Verdict is what the pairs of one figure show.
type Verdict string

const (
	// Same: nothing that the noise would not do, or too little to matter.
	Same Verdict = "no difference"
	// Higher and Lower: the other side's figure against the base's.
	Higher Verdict = "higher"
	Lower  Verdict = "lower"
	// Unjudged: too few pairs to say anything. Reason says so.
	Unjudged Verdict = "not judged"
)

// Judgement compares one figure of two sides.
type Judgement struct {
	Pairs       int     `json:"pairs"`
	MedianBase  float64 `json:"medianBase"`
	MedianOther float64 `json:"medianOther"`
	// Ratio is other over base: the centre of the ratios of all pairs. Low and
	// High bound it with 99.85 % confidence; they are absent with too few pairs.
	Ratio float64  `json:"ratio"`
	Low   *float64 `json:"low,omitempty"`
	High  *float64 `json:"high,omitempty"`
	// Chance is how often two equal sides look this different.
	Chance  float64 `json:"chance"`
	Verdict Verdict `json:"verdict"`
	Reason  string  `json:"reason,omitempty"`
}

// Judge compares base and other, whose values of one index were measured next
// to each other. least is the smallest change that counts, as a share.
//
// Pairs in which a side has no value, or none above 0, are left out: a ratio to
// nothing says nothing.
func Judge(base, other []float64, least float64) Judgement {
	n := min(len(base), len(other))
	var logs, a, b []float64
	for i := range n {
		if !(base[i] > 0 && other[i] > 0) || math.IsInf(base[i], 0) || math.IsInf(other[i], 0) {
			continue
		}
		a, b = append(a, base[i]), append(b, other[i])
		logs = append(logs, math.Log(other[i])-math.Log(base[i]))
	}
	if len(logs) == 0 {
		return Judgement{Verdict: Unjudged, Reason: "no pair has a value on both sides"}
	}
	slices.Sort(a)
	slices.Sort(b)
	j := Judgement{Pairs: len(logs), MedianBase: median(a), MedianOther: median(b)}
	if len(logs) > MaxPairs {
		j.Ratio, j.Chance = math.Exp(medianOf(logs)), 1
		j.Verdict, j.Reason = Unjudged, fmt.Sprintf("%d pairs are more than the %d that are judged", len(logs), MaxPairs)
		return j
	}
	estimate, low, high := centre(logs, 1-errorRate)
	j.Ratio, j.Chance = math.Exp(estimate), rank(logs).chance()
	if len(logs) < MinPairs {
		j.Verdict, j.Reason = Unjudged, fmt.Sprintf("%s, and a verdict needs %d", count(len(logs), "pair"), MinPairs)
		return j
	}
	l, h := math.Exp(low), math.Exp(high)
	j.Low, j.High = &l, &h
	switch {
	case j.Chance > errorRate:
		j.Verdict = Same
	case math.Abs(estimate) < math.Log1p(least):
		j.Verdict = Same
		j.Reason = fmt.Sprintf("the change is real and below %.3g %%", 100*least)
	case estimate > 0:
		j.Verdict = Higher
	default:
		j.Verdict = Lower
	}
	return j
}

func medianOf(values []float64) float64 {
	sorted := slices.Clone(values)
	slices.Sort(sorted)
	return median(sorted)
}

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
