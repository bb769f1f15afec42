package netio

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// receiveVector is the system's form of a scattered read, kept by the loop: the
// wrapper in x/sys allocates one for every call.
type receiveVector struct {
	iov [1 + 2*aheadFrames]unix.Iovec
}

// receive fills pieces from fd, one after the other, with one call.
func (v *receiveVector) receive(fd int, pieces [][]byte) (int, error) {
	for i, b := range pieces {
		v.iov[i].Base = unsafe.SliceData(b)
		v.iov[i].SetLen(len(b))
	}
	var n uintptr
	var errno unix.Errno
	for {
		n, _, errno = unix.Syscall(unix.SYS_READV, uintptr(fd), uintptr(unsafe.Pointer(&v.iov[0])), uintptr(len(pieces)))
		if errno != unix.EINTR {
			break
		}
	}
	for i := range pieces {
		v.iov[i].Base = nil // frames are pooled, not owned by the loop
	}
	if errno != 0 {
		return 0, errno
	}
	return int(n), nil
}
