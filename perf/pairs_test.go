package perf

import (
	"math"
	"slices"
	"testing"
)

func repeat(v float64, n int) []float64 { return slices.Repeat([]float64{v}, n) }

func TestJudge(t *testing.T) {
	rising := []float64{10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21}
	times := func(f float64) []float64 {
		out := slices.Clone(rising)
		for i := range out {
			out[i] *= f * (1 + 0.001*float64(i%3))
		}
		return out
	}
	for _, c := range []struct {
		name        string
		base, other []float64
		verdict     Verdict
	}{
		{"equal", rising, rising, Same},
		{"a tenth more", rising, times(1.1), Higher},
		{"a tenth less", rising, times(0.9), Lower},
		{"real and too little to matter", rising, times(1.005), Same},
		{"too few", rising[:10], times(2)[:10], Unjudged},
		{"one stalled round decides nothing", repeat(5, 12), append(repeat(5, 11), 0.001), Same},
		{"nothing measured", repeat(0, 12), repeat(0, 12), Unjudged},
		{"none", nil, nil, Unjudged},
		{"too many", repeat(1, MaxPairs+1), repeat(2, MaxPairs+1), Unjudged},
	} {
		j := Judge(c.base, c.other, DefaultLeast)
		if j.Verdict != c.verdict {
			t.Errorf("%s: %+v, want %q", c.name, j, c.verdict)
		}
		if j.Verdict == Unjudged && j.Reason == "" {
			t.Errorf("%s: not judged without a reason", c.name)
		}
		if math.IsNaN(j.Ratio) || math.IsInf(j.Ratio, 0) {
			t.Errorf("%s: ratio %v cannot be written as JSON", c.name, j.Ratio)
		}
	}
}

func TestJudgeSaysTheRatio(t *testing.T) {
	base := []float64{90, 100, 110, 95, 105, 97, 103, 99, 101, 98, 102}
	other := slices.Clone(base)
	for i := range other {
		other[i] *= 1.25
	}
	j := Judge(base, other, DefaultLeast)
	if math.Abs(j.Ratio-1.25) > 1e-9 || *j.Low > 1.25+1e-9 || *j.High < 1.25-1e-9 || j.MedianBase != 100 || math.Abs(j.MedianOther-125) > 1e-9 {
		t.Errorf("%+v, %v .. %v", j, *j.Low, *j.High)
	}
}

func TestSwappingSidesInvertsTheRatio(t *testing.T) {
	a := []float64{3, 4, 5, 4, 3, 4, 5, 6, 4, 3, 4}
	b := []float64{4, 5, 5.5, 5, 4, 5.2, 6, 7, 5, 4, 5}
	x, y := Judge(a, b, DefaultLeast), Judge(b, a, DefaultLeast)
	if math.Abs(x.Ratio*y.Ratio-1) > 1e-9 || x.Chance != y.Chance || x.Verdict != Higher || y.Verdict != Lower {
		t.Errorf("%+v and %+v", x, y)
	}
}

func TestPairsWithoutAValueAreLeftOut(t *testing.T) {
	base, other := repeat(5, 13), repeat(6, 13)
	base[0], other[3] = 0, math.NaN()
	if j := Judge(base, other, DefaultLeast); j.Pairs != 11 || j.Verdict != Higher {
		t.Errorf("%+v", j)
	}
}

func TestOrderIsBalancedAndDrawn(t *testing.T) {
	places := make([]int, 20)
	for seed := range uint64(400) {
		firsts := 0
		for i, b := range Order(20, seed) {
			if b {
				firsts++
				places[i]++
			}
		}
		if firsts != 10 {
			t.Fatalf("seed %d: B goes first in %d of 20 pairs", seed, firsts)
		}
	}
	for i, n := range places {
		if n < 140 || n > 260 {
			t.Errorf("pair %d: B goes first for %d of 400 seeds", i, n)
		}
	}
	if !slices.Equal(Order(20, 5), Order(20, 5)) {
		t.Error("one seed gives two orders")
	}
	if n := len(Order(7, 1)); n != 7 {
		t.Errorf("%d of 7 pairs", n)
	}
}
