package netio

import "golang.org/x/sys/unix"

// findPoller returns the epoll descriptor that watches fd for input, which gnet has
// and does not show; -1 when there is none.
//
// epoll_ctl itself is asked: modifying the interest in fd succeeds only on the
// descriptor fd was added to, fails without effect on every other epoll (ENOENT)
// and on anything that is no epoll (EINVAL). gnet registers a copied descriptor
// number that nothing else has ever added, so there is one such epoll. Descriptors
// are handed out from below, so the search is short; it is made once per loop.
// /proc/self/fdinfo tells the same, where /proc is mounted.
func findPoller(fd int) int {
	highest := unix.Rlimit{Cur: 1 << 16}
	_ = unix.Getrlimit(unix.RLIMIT_NOFILE, &highest)
	for ep := range int(min(highest.Cur, 1<<20)) {
		if ep != fd && setReading(ep, fd, true) == nil {
			return ep
		}
	}
	return -1
}

// setReading has poller watch fd for input, or for nothing but its end. EPOLLPRI,
// which gnet asks for, is left out: nobody reads urgent data, so the event would
// come back for ever.
func setReading(poller, fd int, on bool) error {
	ev := unix.EpollEvent{Fd: int32(fd)}
	if on {
		ev.Events = unix.EPOLLIN
	}
	return unix.EpollCtl(poller, unix.EPOLL_CTL_MOD, fd, &ev)
}

// pending reports whether poller has something to deliver, or cannot be asked.
func pending(poller int) bool {
	if poller < 0 {
		return true
	}
	look := [1]unix.PollFd{{Fd: int32(poller), Events: unix.POLLIN}}
	n, err := unix.Poll(look[:], 0)
	return n != 0 || err != nil
}
