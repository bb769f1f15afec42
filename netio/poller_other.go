//go:build unix && !linux

package netio

import "errors"

// findPoller: there is no interest to change behind gnet's back; a connection that
// is to be stopped is taken over from gnet instead (see reading.go).
func findPoller(fd int) int { return -1 }

func setReading(poller, fd int, on bool) error {
	return errors.New("netio: the poller cannot be reached on this system")
}

func pending(int) bool { return true }
