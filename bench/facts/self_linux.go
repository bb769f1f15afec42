package facts

import (
	"time"

	"golang.org/x/sys/unix"
)

// Self is the usage of this process. The kernel keeps its sums, with those of
// threads that have ended, and to the microsecond.
func Self() Usage {
	u := Nothing()
	var r unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &r); err != nil {
		return u
	}
	u.CPU = time.Duration(unix.TimevalToNsec(r.Utime) + unix.TimevalToNsec(r.Stime))
	u.ContextSwitches = r.Nvcsw + r.Nivcsw
	if mine, err := Process(unix.Getpid()); err == nil {
		u.RSSBytes, u.Threads, u.DiskWritten = mine.RSSBytes, mine.Threads, mine.DiskWritten
	}
	return u
}
