//go:build !linux

package netio

import "time"

// nap waits for a short while, by the runtime's timers.
type nap struct{}

func (*nap) take(d time.Duration) { time.Sleep(d) }
func (*nap) close()               {}
