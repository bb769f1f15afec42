//go:build unix && !linux

package netio

import "golang.org/x/sys/unix"

// sendVector has nothing to keep on systems other than Linux.
type sendVector struct{}

// send writes pieces to fd with one call. That something follows cannot be said
// everywhere, so more is not used.
func (*sendVector) send(fd int, pieces [][]byte, more bool) (int, error) {
	for {
		n, err := unix.SendmsgBuffers(fd, pieces, nil, nil, 0)
		if err != unix.EINTR {
			return n, err
		}
	}
}
