//go:build !linux

package pace

import (
	"context"
	"time"
)

// Timer waits for times on the clock of Now, as exactly as Go's own timers do.
type Timer struct{}

// NewTimer makes a timer.
func NewTimer() (*Timer, error) { return &Timer{}, nil }

// FD is -1: there is no descriptor to wait for.
func (t *Timer) FD() int { return -1 }

// WaitUntil returns at the given time, or with the context's error when that
// ends first.
func (t *Timer) WaitUntil(ctx context.Context, at time.Duration) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	wait := at - Now()
	if wait <= 0 {
		return nil
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// Arm and Drain belong to FD.
func (t *Timer) Arm(time.Duration) error { return nil }

// Drain belongs to FD.
func (t *Timer) Drain() {}

// Close has nothing to give back.
func (t *Timer) Close() error { return nil }
