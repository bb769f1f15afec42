package latency

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// LateAfter is how far behind its intended time a send may be before it is
// counted as late.
const LateAfter = time.Millisecond

// Recorder takes the operations of one worker. Record is for that worker alone;
// Drain may be called by anybody at any time.
//
// There are two halves. The worker records into the active one. A drain makes
// the other one active, waits until the worker has left the half that was
// active, and then has it for itself. The worker never waits.
type Recorder struct {
	active  atomic.Uint32
	entered [2]atomic.Uint64 // written by the worker only
	left    [2]atomic.Uint64
	halves  [2]Snapshot

	draining sync.Mutex // one drain at a time
}

// NewRecorder makes a recorder, with its histograms.
func NewRecorder() *Recorder {
	r := &Recorder{}
	r.halves[0].prepare()
	r.halves[1].prepare()
	return r
}

// Record takes one operation: when it was meant to be sent, when it was sent and
// when it was done.
func (r *Recorder) Record(intended, sent, done time.Duration) {
	half := r.enter()
	s := &r.halves[half]
	corrected, clampedC := microseconds(done - intended)
	uncorrected, clampedU := microseconds(done - sent)
	// Both are within the bounds, so neither can fail.
	_ = s.corrected.RecordValue(corrected)
	_ = s.uncorrected.RecordValue(uncorrected)
	if clampedC || clampedU {
		s.Clamped++
	}
	if sent-intended > LateAfter {
		s.LateSends++
	}
	r.left[half].Add(1)
}

// enter finds the active half and says that the worker is in it. If a drain
// changed it in between, the drain may not have seen the worker: it tries again.
func (r *Recorder) enter() uint32 {
	for {
		half := r.active.Load()
		r.entered[half].Add(1)
		if r.active.Load() == half {
			return half
		}
		r.left[half].Add(1)
	}
}

// Drain moves what was recorded since the last drain into s.
func (r *Recorder) Drain(s *Snapshot) {
	r.draining.Lock()
	defer r.draining.Unlock()
	half := r.active.Load()
	r.active.Store(1 - half)
	for r.left[half].Load() != r.entered[half].Load() {
		runtime.Gosched() // the worker is in the middle of a Record
	}
	taken := &r.halves[half]
	if taken.Count() == 0 {
		return
	}
	s.Add(taken)
	taken.corrected.Reset()
	taken.uncorrected.Reset()
	taken.LateSends, taken.Clamped = 0, 0
}

// microseconds rounds to the nearest, and up to the shortest that can be told.
func microseconds(d time.Duration) (us int64, clamped bool) {
	us = int64((d + time.Microsecond/2) / time.Microsecond)
	switch {
	case d < 0:
		return LowestUs, true
	case us < LowestUs:
		return LowestUs, false
	case us > HighestUs:
		return HighestUs, true
	}
	return us, false
}
