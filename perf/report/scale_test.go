package report

import (
	"math"
	"strings"
	"testing"
)

func labels(s scale) string {
	var out []string
	for _, t := range s.ticks {
		out = append(out, t.label)
	}
	return strings.Join(out, " ")
}

func TestAxes(t *testing.T) {
	for _, c := range []struct {
		name string
		s    scale
		want string
	}{
		{"linear", linear(23), "0 5 10 15 20 25"},
		{"linear, exact", linear(1), "0 0.2 0.4 0.6 0.8 1"},
		{"linear, thousands", linear(48_000), "0 10k 20k 30k 40k 50k"},
		{"linear of nothing", linear(0), "0 0.2 0.4 0.6 0.8 1"},
		{"one decade", logarithmic(120, 1900, duration), "100 µs 200 µs 500 µs 1 ms 2 ms"},
		{"many decades", logarithmic(15, 9e5, duration), "10 µs 100 µs 1 ms 10 ms 100 ms 1 s"},
		{"one value", logarithmic(100, 100, duration), "100 µs 200 µs 500 µs 1 ms"},
		{"no value", logarithmic(0, 0, number), "1 2 5 10"},
		{"percentiles", percentiles(), "0 50 90 99 99.9 99.99"},
	} {
		if got := labels(c.s); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
		last := -1.0
		for _, tick := range c.s.ticks {
			p := c.s.place(tick.at)
			if p < -1e-9 || p > 1+1e-9 || p <= last {
				t.Errorf("%s: %q is at %v, after %v", c.name, tick.label, p, last)
			}
			last = p
		}
	}
}

func TestLabelsStayFew(t *testing.T) {
	for high := 0.001; high < 1e12; high *= 1.3 {
		if n := len(linear(high).ticks); n < 3 || n > maxTicks {
			t.Errorf("up to %v: %d labels", high, n)
		}
		if n := len(logarithmic(1, 1+high, number).ticks); n < 2 || n > maxTicks+2 {
			t.Errorf("logarithms up to %v: %d labels", high, n)
		}
	}
}

func TestValuesBelowALogarithmicAxis(t *testing.T) {
	for _, v := range []float64{0, -5, 1} {
		if p := logarithmic(100, 1000, number).place(v); p != 0 || math.IsNaN(p) {
			t.Errorf("%v is at %v", v, p)
		}
	}
}

func TestNumbersInWords(t *testing.T) {
	for v, want := range map[float64]string{0: "0", 0.1234: "0.123", 9.999: "10", 123.4: "123", 1204: "1204", 12_040: "12k", 1_450_000: "1.45M", 2.5e9: "2.5G"} {
		if got := number(v); got != want {
			t.Errorf("%v: %q, want %q", v, got, want)
		}
	}
	for us, want := range map[float64]string{99.6: "99.6 µs", 1260: "1.26 ms", 2_500_000: "2.5 s"} {
		if got := duration(us); got != want {
			t.Errorf("%v: %q, want %q", us, got, want)
		}
	}
}
