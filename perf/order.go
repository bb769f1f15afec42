package perf

import "math/rand/v2"

// Order draws who goes first in each of the pairs: true where B does. Each
// side begins equally often (as nearly as pairs allows), so that being first
// costs neither side; which pairs those are is up to the seed alone.
func Order(pairs int, seed uint64) []bool {
	order := make([]bool, pairs)
	for i := range order {
		order[i] = i%2 == 1
	}
	r := rand.New(rand.NewPCG(seed, uint64(pairs)))
	r.Shuffle(pairs, func(i, j int) { order[i], order[j] = order[j], order[i] })
	return order
}
