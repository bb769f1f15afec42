package bench

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// SLO is a bound of latency that a share of all operations keeps.
type SLO struct {
	Percentile float64 // above 0, up to 100
	Bound      time.Duration
}

// ParseSLO reads a bound such as p99=10ms or p99.9=500us.
func ParseSLO(text string) (SLO, error) {
	left, right, ok := strings.Cut(text, "=")
	share, isPercentile := strings.CutPrefix(left, "p")
	percentile, err := strconv.ParseFloat(share, 64)
	bound, errBound := time.ParseDuration(right)
	switch {
	case !ok || !isPercentile || err != nil || errBound != nil:
		return SLO{}, fmt.Errorf("%q is not a bound of latency such as p99=10ms", text)
	case !(percentile > 0 && percentile <= 100):
		return SLO{}, fmt.Errorf("%q: there are percentiles above 0 up to 100", text)
	case bound < time.Microsecond || bound > time.Minute:
		return SLO{}, fmt.Errorf("%q: bounds are from 1us to 1m", text)
	}
	return SLO{percentile, bound}, nil
}

// String is the text that ParseSLO reads.
func (s SLO) String() string {
	return "p" + strconv.FormatFloat(s.Percentile, 'f', -1, 64) + "=" + s.Bound.String()
}
