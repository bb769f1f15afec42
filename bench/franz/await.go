package franz

import (
	"context"
	"time"
)

// lookAgain is how often a condition is looked at that nobody tells about.
const lookAgain = 2 * time.Millisecond

// await returns when the condition holds, or with the context's error.
func await(ctx context.Context, holds func() bool) error {
	if holds() {
		return nil
	}
	tick := time.NewTicker(lookAgain)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
			if holds() {
				return nil
			}
		}
	}
}
