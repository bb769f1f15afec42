package perf

import (
	"slices"
	"time"
)

// Better says which way a figure is better.
type Better string

const (
	MoreIsBetter Better = "more"
	LessIsBetter Better = "less"
)

// Figure is one number that a round yields.
type Figure struct {
	Name   string `json:"name"`
	Unit   string `json:"unit"`
	Better Better `json:"better"`
	// Judged figures get a verdict; the others are shown only. Each judged
	// figure is one more chance to be wrong, so there are maxJudged at most.
	Judged bool `json:"judged"`
}

// Reading is what one round yielded: values by the names of their figures. A
// figure that was not measured is absent.
type Reading map[string]float64

// Round is one measurement and when it began.
type Round struct {
	At     time.Time `json:"at"`
	Values Reading   `json:"values"`
}

// Side is one broker or build in a comparison, with its rounds in order of
// time.
type Side struct {
	Name   string  `json:"name"`
	Rounds []Round `json:"rounds"`
}

// values are what the side's rounds have of one figure.
func (s Side) values(figure string) []float64 {
	var out []float64
	for _, r := range s.Rounds {
		if v, ok := r.Values[figure]; ok {
			out = append(out, v)
		}
	}
	return out
}

// neighbours finds the rounds of two sides that were measured next to each
// other. All rounds are put in order of time and cut into twos; a two that has
// one round of each side is a pair, the others are left out.
//
// Cutting before looking at the sides is what keeps the judgement honest: given
// that a two is a pair, either side was as likely to be the first. Pairing each
// side's n-th round instead lets one side run ahead of the other, so that
// neighbouring pairs lean the same way; on recorded rounds that called equal
// sides different twice as often as allowed.
func neighbours(base, other []Round, figure string) (a, b []float64) {
	type owned struct {
		Round
		other bool
	}
	all := make([]owned, 0, len(base)+len(other))
	for _, r := range base {
		all = append(all, owned{r, false})
	}
	for _, r := range other {
		all = append(all, owned{r, true})
	}
	slices.SortStableFunc(all, func(x, y owned) int { return x.At.Compare(y.At) })
	for i := 0; i+1 < len(all); i += 2 {
		first, second := all[i], all[i+1]
		if first.other == second.other {
			continue
		}
		if first.other {
			first, second = second, first
		}
		a, b = append(a, first.Values[figure]), append(b, second.Values[figure])
	}
	return a, b
}
