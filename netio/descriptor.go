package netio

import "golang.org/x/sys/unix"

func duplicate(fd int) (int, error) {
	return unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
}

func closeDescriptor(fd int) { _ = unix.Close(fd) }

func readDescriptor(fd int, p []byte) (int, error) {
	for {
		n, err := unix.Read(fd, p)
		if err != unix.EINTR {
			return max(n, 0), err
		}
	}
}

// descriptorReserve is what spareDescriptors leaves for files and the process's own.
const descriptorReserve = 128

// spareDescriptors is how many connections the limit on open files allows, when
// nobody who knows what else is opened has said so. Registering a connection takes
// a second descriptor for a moment, one per listener at most.
func spareDescriptors() int {
	var lim unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &lim); err != nil {
		return 512
	}
	n := int(min(uint64(lim.Cur), 1<<24))
	return max(n/2, n-max(descriptorReserve, n/8))
}
