package perf

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
)

// machine is a broker on a machine whose speed wanders, shared by both sides.
type machine struct {
	r     *rand.Rand
	speed float64
	turns []string
}

func (m *machine) contender(name string, factor float64) Contender {
	return Contender{Name: name, Round: func(context.Context) (Reading, error) {
		m.speed *= 1 + 0.03*m.r.NormFloat64()
		m.turns = append(m.turns, name)
		return Reading{"rate": 1000 * factor * m.speed * (1 + 0.02*m.r.NormFloat64())}, nil
	}}
}

func TestABFindsWhatIsThere(t *testing.T) {
	for _, c := range []struct {
		factor float64
		word   string
	}{{1.1, "better"}, {0.9, "worse"}, {1, "no difference"}} {
		m := &machine{r: rand.New(rand.NewPCG(4, 2)), speed: 1}
		var told []string
		got, err := AB(t.Context(), m.contender("old", 1), m.contender("new", c.factor), Plan{
			Pairs: 20, Seed: 9, Least: DefaultLeast, Figures: []Figure{rate},
			Before: func(round, rounds int, name string) {
				if rounds != 40 || round != len(told)+1 {
					t.Errorf("round %d of %d", round, rounds)
				}
				told = append(told, name)
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		if word := got.Rows[0].Word(got.Rows[0].Against[0]); word != c.word {
			t.Errorf("factor %v: %q, want %q (%+v)", c.factor, word, c.word, got.Rows[0].Against[0])
		}
		if strings.Join(told, " ") != strings.Join(m.turns, " ") {
			t.Error("what was told is not what ran")
		}
		for i, swapped := range Order(20, 9) {
			if first := m.turns[2*i]; (first == "new") != swapped {
				t.Errorf("pair %d began with %s", i, first)
			}
		}
	}
}

func TestABStopsAtAnError(t *testing.T) {
	broken := errors.New("connection refused")
	rounds := 0
	side := func(name string) Contender {
		return Contender{Name: name, Round: func(context.Context) (Reading, error) {
			if rounds++; rounds > 23 {
				return nil, broken
			}
			return Reading{"rate": 5}, nil
		}}
	}
	c, err := AB(t.Context(), side("a"), side("b"), Plan{Pairs: 12, Figures: []Figure{rate}})
	if !errors.Is(err, broken) || !strings.Contains(err.Error(), "round 24 of 24") {
		t.Errorf("error %v", err)
	}
	if n := len(c.Sides[0].Rounds); n != 11 || len(c.Sides[1].Rounds) != 11 {
		t.Errorf("%d pairs kept, want the 11 complete ones", n)
	}
}

func TestABStopsWhenTold(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	stop := Contender{Name: "a", Round: func(context.Context) (Reading, error) { cancel(); return Reading{"rate": 5}, nil }}
	c, err := AB(ctx, stop, stop, Plan{Pairs: 12, Figures: []Figure{rate}})
	if !errors.Is(err, context.Canceled) || len(c.Sides[0].Rounds) != 0 {
		t.Errorf("error %v, %d rounds", err, len(c.Sides[0].Rounds))
	}
}

func TestPlanIsCheckedFirst(t *testing.T) {
	never := Contender{Round: func(context.Context) (Reading, error) { t.Fatal("measured"); return nil, nil }}
	for _, p := range []Plan{{Pairs: MinPairs - 1}, {Pairs: MaxPairs + 1}, {Pairs: 12, Least: 2}} {
		if _, err := AB(t.Context(), never, never, p); err == nil {
			t.Errorf("%+v: no error", p)
		}
	}
}
