package latency

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func TestCorrectedCountsFromTheIntendedSend(t *testing.T) {
	r := NewRecorder()
	// A broker that stalls for a second while a request a millisecond is meant
	// to be sent: all of them go out when it is over, and are answered at once.
	for i := range 1000 {
		intended := time.Duration(i) * time.Millisecond
		r.Record(intended, time.Second, time.Second+time.Millisecond)
	}
	var s Snapshot
	r.Drain(&s)
	c, u := s.Corrected(), s.Uncorrected()
	if u.P50 != 1000 || u.Max != 1000 {
		t.Errorf("uncorrected: %+v; every request took 1 ms", u)
	}
	if c.P50 < 495_000 || c.P50 > 505_000 || c.P99 < 985_000 || c.Max < 1_000_000 {
		t.Errorf("corrected: %+v; half of the requests were half a second late", c)
	}
	// The last of them is one millisecond late, which is not more than LateAfter.
	if s.LateSends != 999 || s.Count() != 1000 || s.Clamped != 0 {
		t.Errorf("%d of %d late, %d clamped", s.LateSends, s.Count(), s.Clamped)
	}
}

func TestValuesBeyondTheRangeAreClampedAndCounted(t *testing.T) {
	r := NewRecorder()
	r.Record(0, 0, 2*time.Hour)
	r.Record(10, 10, 5)                 // done before it was sent
	r.Record(0, 0, 200)                 // less than can be told
	r.Record(0, 0, 60*time.Second)      // just within
	r.Record(0, time.Minute, time.Hour) // both beyond, counted once
	var s Snapshot
	r.Drain(&s)
	if s.Clamped != 3 || s.Count() != 5 {
		t.Errorf("%d of %d clamped, want 3 of 5", s.Clamped, s.Count())
	}
	if c := s.Corrected(); c.Min != LowestUs || c.Max < HighestUs || c.Max > HighestUs+HighestUs/1000 {
		t.Errorf("%+v", c)
	}
}

func TestDigitsAreKept(t *testing.T) {
	for us := int64(1); us < HighestUs; us += us/7 + 1 {
		r := NewRecorder()
		at := time.Duration(us) * time.Microsecond
		r.Record(0, 0, at)
		var s Snapshot
		r.Drain(&s)
		if got := s.Corrected().P50; got < us || float64(got-us) > float64(us)/1000 {
			t.Fatalf("%d us is shown as %d", us, got)
		}
	}
}

// Nothing is lost and nothing is counted twice, whenever somebody looks.
func TestDrainsBesideAWorkerSeeEachOperationOnce(t *testing.T) {
	r := NewRecorder()
	const operations = 200_000
	var done atomic.Bool
	var looking sync.WaitGroup
	sums := make([]Snapshot, 2)
	for i := range sums {
		looking.Go(func() {
			for !done.Load() {
				r.Drain(&sums[i])
			}
		})
	}
	for i := range operations {
		at := time.Duration(i)
		r.Record(at, at+2*time.Millisecond, at+3*time.Millisecond)
	}
	done.Store(true)
	looking.Wait()
	var rest Snapshot
	r.Drain(&rest)
	all := Merge(&sums[0], &sums[1], &rest)
	if all.Count() != operations || all.LateSends != operations {
		t.Errorf("%d operations, %d of them late, want %d", all.Count(), all.LateSends, operations)
	}
}

func TestRecordDoesNotAllocate(t *testing.T) {
	r := NewRecorder()
	if n := testing.AllocsPerRun(1000, func() { r.Record(1, 2, 3000) }); n != 0 {
		t.Errorf("%v allocations for each record", n)
	}
}

func BenchmarkRecord(b *testing.B) {
	r := NewRecorder()
	at := time.Duration(0)
	for b.Loop() {
		at += 1000
		r.Record(at, at, at+345_000)
	}
}
