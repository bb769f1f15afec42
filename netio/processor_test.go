package netio

import (
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// processorTime is what the process has used so far.
func processorTime() time.Duration {
	var u unix.Rusage
	_ = unix.Getrusage(unix.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// wantQuiet expects that the process comes to rest: that there is a span of which it
// computes less than half. One that spins never has it; one on a busy machine has it
// once what was left to do is done.
func wantQuiet(t testing.TB, when string) {
	t.Helper()
	const span = 100 * time.Millisecond
	var used time.Duration
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); {
		before := processorTime()
		time.Sleep(span) // a span to observe, not to wait for something
		if used = processorTime() - before; used < span/2 {
			return
		}
	}
	t.Errorf("used %v of processor time within %v %s", used, span, when)
}

// residentBytes is the process's resident memory.
func residentBytes(t testing.TB) int64 {
	t.Helper()
	b, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Skip("no /proc here")
	}
	pages, err := strconv.ParseInt(strings.Fields(string(b))[1], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return pages * int64(os.Getpagesize())
}

func sendOutOfBand(fd int, b byte) error {
	return unix.Sendto(fd, []byte{b}, unix.MSG_OOB, nil)
}
