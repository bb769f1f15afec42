package perf

import (
	"math"
	"slices"
)

// ranks are Wilcoxon's signed ranks of differences: all that the test looks at.
// They are doubled, so that the mean rank of ties is a whole number.
type ranks struct {
	of       []int // the doubled rank of each difference that is not zero
	positive int   // their sum over the positive differences
	total    int
}

// rank orders the differences by size. Zeros take part in the ranking and in
// neither sum (Pratt's way): dropping them first would let a single difference
// among many zeros look like a whole sample.
func rank(d []float64) ranks {
	order := make([]int, len(d))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int {
		switch a, b := math.Abs(d[i]), math.Abs(d[j]); {
		case a < b:
			return -1
		case a > b:
			return 1
		}
		return 0
	})
	var r ranks
	for from := 0; from < len(order); {
		to := from + 1
		for to < len(order) && math.Abs(d[order[to]]) == math.Abs(d[order[from]]) {
			to++
		}
		doubled := from + 1 + to // twice the mean of ranks from+1 .. to
		for _, i := range order[from:to] {
			if d[i] == 0 {
				continue
			}
			r.of = append(r.of, doubled)
			r.total += doubled
			if d[i] > 0 {
				r.positive += doubled
			}
		}
		from = to
	}
	return r
}

// The table of sums has n*(n+1) entries and is walked n times: MaxPairs bounds it.
//
// chance is the probability that the smaller of the two rank sums is at most
// this small, on either side, when each difference is as likely up as down. It
// is exact, ties included: it counts the sums of all 2^n choices of signs.
func (r ranks) chance() float64 {
	sum := min(r.positive, r.total-r.positive)
	ways := waysOf(r.of, sum)
	var p float64
	for _, w := range ways {
		p += w
	}
	return min(1, 2*p)
}

// waysOf returns, for each sum up to most, the share of all choices of signs
// that have it.
func waysOf(ranks []int, most int) []float64 {
	ways := make([]float64, most+1)
	ways[0] = 1
	for _, k := range ranks {
		for s := most; s >= 0; s-- {
			ways[s] /= 2
			if s >= k {
				ways[s] += ways[s-k] / 2
			}
		}
	}
	return ways
}

// centre is Hodges and Lehmann's estimate of where the differences lie, and the
// interval around it that holds the truth with the given confidence. It belongs
// to the signed ranks: without ties the interval leaves 0 out exactly when
// chance() is at most 1-confidence. With fewer pairs than such a confidence
// needs, the interval is infinite.
func centre(d []float64, confidence float64) (estimate, low, high float64) {
	n := len(d)
	if n == 0 {
		return math.NaN(), math.Inf(-1), math.Inf(1)
	}
	means := make([]float64, 0, n*(n+1)/2)
	for i := range d {
		for j := i; j < n; j++ {
			means = append(means, (d[i]+d[j])/2)
		}
	}
	slices.Sort(means)
	estimate = median(means)
	cut := critical(n, 1-confidence)
	if cut < 0 {
		return estimate, math.Inf(-1), math.Inf(1)
	}
	return estimate, means[cut], means[len(means)-1-cut]
}

// critical is the largest rank sum that is called a difference at this error,
// or -1 when none is. The mean at that position from either end bounds the
// interval.
func critical(n int, errorRate float64) int {
	whole := make([]int, n)
	for i := range whole {
		whole[i] = i + 1
	}
	ways := waysOf(whole, n*(n+1)/4)
	var p float64
	for s, w := range ways {
		if p += w; 2*p > errorRate*(1+rounding) {
			return s - 1
		}
	}
	return len(ways) - 1
}

// rounding is how much sums of probabilities may be off.
const rounding = 1e-9

// median of sorted values; 0 of none.
func median(sorted []float64) float64 {
	n := len(sorted)
	if n == 0 {
		return 0
	}
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}
