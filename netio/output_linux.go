package netio

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// sendVector is the system's form of a scattered write, kept by the loop: the
// wrapper in x/sys allocates one for every call.
type sendVector struct {
	iov [maxPieces]unix.Iovec
	msg unix.Msghdr
}

// send writes pieces to fd with one call. more holds back a last packet that is
// not full, because something follows at once.
func (v *sendVector) send(fd int, pieces [][]byte, more bool) (int, error) {
	for i, b := range pieces {
		v.iov[i].Base = unsafe.SliceData(b)
		v.iov[i].SetLen(len(b))
	}
	v.msg.Iov = &v.iov[0]
	v.msg.SetIovlen(len(pieces))
	flags := unix.MSG_NOSIGNAL | unix.MSG_DONTWAIT
	if more {
		flags |= unix.MSG_MORE
	}
	var n uintptr
	var errno unix.Errno
	for {
		n, _, errno = unix.Syscall(unix.SYS_SENDMSG, uintptr(fd), uintptr(unsafe.Pointer(&v.msg)), uintptr(flags))
		if errno != unix.EINTR {
			break
		}
	}
	for i := range pieces {
		v.iov[i].Base = nil // responses are pooled, not owned by the loop
	}
	if errno != 0 {
		return 0, errno
	}
	return int(n), nil
}
