package netio

import (
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// nap waits for fractions of a millisecond. The runtime's own timers are rounded up to
// one where the process is otherwise idle, and a system call that sleeps keeps a place in
// the runtime's count (perf/0009); a timer descriptor in the runtime's poller does neither.
type nap struct {
	fd   int
	file *os.File // nil: not opened, or there was no descriptor for it
}

// open makes the descriptor. Where there is none now there may be one for a later nap.
func (n *nap) open() {
	if fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC); err == nil {
		*n = nap{fd, os.NewFile(uintptr(fd), "timerfd")}
	}
}

func (n *nap) take(d time.Duration) {
	if n.file == nil {
		n.open()
	}
	if n.file != nil {
		spec := unix.ItimerSpec{Value: unix.NsecToTimespec(int64(d))}
		var expirations [8]byte
		if unix.TimerfdSettime(n.fd, 0, &spec, nil) == nil {
			if _, err := n.file.Read(expirations[:]); err == nil {
				return
			}
		}
	}
	time.Sleep(d)
}

func (n *nap) close() {
	if n.file != nil {
		n.file.Close()
	}
}
