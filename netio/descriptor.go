package netio

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

func duplicate(fd int) (int, error) {
	return unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
}

// anyDescriptor opens something that stands for a place in the descriptor table.
func anyDescriptor() (int, error) {
	syscall.ForkLock.RLock() // not every system can open it close-on-exec
	defer syscall.ForkLock.RUnlock()
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_DGRAM, 0)
	if err != nil {
		return -1, os.NewSyscallError("socket", err)
	}
	unix.CloseOnExec(fd)
	return fd, nil
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
