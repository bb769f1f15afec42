package replay

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// writev is unix.Writev for two pieces, without making the vector on the way.
func writev(fd int, v *[2]unix.Iovec) (int, error) {
	n, _, e := unix.Syscall(unix.SYS_WRITEV, uintptr(fd), uintptr(unsafe.Pointer(v)), uintptr(len(v)))
	if e != 0 {
		return -1, e
	}
	return int(n), nil
}
