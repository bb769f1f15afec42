package pace

import (
	"math"
	"time"

	"golang.org/x/sys/unix"
)

// origin is one instant on Go's monotonic clock, which is CLOCK_MONOTONIC
// counted from the start of the process; originAt is the same instant on
// CLOCK_MONOTONIC. Asking Go's clock and adding is three times as fast as asking
// the kernel's, which x/sys reaches by a system call.
var origin, originAt = align()

// alignTries is how often align looks; the try least disturbed counts, and is
// good to less than a microsecond.
const alignTries = 16

func align() (time.Time, time.Duration) {
	var start time.Time
	var at time.Duration
	for best, i := time.Duration(math.MaxInt64), 0; i < alignTries; i++ {
		var ts unix.Timespec
		before := time.Now()
		err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts)
		took := time.Since(before)
		if err == nil && took < best {
			best, start, at = took, before, time.Duration(ts.Nano())-took/2
		}
	}
	return start, at
}

// Now is the time on CLOCK_MONOTONIC.
func Now() time.Duration { return originAt + time.Since(origin) }
