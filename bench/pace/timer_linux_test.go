package pace

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestTheDescriptorFiresOnceForEachArming(t *testing.T) {
	timer := newTimer(t)
	ready := func(timeoutMs int) bool {
		fds := []unix.PollFd{{Fd: int32(timer.FD()), Events: unix.POLLIN}}
		n, err := unix.Poll(fds, timeoutMs)
		if err != nil && err != unix.EINTR {
			t.Fatal(err)
		}
		return n == 1
	}
	for range 3 {
		at := Now() + time.Millisecond
		if err := timer.Arm(at); err != nil {
			t.Fatal(err)
		}
		if !ready(5000) || Now() < at {
			t.Fatal("it did not become readable at its time")
		}
		timer.Drain()
		if ready(0) {
			t.Fatal("it is readable after it was drained")
		}
	}
	if err := timer.Arm(-time.Second); err != nil || !ready(1000) {
		t.Errorf("armed for what is over it is not readable at once (%v)", err)
	}
}

func TestTheClockIsTheSystemsOwn(t *testing.T) {
	for range 100 {
		var before, after unix.Timespec
		if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &before); err != nil {
			t.Fatal(err)
		}
		now := Now()
		if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &after); err != nil {
			t.Fatal(err)
		}
		const aligned = 50 * time.Microsecond // of a machine that is disturbed 16 times in a row
		if now < time.Duration(before.Nano())-aligned || now > time.Duration(after.Nano())+aligned {
			t.Fatalf("Now is %v between %v and %v", now, time.Duration(before.Nano()), time.Duration(after.Nano()))
		}
	}
}

func BenchmarkNow(b *testing.B) {
	for b.Loop() {
		Now()
	}
}
