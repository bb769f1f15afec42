package latency

import (
	"fmt"
	"math"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// What a histogram holds, in microseconds. The bounds and the digits decide its
// size: 140 KiB.
const (
	LowestUs  = 1
	HighestUs = 60_000_000
	Digits    = 3
)

// Snapshot is a set of recorded operations. The zero Snapshot is empty and
// ready for use. It is not safe for concurrent use while it is added to.
type Snapshot struct {
	corrected, uncorrected *hdrhistogram.Histogram

	// LateSends are the operations that were sent more than LateAfter after
	// their intended time.
	LateSends int64
	// Clamped are the operations that took longer than HighestUs (and were
	// recorded as that long), or less than no time (recorded as LowestUs).
	Clamped int64
}

func newHistogram() *hdrhistogram.Histogram {
	return hdrhistogram.New(LowestUs, HighestUs, Digits)
}

// Count is the number of operations.
func (s *Snapshot) Count() int64 {
	if s.corrected == nil {
		return 0
	}
	return s.corrected.TotalCount()
}

// Add puts the operations of other into s too.
func (s *Snapshot) Add(other *Snapshot) {
	if other.corrected == nil {
		return
	}
	s.prepare()
	// All histograms have the same bounds: nothing can be dropped.
	s.corrected.Merge(other.corrected)
	s.uncorrected.Merge(other.uncorrected)
	s.LateSends += other.LateSends
	s.Clamped += other.Clamped
}

func (s *Snapshot) prepare() {
	if s.corrected == nil {
		s.corrected, s.uncorrected = newHistogram(), newHistogram()
	}
}

// Merge is the sum of snapshots, a new one.
func Merge(snapshots ...*Snapshot) *Snapshot {
	sum := &Snapshot{}
	for _, s := range snapshots {
		sum.Add(s)
	}
	return sum
}

// Percentiles sum up a histogram, in microseconds. A percentile of a histogram
// is the highest value that its digits cannot tell from the exact one.
type Percentiles struct {
	Count int64   `json:"count"`
	Min   int64   `json:"min_us"`
	Mean  float64 `json:"mean_us"`
	P50   int64   `json:"p50_us"`
	P90   int64   `json:"p90_us"`
	P99   int64   `json:"p99_us"`
	P999  int64   `json:"p999_us"`
	P9999 int64   `json:"p9999_us"`
	Max   int64   `json:"max_us"`
}

// Corrected sums up the times since the intended sends.
func (s *Snapshot) Corrected() Percentiles { return percentiles(s.corrected) }

// Uncorrected sums up the times since the actual sends.
func (s *Snapshot) Uncorrected() Percentiles { return percentiles(s.uncorrected) }

func percentiles(h *hdrhistogram.Histogram) Percentiles {
	if h == nil || h.TotalCount() == 0 {
		return Percentiles{}
	}
	v := h.ValueAtPercentilesSlice([]float64{50, 90, 99, 99.9, 99.99})
	return Percentiles{
		Count: h.TotalCount(),
		Min:   h.Min(),
		Mean:  math.Round(h.Mean()*10) / 10,
		P50:   v[0], P90: v[1], P99: v[2], P999: v[3], P9999: v[4],
		Max: h.Max(),
	}
}

// At is the time within which the given percentage of the operations were done,
// in microseconds; 0 if there were none.
func (s *Snapshot) At(percentile float64) (correctedUs, uncorrectedUs int64) {
	if s.Count() == 0 {
		return 0, 0
	}
	return s.corrected.ValueAtPercentile(percentile), s.uncorrected.ValueAtPercentile(percentile)
}

// Point is one point of a percentile curve.
type Point struct {
	Percentile  float64 `json:"percentile"`
	Corrected   int64   `json:"corrected_us"`
	Uncorrected int64   `json:"uncorrected_us"`
}

// curveEnds is how many halvings of what is left a curve goes: 2^-20 is one in a
// million.
const curveEnds = 20

// Curve is both distributions as a curve with points ever closer to 100: each
// halves what the one before left over, with one in between, for as long as
// there is at least one operation beyond the point. The last point is the
// maximum.
func (s *Snapshot) Curve() []Point {
	n := s.Count()
	if n == 0 {
		return nil
	}
	points := []Point{{Corrected: s.corrected.Min(), Uncorrected: s.uncorrected.Min()}}
	var at []float64
	for rest := 0.5; rest > math.Pow(2, -curveEnds) && rest*float64(n) >= 1; rest /= 2 {
		at = append(at, 100*(1-1.5*rest), 100*(1-rest))
	}
	if len(at) > 0 {
		c, u := s.corrected.ValueAtPercentilesSlice(at), s.uncorrected.ValueAtPercentilesSlice(at)
		for i, p := range at {
			points = append(points, Point{p, c[i], u[i]})
		}
	}
	return append(points, Point{100, s.corrected.Max(), s.uncorrected.Max()})
}

// Encode is the corrected (or the uncorrected) histogram in HdrHistogram's V2
// format, compressed, in base64; "" if it is empty.
func (s *Snapshot) Encode(corrected bool) (string, error) {
	if s.Count() == 0 {
		return "", nil
	}
	h := s.uncorrected
	if corrected {
		h = s.corrected
	}
	text, err := h.EncodeV2()
	if err != nil {
		return "", fmt.Errorf("encode a histogram of %d values: %w", h.TotalCount(), err)
	}
	return string(text), nil
}

// Decode reads what Encode wrote: first the corrected, then the uncorrected
// histogram. An empty text is a histogram without values.
func Decode(corrected, uncorrected string) (*Snapshot, error) {
	s := &Snapshot{}
	s.prepare()
	for _, part := range []struct {
		name, text string
		into       *hdrhistogram.Histogram
	}{{"corrected", corrected, s.corrected}, {"uncorrected", uncorrected, s.uncorrected}} {
		if part.text == "" {
			continue
		}
		h, err := hdrhistogram.Decode([]byte(part.text))
		if err != nil {
			return nil, fmt.Errorf("decode the %s histogram: %w", part.name, err)
		}
		if dropped := part.into.Merge(h); dropped > 0 {
			return nil, fmt.Errorf("decode the %s histogram: %d values are not between %d and %d microseconds", part.name, dropped, LowestUs, HighestUs)
		}
	}
	return s, nil
}
