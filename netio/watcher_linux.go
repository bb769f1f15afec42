package netio

import (
	"os"

	"golang.org/x/sys/unix"
)

// waiter is an epoll and an eventfd that ends its waiting.
type waiter struct {
	epoll, end int
	events     [128]unix.EpollEvent
}

func (w *waiter) open() error {
	var err error
	if w.epoll, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return os.NewSyscallError("epoll_create1", err)
	}
	if w.end, err = unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK); err != nil {
		unix.Close(w.epoll)
		return os.NewSyscallError("eventfd", err)
	}
	// Connection ids start at 1, so 0 is the end.
	if err = unix.EpollCtl(w.epoll, unix.EPOLL_CTL_ADD, w.end, &unix.EpollEvent{Events: unix.EPOLLIN}); err != nil {
		w.close()
		return os.NewSyscallError("epoll_ctl", err)
	}
	return nil
}

// watch reports once when fd has input or room. It looks at the present state
// first, so nothing is missed between a full socket and this call.
func (w *waiter) watch(fd int, id uint64, input, room, first bool) error {
	ev := unix.EpollEvent{Events: unix.EPOLLONESHOT, Fd: int32(uint32(id)), Pad: int32(uint32(id >> 32))}
	if input {
		ev.Events |= unix.EPOLLIN
	}
	if room {
		ev.Events |= unix.EPOLLOUT
	}
	op := unix.EPOLL_CTL_MOD
	if first {
		op = unix.EPOLL_CTL_ADD
	}
	return os.NewSyscallError("epoll_ctl", unix.EpollCtl(w.epoll, op, fd, &ev))
}

func (w *waiter) forget(fd int) {
	_ = unix.EpollCtl(w.epoll, unix.EPOLL_CTL_DEL, fd, nil)
}

// wait appends what is ready to batch; false at the end.
func (w *waiter) wait(batch []readiness) ([]readiness, bool) {
	n, err := unix.EpollWait(w.epoll, w.events[:], -1)
	if err == unix.EINTR {
		return batch, true
	}
	if err != nil {
		return batch, false
	}
	for _, ev := range w.events[:n] {
		id := uint64(uint32(ev.Fd)) | uint64(uint32(ev.Pad))<<32
		if id == 0 {
			return batch, false
		}
		batch = append(batch, readiness{
			id:     id,
			input:  ev.Events&unix.EPOLLIN != 0,
			room:   ev.Events&unix.EPOLLOUT != 0,
			broken: ev.Events&(unix.EPOLLERR|unix.EPOLLHUP) != 0,
		})
	}
	return batch, true
}

func (w *waiter) interrupt() {
	_, _ = unix.Write(w.end, []byte{1, 0, 0, 0, 0, 0, 0, 0})
}

func (w *waiter) close() {
	unix.Close(w.epoll)
	unix.Close(w.end)
}
