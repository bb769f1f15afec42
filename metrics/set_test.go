package metrics

import (
	"math"
	"sync"
	"testing"
	"time"
)

func TestRecordingAllocatesNothing(t *testing.T) {
	s := New(2)
	r := s.Recorder(1)
	r.Request(0, time.Millisecond)
	r.Error(0, 3)
	if n := testing.AllocsPerRun(1000, func() {
		r.Request(0, time.Millisecond)
		r.Error(0, 3)
		r.Append(User, 10, 1000)
		r.Fetch(Internal, 1000)
		s.SyncLatency.Observe(time.Millisecond)
		s.Syncs.Inc()
	}); n != 0 {
		t.Errorf("%v allocations for a round of recording", n)
	}
}

func TestBucketsCoverEveryDuration(t *testing.T) {
	for _, d := range []time.Duration{math.MinInt64, -1, 0, 1, 8191, 8192, 8193, time.Millisecond, time.Second, time.Hour, math.MaxInt64} {
		i := bucket(uint64(max(d, 0)))
		if i < 0 || i > buckets {
			t.Fatalf("%v falls in bucket %d", d, i)
		}
		if i < buckets && max(d, 0).Seconds() > upperBound(i) {
			t.Errorf("%v is beyond its bucket's bound %v", d, upperBound(i))
		}
		if i > 0 && d.Seconds() <= upperBound(i-1) {
			t.Errorf("%v belongs in an earlier bucket than %d", d, i)
		}
	}
}

func TestReadingAddsUp(t *testing.T) {
	var a, b Histogram
	a.Observe(time.Microsecond)
	a.Observe(time.Second)
	b.Observe(time.Hour)
	var r reading
	r.add(&a)
	r.add(&b)
	if r.count != 3 || r.upTo[upperBound(0)] != 1 || r.upTo[upperBound(buckets-1)] != 2 {
		t.Errorf("count %d, first bucket %d, last bucket %d", r.count, r.upTo[upperBound(0)], r.upTo[upperBound(buckets-1)])
	}
	if math.Abs(r.sum-3601.000001) > 1e-6 {
		t.Errorf("sum is %v seconds", r.sum)
	}
}

func TestOddKeysAndCodesAreHarmless(t *testing.T) {
	s := New(0)
	r := s.Recorder(-3)
	for _, key := range []int16{-1, -32768, 128, 32767} {
		r.Request(key, time.Second)
		r.Error(key, 1)
	}
	for _, code := range []int16{-1, -2, -32768, 32767, maxCode} {
		r.Error(5, code)
	}
	if n := s.errors[5].Load()[0].Load(); n != 4 {
		t.Errorf("%d unknown errors, want 4", n)
	}
	r.Error(6, 0)
	if s.errors[6].Load() != nil {
		t.Error("code 0 was counted as an error")
	}
	r.Append(User, -1, -1)
	r.Fetch(Class(7), 1)
}

func TestRecordingFromManyGoroutines(t *testing.T) {
	s := New(2)
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			for range 1000 {
				s.Recorder(i).Request(1, time.Microsecond)
				s.Error(1, 6)
			}
		})
	}
	wg.Wait()
	var r reading
	for _, rec := range s.recorders {
		r.add(rec.requests[1].Load())
	}
	if r.count != 4000 || s.errors[1].Load()[6-minCode].Load() != 4000 {
		t.Errorf("%d requests and %d errors, want 4000 each", r.count, s.errors[1].Load()[6-minCode].Load())
	}
}

func BenchmarkRequest(b *testing.B) {
	s := New(1)
	r := s.Recorder(0)
	b.ReportAllocs()
	for b.Loop() {
		r.Request(0, 100*time.Microsecond)
		r.Append(User, 1, 1024)
	}
}
