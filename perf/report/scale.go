package report

import (
	"fmt"
	"math"
	"strconv"
)

// tick is a labelled place on an axis.
type tick struct {
	at    float64
	label string
}

// scale maps values of one axis to 0..1.
type scale struct {
	place func(v float64) float64
	ticks []tick
}

// maxTicks bounds the labels of an axis, so that they stay apart on a phone.
const maxTicks = 6

// linear covers 0 to at least high, in steps of 1, 2 or 5 times a power of ten.
func linear(high float64) scale {
	if !(high > 0) {
		high = 1
	}
	step := math.Pow(10, math.Floor(math.Log10(high)))
	for _, f := range []float64{0.1, 0.2, 0.5, 1, 2, 5} {
		if high/(step*f) <= maxTicks-1 {
			step *= f
			break
		}
	}
	n := int(math.Ceil(high/step - 1e-9))
	top := float64(n) * step
	s := scale{place: func(v float64) float64 { return v / top }}
	for i := range n + 1 {
		v := float64(i) * step
		s.ticks = append(s.ticks, tick{v, number(v)})
	}
	return s
}

// logarithmic covers low to high with labels at powers of ten, and between them
// where there are few.
func logarithmic(low, high float64, label func(float64) string) scale {
	if !(low > 0) || !(high > 0) {
		low, high = 1, 10
	}
	from, to := roundDown(low), roundUp(high)
	if from >= to {
		to = from * 10
	}
	base := math.Log(from)
	width := math.Log(to) - base
	s := scale{place: func(v float64) float64 {
		if v < from {
			return 0 // an axis of logarithms has no 0 and below
		}
		return (math.Log(v) - base) / width
	}}
	decades := math.Log10(to / from)
	multiples := []float64{1, 2, 5}
	if decades > 2 {
		multiples = multiples[:1]
	}
	every := int(math.Ceil(decades / (maxTicks - 1)))
	for e := math.Floor(math.Log10(from)); e <= math.Ceil(math.Log10(to)); e += float64(max(every, 1)) {
		for _, m := range multiples {
			if v := m * math.Pow(10, e); v >= from*(1-1e-9) && v <= to*(1+1e-9) {
				s.ticks = append(s.ticks, tick{v, label(v)})
			}
		}
	}
	return s
}

// roundDown and roundUp go to the next 1, 2 or 5 times a power of ten.
func roundDown(v float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(v)))
	for _, m := range []float64{5, 2} {
		if v >= m*power*(1-1e-9) {
			return m * power
		}
	}
	return power
}

func roundUp(v float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(v)))
	for _, m := range []float64{1, 2, 5} {
		if v <= m*power*(1+1e-9) {
			return m * power
		}
	}
	return 10 * power
}

// percentiles is the axis of the share of requests, stretched towards 100 %: each
// step to the right leaves a tenth of the slower ones.
func percentiles() scale {
	width := nines(lastPercentile)
	s := scale{place: func(q float64) float64 { return min(nines(q)/width, 1) }}
	for _, q := range []float64{0, 50, 90, 99, 99.9, lastPercentile} {
		s.ticks = append(s.ticks, tick{q, strconv.FormatFloat(q, 'f', -1, 64)})
	}
	return s
}

// lastPercentile is where the axis ends.
const lastPercentile = 99.99

func nines(q float64) float64 { return -math.Log10(1 - min(q, 99.9999)/100) }

// number is v with as many digits as a reader wants.
func number(v float64) string {
	switch a := math.Abs(v); {
	case a >= 1e9:
		return trim(v/1e9) + "G"
	case a >= 1e6:
		return trim(v/1e6) + "M"
	case a >= 1e4:
		return trim(v/1e3) + "k"
	}
	return trim(v)
}

// trim keeps three digits that count and no zeros behind the point.
func trim(v float64) string {
	switch a := math.Abs(v); {
	case a == 0:
		return "0"
	case a >= 100:
		return strconv.FormatFloat(math.Round(v), 'f', -1, 64)
	}
	s, _ := strconv.ParseFloat(fmt.Sprintf("%.3g", v), 64)
	return strconv.FormatFloat(s, 'f', -1, 64)
}

// duration is microseconds in the unit that fits.
func duration(us float64) string {
	switch {
	case us >= 1e6:
		return trim(us/1e6) + " s"
	case us >= 1e3:
		return trim(us/1e3) + " ms"
	}
	return trim(us) + " µs"
}
