package pace

import (
	"fmt"
	"math"
	"time"
)

// Schedule yields one worker's intended send times: evenly spaced, and shifted
// against those of the other workers so that all together are evenly spaced too.
// Without the shift all workers would send at the same instant, and a broker
// would be measured under bursts that nobody asked for.
type Schedule struct {
	start  time.Duration
	period float64 // between two sends of this worker, ns
	phase  float64 // of the first send after start, ns
	next   int64
}

// New returns the schedule of worker (0 <= worker < workers) of a load that
// sends perSecond in all, beginning now. A load without bound has no schedule:
// perSecond must be more than 0.
func New(perSecond float64, worker, workers int) *Schedule {
	return Starting(Now(), perSecond, worker, workers)
}

// Starting is New with the time at which the load begins, the same for all
// workers: their interleaving is exact only then.
func Starting(start time.Duration, perSecond float64, worker, workers int) *Schedule {
	if !(perSecond > 0) || math.IsInf(perSecond, 0) || worker < 0 || worker >= workers {
		panic(fmt.Sprintf("pace: a schedule of %v sends a second for worker %d of %d", perSecond, worker, workers))
	}
	all := float64(time.Second) / perSecond
	return &Schedule{start: start, period: all * float64(workers), phase: all * float64(worker)}
}

// Next is the next intended send time. Times are multiples of the period, not
// sums of it, so rounding does not add up.
func (s *Schedule) Next() time.Duration {
	at := s.at(s.next)
	s.next++
	return at
}

// Peek is what Next will return.
func (s *Schedule) Peek() time.Duration { return s.at(s.next) }

// Due is how many sends are intended up to and at now and were not taken yet.
func (s *Schedule) Due(now time.Duration) int64 {
	n := int64(math.Floor((float64(now-s.start)-s.phase)/s.period)) + 1
	// The division can be off by one where now is a send time itself.
	for n > s.next && s.at(n-1) > now {
		n--
	}
	for s.at(max(n, s.next)) <= now {
		n = max(n, s.next) + 1
	}
	return max(n-s.next, 0)
}

// Period is the time between two sends of this worker.
func (s *Schedule) Period() time.Duration { return time.Duration(s.period) }

func (s *Schedule) at(n int64) time.Duration {
	return s.start + time.Duration(math.Round(s.phase+float64(n)*s.period))
}
