package franz

import (
	"context"
	"fmt"
	"time"

	"ringmain/bench/pace"
)

// turns says when one worker out of several begins its operations.
type turns struct {
	timer    *pace.Timer
	begin    time.Duration
	schedule *pace.Schedule // nil: closed loop, the next turn comes when the last is over
}

// newTurns makes the turns of a worker of a load with perSecond operations a
// second in all; 0 is a closed loop.
func newTurns(begin time.Duration, perSecond float64, worker, workers int) (*turns, error) {
	timer, err := pace.NewTimer()
	if err != nil {
		return nil, fmt.Errorf("a worker of the load has no timer: %w", err)
	}
	t := &turns{timer: timer, begin: begin}
	if perSecond > 0 {
		t.schedule = pace.Starting(begin, perSecond, worker, workers)
	}
	return t, nil
}

// next waits for the next turn. It returns the time that the turn was meant for,
// and the time now; false says that the context ended first. Turns that are due
// together come one after the other without a wait.
func (t *turns) next(ctx context.Context) (intended, now time.Duration, ok bool) {
	intended = t.begin
	if t.schedule != nil {
		intended = t.schedule.Next()
	}
	if now = pace.Now(); now < intended {
		if t.timer.WaitUntil(ctx, intended) != nil {
			return 0, 0, false
		}
		now = pace.Now()
	}
	if t.schedule == nil {
		intended = now
	}
	return intended, now, ctx.Err() == nil
}

func (t *turns) close() { _ = t.timer.Close() }
