package perf

import (
	"math"
	"math/rand/v2"
	"testing"
)

// chanceByCounting tries every choice of signs.
func chanceByCounting(d []float64) float64 {
	r := rank(d)
	seen := min(r.positive, r.total-r.positive)
	hits, all := 0, 1<<len(r.of)
	for signs := range all {
		sum := 0
		for i, k := range r.of {
			if signs>>i&1 == 1 {
				sum += k
			}
		}
		if sum <= seen || r.total-sum <= seen {
			hits++
		}
	}
	return float64(hits) / float64(all)
}

func TestChanceIsExact(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	for i := range 300 {
		d := make([]float64, 1+r.IntN(12))
		for j := range d {
			d[j] = r.NormFloat64() + 0.7
			if i%2 == 0 {
				d[j] = math.Round(2 * d[j]) // ties and zeros
			}
		}
		got, want := rank(d).chance(), chanceByCounting(d)
		if math.Abs(got-want) > 1e-9 {
			t.Fatalf("%v: chance %v, counted %v", d, got, want)
		}
	}
}

// The critical values are those of any printed table of the signed rank test.
func TestCriticalValues(t *testing.T) {
	for _, c := range []struct {
		n    int
		rate float64
		want int
	}{{5, 0.05, -1}, {6, 0.05, 0}, {10, 0.05, 8}, {10, 0.01, 3}, {20, 0.05, 52}, {20, 0.01, 37}, {MinPairs - 1, errorRate, -1}, {MinPairs, errorRate, 0}} {
		if got := critical(c.n, c.rate); got != c.want {
			t.Errorf("%d pairs at %v: %d, want %d", c.n, c.rate, got, c.want)
		}
	}
}

func TestIntervalAndChanceAgree(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 9))
	differ := 0
	for range 2000 {
		d := make([]float64, 10+r.IntN(20))
		shift := 0.5 * r.NormFloat64()
		for j := range d {
			d[j] = shift + r.NormFloat64()
		}
		estimate, low, high := centre(d, 1-errorRate)
		if !(low <= estimate && estimate <= high) {
			t.Fatalf("%v is not within %v .. %v", estimate, low, high)
		}
		outside := low > 0 || high < 0
		if outside != (rank(d).chance() <= errorRate) {
			t.Fatalf("interval %v .. %v, chance %v", low, high, rank(d).chance())
		}
		if outside {
			differ++
		}
	}
	if differ == 0 || differ == 2000 {
		t.Errorf("%d of 2000 samples differ: the test saw one side only", differ)
	}
}

func TestIntervalHoldsTheTruthAsOftenAsPromised(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 1))
	const samples, truth = 5000, 0.3
	missed := 0
	for range samples {
		d := make([]float64, 14)
		for j := range d {
			d[j] = truth + r.NormFloat64()
		}
		if _, low, high := centre(d, 0.95); low > truth || high < truth {
			missed++
		}
	}
	if share := float64(missed) / samples; share > 0.06 || share < 0.03 {
		t.Errorf("a 95 %% interval missed in %.1f %% of the samples", 100*share)
	}
}

func TestCentreOfNothingIsUnbounded(t *testing.T) {
	if _, low, high := centre(nil, 0.9); !math.IsInf(low, -1) || !math.IsInf(high, 1) {
		t.Errorf("%v .. %v", low, high)
	}
}
