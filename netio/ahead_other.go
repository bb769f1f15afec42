//go:build unix && !linux

package netio

import "golang.org/x/sys/unix"

// receiveVector has nothing to keep on systems other than Linux.
type receiveVector struct{}

// receive fills pieces from fd, one after the other, with one call.
func (*receiveVector) receive(fd int, pieces [][]byte) (int, error) {
	for {
		n, _, _, _, err := unix.RecvmsgBuffers(fd, pieces, nil, 0)
		if err != unix.EINTR {
			return max(n, 0), err
		}
	}
}
