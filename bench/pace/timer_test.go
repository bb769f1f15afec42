package pace

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"testing"
	"time"
)

// A wait must not end before its time, and in an idle process it ends within
// tens of microseconds. Of a busy machine, where others have their turn first, the
// tenth of the waits that are held up least is judged, as often as it takes; the
// bound is what time.Sleep cannot hold even then.
func TestWaitsShorterThanAMillisecondAreExact(t *testing.T) {
	const tries, bound = 20, 400 * time.Microsecond
	timer := newTimer(t)
	for n := 1; ; n++ {
		late := make([]time.Duration, 0, 200)
		for range cap(late) {
			at := Now() + 300*time.Microsecond
			if err := timer.WaitUntil(t.Context(), at); err != nil {
				t.Fatal(err)
			}
			d := Now() - at
			if d < 0 {
				t.Fatalf("woken %v too early", -d)
			}
			late = append(late, d)
		}
		slices.Sort(late)
		tenth := late[len(late)/10]
		t.Logf("late by %v at p10, %v at p50, %v at p90", tenth, late[len(late)/2], late[len(late)*9/10])
		if runtime.GOOS != "linux" || tenth <= bound {
			return
		}
		if n == tries {
			t.Fatalf("nine in ten waits end more than %v late", tenth)
		}
	}
}

func TestAWaitEndsWithItsContextAndTheTimerGoesOn(t *testing.T) {
	timer := newTimer(t)
	for range 20 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		if err := timer.WaitUntil(ctx, Now()+time.Hour); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("a wait whose context ended returned %v", err)
		}
		cancel()
		at := Now() + 2*time.Millisecond
		if err := timer.WaitUntil(t.Context(), at); err != nil {
			t.Fatalf("the wait after it: %v", err)
		}
		if Now() < at {
			t.Fatal("the wait after it was woken too early")
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := timer.WaitUntil(ctx, Now()+time.Hour); !errors.Is(err, context.Canceled) {
		t.Errorf("a wait with a context that had ended returned %v", err)
	}
	if err := timer.WaitUntil(t.Context(), Now()-time.Second); err != nil {
		t.Errorf("a wait for what is over: %v", err)
	}
}

func newTimer(t *testing.T) *Timer {
	t.Helper()
	timer, err := NewTimer()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { timer.Close() })
	return timer
}
