package perf

import (
	"math"
	"math/rand/v2"
	"testing"
)

// The noises of this file are logarithms of a figure over time, as machines
// that are shared make them. Each is far from the independent values of one
// distribution that textbooks assume.
var noises = []struct {
	name string
	make func(r *rand.Rand, x []float64)
}{
	{"independent", func(r *rand.Rand, x []float64) {
		for i := range x {
			x[i] = 0.08 * r.NormFloat64()
		}
	}},
	{"autocorrelated", func(r *rand.Rand, x []float64) {
		const keep = 0.95
		level := 0.2 * r.NormFloat64()
		for i := range x {
			level = keep*level + 0.2*math.Sqrt(1-keep*keep)*r.NormFloat64()
			x[i] = level + 0.03*r.NormFloat64()
		}
	}},
	{"random walk", func(r *rand.Rand, x []float64) {
		level := 0.0
		for i := range x {
			level += 0.05 * r.NormFloat64()
			x[i] = level + 0.03*r.NormFloat64()
		}
	}},
	{"two speeds", func(r *rand.Rand, x []float64) {
		slow := r.IntN(2)
		for i := range x {
			if r.Float64() < 0.15 {
				slow = 1 - slow
			}
			x[i] = -0.5*float64(slow) + 0.04*r.NormFloat64()
		}
	}},
	{"stalls", func(r *rand.Rand, x []float64) {
		for i := range x {
			x[i] = 0.06 * r.NormFloat64()
			if r.Float64() < 0.15 {
				x[i] -= 0.6 * r.ExpFloat64()
			}
		}
	}},
	{"trend", func(r *rand.Rand, x []float64) {
		slope := 0.02 * r.NormFloat64()
		for i := range x {
			x[i] = slope*float64(i) + 0.05*r.NormFloat64()
		}
	}},
	{"two slow of every four", func(r *rand.Rand, x []float64) {
		phase := r.IntN(4)
		for i := range x {
			x[i] = 0.04 * r.NormFloat64()
			if (i+phase)%4 < 2 {
				x[i] -= 0.1
			}
		}
	}},
	{"the second of a pair is slower", func(r *rand.Rand, x []float64) {
		for i := range x {
			x[i] = 0.05*r.NormFloat64() - 0.1*float64(i%2)
		}
	}},
}

// sides gives the rounds of one run, in order of time, to the two sides.
func sides(rounds []float64, otherFirst []bool) (base, other []float64) {
	for i, swapped := range otherFirst {
		first, second := rounds[2*i], rounds[2*i+1]
		if swapped {
			first, second = second, first
		}
		base, other = append(base, first), append(other, second)
	}
	return base, other
}

// calledDifferent is how often runs of equal sides are called different.
func calledDifferent(runs, pairs int, noise func(*rand.Rand, []float64), order func(seed uint64) []bool) float64 {
	r := rand.New(rand.NewPCG(11, uint64(pairs)))
	x := make([]float64, 2*pairs)
	wrong := 0
	for seed := range uint64(runs) {
		noise(r, x)
		rounds := make([]float64, len(x))
		for i := range x {
			rounds[i] = math.Exp(x[i])
		}
		base, other := sides(rounds, order(seed))
		// Every change counts here: a least change would hide the test's error.
		if v := Judge(base, other, 0).Verdict; v == Higher || v == Lower {
			wrong++
		}
	}
	return float64(wrong) / float64(runs)
}

func TestEqualSidesUnderEveryNoise(t *testing.T) {
	const runs = 4000
	for _, noise := range noises {
		for _, pairs := range []int{12, 20} {
			share := calledDifferent(runs, pairs, noise.make, func(seed uint64) []bool { return Order(pairs, seed) })
			// Six wrong ones are expected; this many are bad luck once in 2,000.
			if share > 15.0/runs {
				t.Errorf("%s, %d pairs: %.2f %% called different, promised %.2f %%", noise.name, pairs, 100*share, 100*errorRate)
			}
		}
	}
}

// The reason for drawing the order: what looks fair, ABBA, is in step with a
// disturbance of the same length.
func TestFixedOrderWouldBeWrong(t *testing.T) {
	const pairs = 20
	abba := func(uint64) []bool {
		order := make([]bool, pairs)
		for i := range order {
			order[i] = i%2 == 1
		}
		return order
	}
	for _, noise := range noises {
		if noise.name != "two slow of every four" {
			continue
		}
		if share := calledDifferent(500, pairs, noise.make, abba); share < 0.2 {
			t.Errorf("ABBA is wrong in %.1f %% of the runs only: the drawn order has lost its reason", 100*share)
		}
	}
}
