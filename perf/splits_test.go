package perf

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"testing"
	"time"
)

// recordedFigures are what testdata/aa-rounds.json has of each round.
var recordedFigures = []Figure{
	{Name: "rate", Better: MoreIsBetter, Judged: true},
	{Name: "p50", Better: LessIsBetter, Judged: true},
	{Name: "p99", Better: LessIsBetter, Judged: true},
	{Name: "cpu", Better: LessIsBetter, Judged: true},
}

type recordedLoad struct {
	name   string
	rounds []Round
}

// Real rounds of one broker, recorded on different days by different clients.
const (
	recordedBefore = "testdata/aa-rounds.json"       // what the method was chosen on
	recordedByUs   = "testdata/aa-bench-rounds.json" // by ringmain bench, after that
)

// recordedRounds reads the rounds of a recording, in order of time.
func recordedRounds(t *testing.T, path string) []recordedLoad {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Loads []struct {
			Name   string    `json:"name"`
			Rounds []Reading `json:"rounds"`
		} `json:"loads"`
	}
	if err := json.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	var loads []recordedLoad
	for _, l := range file.Loads {
		load := recordedLoad{name: l.Name}
		for _, r := range l.Rounds {
			load.rounds = append(load.rounds, Round{time.Unix(0, int64(1e9*r["at"])), r})
		}
		if len(load.rounds) < 60 {
			t.Fatalf("%s: %d rounds, want 60 or more", l.Name, len(load.rounds))
		}
		loads = append(loads, load)
	}
	if len(loads) != 2 {
		t.Fatalf("%d loads, want 2", len(loads))
	}
	return loads
}

// split gives the rounds of one broker to two sides.
type split func(r *rand.Rand, rounds []Round) (a, b []Round)

// drawn is what AB does: pairs of neighbours, the order within them drawn. Which
// stretch of the recording they cover is drawn too.
func drawn(pairs int) split {
	return func(r *rand.Rand, rounds []Round) (a, b []Round) {
		from := r.IntN(len(rounds) - 2*pairs + 1)
		for i, swapped := range Order(pairs, r.Uint64()) {
			x, y := rounds[from+2*i], rounds[from+2*i+1]
			if swapped {
				x, y = y, x
			}
			a, b = append(a, x), append(b, y)
		}
		return a, b
	}
}

// anyHalf gives a random half of all rounds to each side, wherever they lie:
// what results are like that were not measured by AB.
func anyHalf(r *rand.Rand, rounds []Round) (a, b []Round) {
	for place, i := range r.Perm(len(rounds)) {
		if place < len(rounds)/2 {
			a = append(a, rounds[i])
		} else {
			b = append(b, rounds[i])
		}
	}
	return a, b
}

func TestRecordedRoundsOfOneBrokerAreTheSame(t *testing.T) {
	const splits = 10_000
	for _, load := range append(recordedRounds(t, recordedBefore), recordedRounds(t, recordedByUs)...) {
		for _, rule := range []struct {
			name string
			of   split
		}{
			{"12 pairs of neighbours", drawn(12)},
			{"20 pairs of neighbours", drawn(20)},
			{"33 pairs of neighbours", drawn(33)},
			{"any half", anyHalf},
		} {
			r := rand.New(rand.NewPCG(1, 60))
			wrong, judged, by := 0, 0, map[string]int{}
			for range splits {
				a, b := rule.of(r, load.rounds)
				// Every change counts: DefaultLeast would only make it fewer.
				c, err := Compare([]Side{{Rounds: a}, {Rounds: b}}, recordedFigures, 0)
				if err != nil {
					t.Fatal(err)
				}
				if c.Rows[0].Against[0].Verdict != Unjudged {
					judged++
				}
				if c.Different() {
					wrong++
				}
				for _, row := range c.Rows {
					if v := row.Against[0].Verdict; v == Higher || v == Lower {
						by[row.Figure.Name]++
					}
				}
			}
			t.Logf("%s, %s: %d of %d called different, %d judged; by figure: %v", load.name, rule.name, wrong, splits, judged, by)
			if wrong >= splits/100 {
				t.Errorf("%s, %s: %d of %d splits of one broker were called different", load.name, rule.name, wrong, splits)
			}
			if judged < splits*9/10 {
				t.Errorf("%s, %s: %d of %d splits were judged at all", load.name, rule.name, judged, splits)
			}
		}
	}
}

// found is how often a planted change of one figure is found. The pairs are
// drawn from the recorded ones with replacement, so that there can be more of
// them than were recorded.
func found(rounds []Round, figure string, factor float64, pairs int) float64 {
	const runs = 1000
	r := rand.New(rand.NewPCG(2, uint64(pairs)))
	hits := 0
	base, other := make([]float64, pairs), make([]float64, pairs)
	for range runs {
		for i, swapped := range Order(pairs, r.Uint64()) {
			k := r.IntN(len(rounds)/2) * 2
			x, y := rounds[k].Values[figure], rounds[k+1].Values[figure]
			if swapped {
				x, y = y, x
			}
			base[i], other[i] = x, y*factor
		}
		v := Judge(base, other, DefaultLeast).Verdict
		if v == Higher && factor > 1 || v == Lower && factor < 1 {
			hits++
		}
	}
	return float64(hits) / runs
}

// The rounds below are from a machine on which others worked, whose throughput
// moved by a fifth from round to round. What they can find is what to expect
// there; a quieter machine needs far fewer.
func TestPlantedDifferencesAreFound(t *testing.T) {
	loads := recordedRounds(t, recordedBefore)
	for _, c := range []struct {
		load   int
		figure string
		factor float64
		pairs  int
	}{
		{0, "cpu", 0.9, 20},
		{0, "cpu", 0.95, 60},
		{0, "rate", 1.1, 80},
		{0, "rate", 1.25, 20},
		{0, "p99", 0.7, 40},
		{1, "p50", 0.8, 40},
		{1, "cpu", 0.9, 60},
		{1, "p99", 0.5, 60},
	} {
		if share := found(loads[c.load].rounds, c.figure, c.factor, c.pairs); share < 0.8 {
			t.Errorf("%s, %s x %v: found by %d pairs in %.0f %% of the runs", loads[c.load].name, c.figure, c.factor, c.pairs, 100*share)
		} else {
			t.Logf("%s, %s x %v: found by %d pairs in %.0f %% of the runs", loads[c.load].name, c.figure, c.factor, c.pairs, 100*share)
		}
	}
}
