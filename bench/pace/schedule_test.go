package pace

import (
	"slices"
	"testing"
	"time"
)

func TestWorkersInterleaveEvenly(t *testing.T) {
	const workers, perSecond, start = 7, 1000.0, 5 * time.Second
	var all []time.Duration
	for w := range workers {
		s := Starting(start, perSecond, w, workers)
		for range 300 {
			all = append(all, s.Next())
		}
	}
	slices.Sort(all)
	for i, at := range all {
		if want := start + time.Duration(i)*time.Millisecond; at != want {
			t.Fatalf("send %d is meant for %v, want %v", i, at, want)
		}
	}
}

func TestAScheduleDoesNotDrift(t *testing.T) {
	s := Starting(0, 3, 0, 1) // a third of a second is no whole number of ns
	var last time.Duration
	for range 3_000_001 {
		last = s.Next()
	}
	if want := 1_000_000 * time.Second; last != want {
		t.Errorf("after 3 million sends at 3 a second the next is at %v, want %v", last, want)
	}
}

func TestDueCountsWhatWasNotTaken(t *testing.T) {
	s := Starting(time.Second, 1000, 1, 4) // at 1.001s, 1.005s, ...
	for _, c := range []struct {
		now  time.Duration
		want int64
	}{
		{0, 0}, {time.Second, 0}, {1001*time.Millisecond - 1, 0}, {1001 * time.Millisecond, 1},
		{1005*time.Millisecond - 1, 1}, {1005 * time.Millisecond, 2}, {2 * time.Second, 250},
	} {
		if got := s.Due(c.now); got != c.want {
			t.Errorf("at %v %d are due, want %d", c.now, got, c.want)
		}
	}
	for n := s.Due(2 * time.Second); n > 0; n-- {
		if at := s.Next(); at > 2*time.Second {
			t.Errorf("%v was due at 2s", at)
		}
	}
	if n, next := s.Due(2*time.Second), s.Peek(); n != 0 || next <= 2*time.Second {
		t.Errorf("all was taken, and %d are due; the next at %v", n, next)
	}
}

func TestALoadWithoutBoundHasNoSchedule(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("a schedule of 0 sends a second was made")
		}
	}()
	New(0, 0, 1)
}
