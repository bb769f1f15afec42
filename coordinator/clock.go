package coordinator

import "time"

// clock is the time of a runtime.
type clock struct {
	beganMs int64                // of the wall clock
	elapsed func() time.Duration // since then, monotonic
	wallMs  func() int64
}

func newClock() *clock {
	began := time.Now()
	return &clock{
		beganMs: began.UnixMilli(),
		elapsed: func() time.Duration { return time.Since(began) },
		wallMs:  func() int64 { return time.Now().UnixMilli() },
	}
}

// retentionMs is start time plus monotonic time, so that a wall clock set forward
// expires nothing early. Where the wall clock was set back it is that one: what is
// committed then would otherwise be born old.
func (c *clock) retentionMs() int64 { return min(c.beganMs+c.elapsed().Milliseconds(), c.wallMs()) }
