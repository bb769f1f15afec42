package pace

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// Timer waits for times on the clock of Now, to some tens of microseconds.
type Timer struct {
	file *os.File
	fd   int
	last time.Duration // what the descriptor is set to; 0: disarmed
}

// NewTimer makes a timer, which takes one file descriptor until Close.
func NewTimer() (*Timer, error) {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("create a timerfd: %w", err)
	}
	// NewFile finds the descriptor non-blocking and hands it to Go's poller.
	return &Timer{file: os.NewFile(uintptr(fd), "timerfd"), fd: fd}, nil
}

// FD is the descriptor itself, for a loop with an epoll of its own: Arm it, wait
// until it can be read, Drain it. Such a loop does not use WaitUntil.
func (t *Timer) FD() int { return t.fd }

// Arm makes the descriptor readable at the given time; a time that is over makes
// it readable at once. It replaces what was armed before.
func (t *Timer) Arm(at time.Duration) error {
	at = max(at, 1) // 0 would disarm it
	if at == t.last {
		return nil
	}
	spec := unix.ItimerSpec{Value: unix.NsecToTimespec(int64(at))}
	if err := unix.TimerfdSettime(t.fd, unix.TFD_TIMER_ABSTIME, &spec, nil); err != nil {
		return fmt.Errorf("set a timerfd to %v: %w", at, err)
	}
	t.last = at
	return nil
}

// Drain takes what made the descriptor readable, so that it can fire again.
func (t *Timer) Drain() {
	var expirations [8]byte
	_, _ = unix.Read(t.fd, expirations[:]) // EAGAIN: it was not due yet
	t.last = 0
}

// WaitUntil returns at the given time, or with the context's error when that
// ends first.
func (t *Timer) WaitUntil(ctx context.Context, at time.Duration) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if Now() >= at {
		return nil
	}
	t.last = 0 // an earlier wait may have been cut short
	if err := t.Arm(at); err != nil {
		return err
	}
	if err := t.file.SetReadDeadline(time.Time{}); err != nil {
		return fmt.Errorf("wait for a timerfd: %w", err)
	}
	stop := context.AfterFunc(ctx, func() { _ = t.file.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	var expirations [8]byte
	for {
		_, err := t.file.Read(expirations[:])
		switch {
		case err == nil && binary.NativeEndian.Uint64(expirations[:]) > 0:
			t.last = 0
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, os.ErrDeadlineExceeded):
			// The end of an earlier wait's context came late; this wait goes on.
			if err := t.file.SetReadDeadline(time.Time{}); err != nil {
				return fmt.Errorf("wait for a timerfd: %w", err)
			}
		case err != nil:
			return fmt.Errorf("wait for a timerfd: %w", err)
		}
	}
}

// Close gives the descriptor back.
func (t *Timer) Close() error { return t.file.Close() }
