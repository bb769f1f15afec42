package replay

import (
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"time"

	"golang.org/x/sys/unix"

	"ringmain/bench/load"
	"ringmain/bench/pace"
)

// loop is one goroutine with its links.
type loop struct {
	epoll  int
	bell   int // eventfd: look at ordered
	timer  *pace.Timer
	links  map[int32]*link
	worker *load.Worker
	events [256]unix.EpollEvent
	vector [2]unix.Iovec

	// work are the parts of the load that do something by the clock.
	work    []timed
	ordered chan func() error // from the engine, run by the loop
	over    bool
	ended   chan struct{} // closed when run returns
}

// timed is something with a schedule.
type timed interface {
	// due does what is to be done at now, and says when the next is; never, if
	// nothing is.
	due(now time.Duration) (next time.Duration, err error)
}

// never is later than everything.
const never = time.Duration(1<<63 - 1)

func newLoop(w *load.Worker) (lp *loop, err error) {
	lp = &loop{epoll: -1, bell: -1, links: map[int32]*link{}, worker: w, ordered: make(chan func() error, 8), ended: make(chan struct{})}
	defer func() {
		if err != nil {
			lp.close()
		}
	}()
	if lp.epoll, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return lp, fmt.Errorf("make an epoll: %w", err)
	}
	if lp.bell, err = unix.Eventfd(0, unix.EFD_NONBLOCK|unix.EFD_CLOEXEC); err != nil {
		return lp, fmt.Errorf("make an eventfd: %w", err)
	}
	if lp.timer, err = pace.NewTimer(); err != nil {
		return lp, err
	}
	for _, fd := range []int{lp.bell, lp.timer.FD()} {
		if err := lp.control(unix.EPOLL_CTL_ADD, fd, unix.EPOLLIN); err != nil {
			return lp, err
		}
	}
	return lp, nil
}

func (lp *loop) control(op, fd int, events uint32) error {
	if err := unix.EpollCtl(lp.epoll, op, fd, &unix.EpollEvent{Fd: int32(fd), Events: events}); err != nil {
		return fmt.Errorf("watch descriptor %d: %w", fd, err)
	}
	return nil
}

// add makes l one of the loop's links.
func (lp *loop) add(l *link) error {
	events := uint32(unix.EPOLLIN)
	if l.connecting {
		events = unix.EPOLLOUT
	}
	lp.links[int32(l.fd)] = l
	return lp.control(unix.EPOLL_CTL_ADD, l.fd, events)
}

// watchRoom has the loop told, or not any more, when l can be written to.
func (lp *loop) watchRoom(l *link, on bool) error {
	if l.ranOut == on {
		return nil
	}
	l.ranOut = on
	events := uint32(unix.EPOLLIN)
	if on {
		events |= unix.EPOLLOUT
	}
	return lp.control(unix.EPOLL_CTL_MOD, l.fd, events)
}

// drop closes l, if it is open.
func (lp *loop) drop(l *link) {
	if l.fd < 0 {
		return
	}
	delete(lp.links, int32(l.fd))
	_ = unix.Close(l.fd) // which ends the watch too
	l.fd = -1
}

// close gives everything back. The loop must not be running.
func (lp *loop) close() {
	for _, l := range lp.links {
		lp.drop(l)
	}
	for _, fd := range []*int{&lp.epoll, &lp.bell} {
		if *fd >= 0 {
			_ = unix.Close(*fd)
			*fd = -1
		}
	}
	if lp.timer != nil {
		lp.timer.Close()
		lp.timer = nil
	}
}

// order has the loop run f, soon, unless it has ended. For any goroutine.
func (lp *loop) order(f func() error) {
	select {
	case lp.ordered <- f:
	case <-lp.ended:
		return
	}
	var one [8]byte
	binary.NativeEndian.PutUint64(one[:], 1)
	_, _ = unix.Write(lp.bell, one[:])
}

// run begins, and handles events until an order ends it or something makes going on
// pointless.
func (lp *loop) run(begin func() error) error {
	defer close(lp.ended)
	// One thread for the whole time: the poller blocks it.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := begin(); err != nil {
		return err
	}
	for {
		next := never
		for _, w := range lp.work {
			at, err := w.due(pace.Now())
			if err != nil {
				return err
			}
			next = min(next, at)
		}
		if lp.over {
			return nil
		}
		wait := -1
		if next != never {
			if next <= pace.Now() {
				wait = 0
			} else if err := lp.timer.Arm(next); err != nil {
				return err
			}
		}
		n, err := unix.EpollWait(lp.epoll, lp.events[:], wait)
		if err != nil && err != unix.EINTR {
			return fmt.Errorf("wait for events: %w", err)
		}
		for i := range max(n, 0) {
			if err := lp.handle(&lp.events[i]); err != nil {
				return err
			}
		}
	}
}

func (lp *loop) handle(e *unix.EpollEvent) error {
	switch int(e.Fd) {
	case lp.timer.FD():
		lp.timer.Drain()
		return nil
	case lp.bell:
		var count [8]byte
		_, _ = unix.Read(lp.bell, count[:])
		for {
			select {
			case f := <-lp.ordered:
				if err := f(); err != nil {
					return err
				}
			default:
				return nil
			}
		}
	}
	l := lp.links[e.Fd]
	if l == nil {
		return nil // closed by an event before this one
	}
	err := lp.step(l, e.Events)
	if err == nil {
		return nil
	}
	if l.fd < 0 {
		return err // the role has closed it, and says why the load ends
	}
	lp.drop(l)
	return l.role.lost(l, err)
}

func (lp *loop) step(l *link, events uint32) error {
	if l.connecting {
		if code, err := unix.GetsockoptInt(l.fd, unix.SOL_SOCKET, unix.SO_ERROR); err != nil || code != 0 {
			return errors.Join(err, unix.Errno(code))
		}
		l.connecting = false
		if err := lp.control(unix.EPOLL_CTL_MOD, l.fd, unix.EPOLLIN); err != nil {
			return err
		}
		return l.role.connected(l)
	}
	if events&unix.EPOLLOUT != 0 {
		if err := l.flush(lp); err != nil {
			return err
		}
	}
	if events&^unix.EPOLLOUT != 0 && l.fd >= 0 {
		return l.receive()
	}
	return nil
}

// write makes one call for both; the bytes that were taken, or the error.
func (lp *loop) write(fd int, head, body []byte) (int, error) {
	if len(body) == 0 {
		return unix.Write(fd, head)
	}
	lp.vector[0].Base, lp.vector[1].Base = &head[0], &body[0]
	lp.vector[0].SetLen(len(head))
	lp.vector[1].SetLen(len(body))
	n, err := writev(fd, &lp.vector)
	lp.vector[0].Base, lp.vector[1].Base = nil, nil
	return n, err
}
