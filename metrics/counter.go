package metrics

import (
	"math/bits"
	"sync/atomic"
	"time"
)

// Counter is a number that only grows. The padding keeps two counters that
// different loops write off each other's cache line.
type Counter struct {
	n atomic.Uint64
	_ [56]byte
}

// Add adds n.
func (c *Counter) Add(n uint64) { c.n.Add(n) }

// Inc adds one.
func (c *Counter) Inc() { c.n.Add(1) }

// Load returns the number.
func (c *Counter) Load() uint64 { return c.n.Load() }

// Buckets double from 2^minShift to 2^maxShift nanoseconds: 8 microseconds to
// 34 seconds. Finer ones would show nothing a broker's operator acts on, and
// every bucket is a series for each API.
const (
	minShift = 13
	maxShift = 35
	buckets  = maxShift - minShift + 1 // and one for what is longer
)

// Histogram counts durations in buckets that double. The zero value is ready.
type Histogram struct {
	counts [buckets + 1]atomic.Uint64
	sumNs  atomic.Uint64
}

// Observe counts one duration; a negative one, from a clock that was set
// back, counts as zero.
func (h *Histogram) Observe(d time.Duration) {
	ns := uint64(max(d, 0))
	h.counts[bucket(ns)].Add(1)
	h.sumNs.Add(ns)
}

// bucket returns the smallest i with ns <= 2^(minShift+i), or buckets.
func bucket(ns uint64) int {
	if ns <= 1<<minShift {
		return 0
	}
	return min(bits.Len64(ns-1)-minShift, buckets)
}

// reading is a histogram at one moment, in the form Prometheus wants.
type reading struct {
	count uint64
	sum   float64            // seconds
	upTo  map[float64]uint64 // cumulative, by upper bound in seconds
}

func (r *reading) add(h *Histogram) {
	if r.upTo == nil {
		r.upTo = make(map[float64]uint64, buckets)
	}
	var sofar uint64
	for i := range buckets {
		sofar += h.counts[i].Load()
		r.upTo[upperBound(i)] += sofar
	}
	// The total is that of the buckets, not a counter of its own, so that the
	// two agree however a scrape falls between two writes.
	r.count += sofar + h.counts[buckets].Load()
	r.sum += float64(h.sumNs.Load()) / 1e9
}

func upperBound(i int) float64 { return float64(uint64(1)<<(minShift+i)) / 1e9 }
