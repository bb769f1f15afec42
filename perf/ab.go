package perf

import (
	"context"
	"fmt"
	"time"
)

// Contender is one side of an A/B comparison and the way to measure it.
type Contender struct {
	Name string
	// Round measures one round. Rounds of both sides never overlap.
	Round func(ctx context.Context) (Reading, error)
}

// Plan is how an A/B comparison is carried out.
type Plan struct {
	Pairs   int    // rounds of each side
	Seed    uint64 // of the order
	Least   float64
	Figures []Figure
	// Before, if set, is told of each round before it begins: which of how many,
	// and whose.
	Before func(round, rounds int, name string)
}

// Check says what is wrong with a plan before any time is spent on it.
func (p Plan) Check() error {
	if p.Pairs < MinPairs || p.Pairs > MaxPairs {
		return fmt.Errorf("%d pairs of rounds: a verdict needs from %d to %d", p.Pairs, MinPairs, MaxPairs)
	}
	_, err := Compare([]Side{{}, {}}, p.Figures, p.Least)
	return err
}

// AB measures a and b in pairs of neighbouring rounds and compares b with a. An
// error of a round ends it: the comparison then holds the pairs that were
// complete, which may be too few for a verdict.
func AB(ctx context.Context, a, b Contender, p Plan) (Comparison, error) {
	if err := p.Check(); err != nil {
		return Comparison{}, err
	}
	sides := []Side{{Name: a.Name}, {Name: b.Name}}
	var failure error
	for i, swapped := range Order(p.Pairs, p.Seed) {
		pair, err := p.pair(ctx, []Contender{a, b}, swapped, 2*i)
		if err != nil {
			failure = err
			break
		}
		for s := range sides {
			sides[s].Rounds = append(sides[s].Rounds, pair[s])
		}
	}
	c, err := Compare(sides, p.Figures, p.Least)
	if failure != nil {
		err = failure
	}
	return c, err
}

// pair measures one round of each contender. The rounds are in the order of
// the contenders, whoever went first.
func (p Plan) pair(ctx context.Context, contenders []Contender, swapped bool, done int) ([2]Round, error) {
	var rounds [2]Round
	for k := range 2 {
		who := k
		if swapped {
			who = 1 - k
		}
		c := contenders[who]
		if err := ctx.Err(); err != nil {
			return rounds, err
		}
		if p.Before != nil {
			p.Before(done+k+1, 2*p.Pairs, c.Name)
		}
		at := time.Now()
		values, err := c.Round(ctx)
		if err != nil {
			return rounds, fmt.Errorf("round %d of %d, %s: %w", done+k+1, 2*p.Pairs, c.Name, err)
		}
		rounds[who] = Round{At: at, Values: values}
	}
	return rounds, nil
}
