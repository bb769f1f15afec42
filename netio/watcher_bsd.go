//go:build darwin || freebsd || netbsd || openbsd || dragonfly

package netio

import (
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// waiter is a kqueue and a pipe that ends its waiting. A kqueue reports the
// descriptor, so the connection ids are kept beside it.
type waiter struct {
	queue  int
	end    [2]int
	events [128]unix.Kevent_t
	mu     sync.Mutex
	ids    map[int]uint64
}

func (w *waiter) open() error {
	var err error
	if w.queue, err = unix.Kqueue(); err != nil {
		return os.NewSyscallError("kqueue", err)
	}
	unix.CloseOnExec(w.queue)
	if err = unix.Pipe(w.end[:]); err != nil {
		unix.Close(w.queue)
		return os.NewSyscallError("pipe", err)
	}
	unix.CloseOnExec(w.end[0])
	unix.CloseOnExec(w.end[1])
	w.ids = map[int]uint64{w.end[0]: 0}
	var ev unix.Kevent_t
	unix.SetKevent(&ev, w.end[0], unix.EVFILT_READ, unix.EV_ADD)
	if _, err = unix.Kevent(w.queue, []unix.Kevent_t{ev}, nil, nil); err != nil {
		w.close()
		return os.NewSyscallError("kevent", err)
	}
	return nil
}

// watch reports once when fd has input or room. A wish of before that is no longer
// had may still be reported; the loop ignores it.
func (w *waiter) watch(fd int, id uint64, input, room, first bool) error {
	w.mu.Lock()
	w.ids[fd] = id
	w.mu.Unlock()
	var changes [2]unix.Kevent_t
	n := 0
	if input {
		unix.SetKevent(&changes[n], fd, unix.EVFILT_READ, unix.EV_ADD|unix.EV_ONESHOT)
		n++
	}
	if room {
		unix.SetKevent(&changes[n], fd, unix.EVFILT_WRITE, unix.EV_ADD|unix.EV_ONESHOT)
		n++
	}
	if n == 0 {
		return nil
	}
	_, err := unix.Kevent(w.queue, changes[:n], nil, nil)
	return os.NewSyscallError("kevent", err)
}

func (w *waiter) forget(fd int) {
	var ev unix.Kevent_t
	for _, filter := range []int{unix.EVFILT_READ, unix.EVFILT_WRITE} {
		unix.SetKevent(&ev, fd, filter, unix.EV_DELETE)
		_, _ = unix.Kevent(w.queue, []unix.Kevent_t{ev}, nil, nil)
	}
}

// wait appends what is ready to batch; false at the end.
func (w *waiter) wait(batch []readiness) ([]readiness, bool) {
	n, err := unix.Kevent(w.queue, nil, w.events[:], nil)
	if err == unix.EINTR {
		return batch, true
	}
	if err != nil {
		return batch, false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for i := range w.events[:n] {
		ev := &w.events[i]
		id := w.ids[int(ev.Ident)]
		if id == 0 {
			return batch, false
		}
		batch = append(batch, readiness{
			id:     id,
			input:  ev.Filter == unix.EVFILT_READ,
			room:   ev.Filter == unix.EVFILT_WRITE,
			broken: ev.Filter == unix.EVFILT_WRITE && ev.Flags&unix.EV_EOF != 0,
		})
	}
	return batch, true
}

func (w *waiter) interrupt() { _, _ = unix.Write(w.end[1], []byte{1}) }

func (w *waiter) close() {
	unix.Close(w.queue)
	unix.Close(w.end[0])
	unix.Close(w.end[1])
}
