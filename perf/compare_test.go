package perf

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"
	"time"
)

var (
	rate  = Figure{Name: "rate", Unit: "/s", Better: MoreIsBetter, Judged: true}
	p99   = Figure{Name: "p99", Unit: "us", Better: LessIsBetter, Judged: true}
	worst = Figure{Name: "max", Unit: "us", Better: LessIsBetter}
)

// side makes rounds, a second apart, whose figures are the given values times 1,
// 1.01, 1.02 ...
func side(name string, rounds int, values Reading) Side {
	s := Side{Name: name}
	for i := range rounds {
		at := time.Unix(int64(i), int64(len(name)))
		r := Reading{}
		for k, v := range values {
			r[k] = v * (1 + 0.01*float64(i))
		}
		s.Rounds = append(s.Rounds, Round{at, r})
	}
	return s
}

func TestCompareSaysBetterAndWorse(t *testing.T) {
	c, err := Compare([]Side{
		side("old", 12, Reading{"rate": 100, "p99": 10, "max": 5}),
		side("new", 12, Reading{"rate": 120, "p99": 12, "max": 50}),
		side("again", 12, Reading{"rate": 100, "p99": 10, "max": 5}),
	}, []Figure{rate, p99, worst, {Name: "nobody measured this"}}, DefaultLeast)
	if err != nil {
		t.Fatal(err)
	}
	want := [][]string{{"better", "no difference"}, {"worse", "no difference"}, {"not judged", "not judged"}}
	if len(c.Rows) != len(want) {
		t.Fatalf("%d rows", len(c.Rows))
	}
	for i, row := range c.Rows {
		for k, j := range row.Against {
			if got := row.Word(j); got != want[i][k] {
				t.Errorf("%s, side %d: %q, want %q", row.Figure.Name, k+1, got, want[i][k])
			}
		}
	}
	if !c.Different() {
		t.Error("nothing differs")
	}
	if _, err := json.Marshal(c); err != nil {
		t.Error(err)
	}
}

func TestSingleRunsAreShownAndNotJudged(t *testing.T) {
	for _, rounds := range [][2]int{{1, 1}, {3, 12}, {12, 0}} {
		c, err := Compare([]Side{side("a", rounds[0], Reading{"rate": 100}), side("b", rounds[1], Reading{"rate": 900})}, []Figure{rate}, 0)
		if err != nil {
			t.Fatal(err)
		}
		j := c.Rows[0].Against[0]
		if c.Different() || j.Verdict != Unjudged || j.Reason == "" {
			t.Errorf("%v rounds: %+v", rounds, j)
		}
		if _, err := json.Marshal(c); err != nil {
			t.Errorf("%v rounds: %v", rounds, err)
		}
	}
}

func TestCompareRefuses(t *testing.T) {
	two := []Side{side("a", 1, nil), side("b", 1, nil)}
	for _, c := range []struct {
		sides   []Side
		figures []Figure
		least   float64
		text    string
	}{
		{two[:1], nil, 0, "two or more"},
		{two, nil, 1, "least change 1"},
		{two, nil, -0.1, "least change -0.1"},
		{two, []Figure{rate, rate, rate, rate, rate}, 0, "5 figures"},
	} {
		if _, err := Compare(c.sides, c.figures, c.least); err == nil || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%v, want something about %q", err, c.text)
		}
	}
}

// rounds makes rounds of one side from their times.
func rounds(values map[int]float64) []Round {
	var out []Round
	for at, v := range values {
		out = append(out, Round{time.Unix(int64(at), 0), Reading{"rate": v}})
	}
	return out
}

func TestOnlyNeighboursArePairs(t *testing.T) {
	//          twos: (1a 2b) (3b 4a) (5a 6a) (7b 8b) (9b)
	a, b := neighbours(rounds(map[int]float64{1: 10, 4: 40, 5: 50, 6: 60}), rounds(map[int]float64{2: 20, 3: 30, 7: 70, 8: 80, 9: 90}), "rate")
	if !slices.Equal(a, []float64{10, 40}) || !slices.Equal(b, []float64{20, 30}) {
		t.Errorf("%v and %v", a, b)
	}
}

func TestOneSideAfterTheOtherIsNotJudged(t *testing.T) {
	early, late := side("a", 30, Reading{"rate": 100}), side("b", 30, Reading{"rate": 200})
	for i := range late.Rounds {
		late.Rounds[i].At = late.Rounds[i].At.Add(time.Hour)
	}
	c, err := Compare([]Side{early, late}, []Figure{rate}, 0)
	if err != nil {
		t.Fatal(err)
	}
	j := c.Rows[0].Against[0]
	if j.Verdict != Unjudged || !strings.Contains(j.Reason, "next to each other") || math.Abs(j.Ratio-2) > 1e-9 {
		t.Errorf("%+v", j)
	}
}
