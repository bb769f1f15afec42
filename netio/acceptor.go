package netio

import (
	"errors"
	"net"
	"net/netip"
	"time"
)

// acceptor takes the connections of one listener, in a goroutine of its own.
//
// gnet's acceptor is not used: it ends the whole engine when descriptors run out,
// and takes all waiting connections before any of them can be refused. This one
// waits instead, holding at most one connection that has no place yet; the others
// stay in the system's queue.
type acceptor struct {
	srv  *Server
	name string
	ln   *net.TCPListener

	// spare is a descriptor given up for the moment in which registering a
	// connection needs a second one. Without it, a process at its limit would accept
	// the waiting connections one by one only to drop each.
	spare int
}

const (
	minBackOff = 5 * time.Millisecond
	maxBackOff = time.Second
)

func (a *acceptor) run() {
	defer a.giveSpare()
	backOff := minBackOff
	for {
		var tc *net.TCPConn
		err := a.keepSpare()
		if err == nil {
			tc, err = a.ln.AcceptTCP()
		}
		switch {
		case err == nil:
			backOff = minBackOff
			a.take(tc)
		case errors.Is(err, net.ErrClosed):
			return
		default:
			// Mostly no descriptors left (EMFILE, ENFILE) or no memory. The peers
			// wait in the system's queue meanwhile.
			a.srv.rejects.warn("cannot accept connections, trying again: "+err.Error(), "listener", a.name, "after", backOff)
			if !a.srv.pause(backOff, nil) {
				return
			}
			backOff = min(2*backOff, maxBackOff)
		}
	}
}

func (a *acceptor) keepSpare() (err error) {
	if a.spare < 0 {
		a.spare, err = anyDescriptor()
	}
	return err
}

func (a *acceptor) giveSpare() {
	if a.spare >= 0 {
		closeDescriptor(a.spare)
		a.spare = -1
	}
}

// take gives an accepted connection to a loop, once there is a place for it.
func (a *acceptor) take(tc *net.TCPConn) {
	s := a.srv
	s.stats.accepted.Add(1)
	remote := tc.RemoteAddr().(*net.TCPAddr)
	addr, _ := netip.AddrFromSlice(remote.IP)
	addr = addr.Unmap()
	ip := addr.String()
	if limit, ok := s.quota.addIP(ip); !ok {
		s.stats.refused.Add(1)
		s.rejects.warn("refusing a connection: its address has as many as it may", "peer", ip, "limit", limit, "listener", a.name)
		tc.Close()
		return
	}
	if !a.waitForPlace() {
		s.quota.dropIP(ip)
		tc.Close()
		return
	}
	c := &Conn{id: s.ids.Add(1), srv: s, listener: a.name, ip: ip, remote: netip.AddrPortFrom(addr, uint16(remote.Port))}
	// gnet gives the bytes of an address's zone to a pool that others write to, but
	// the string is shared with package net.
	remote.Zone = ""
	if local, ok := tc.LocalAddr().(*net.TCPAddr); ok {
		local.Zone = ""
		c.withinHost = withinHost(addr, local)
	}
	a.giveSpare()
	_, err := s.client.EnrollContext(tc, c)
	if err == nil && c.opened {
		return
	}
	// Not opened: the loop could not add it to its poller, and has closed it.
	s.quota.leave(a.name, ip)
	s.rejects.warn("cannot serve a connection", "peer", ip, "listener", a.name, "error", err)
}

// withinHost tells whether the peer at remote is a process of this host.
func withinHost(remote netip.Addr, local *net.TCPAddr) bool {
	return remote.IsLoopback() || remote == local.AddrPort().Addr().Unmap()
}

func (a *acceptor) waitForPlace() bool {
	for told := false; ; {
		ok, wait, changed := a.srv.quota.admit(a.name)
		if ok {
			return true
		}
		if wait == 0 && !told {
			told = true
			a.srv.rejects.warn("no further connections for now: there are as many as may be (max.connections, or the limit on open files)", "listener", a.name)
		}
		if !a.srv.pause(wait, changed) {
			return false
		}
	}
}

// pause waits for d (0: no bound) or for wake; false when the server stops.
func (s *Server) pause(d time.Duration, wake <-chan struct{}) bool {
	var expired <-chan time.Time
	if d > 0 {
		t := time.NewTimer(d)
		defer t.Stop()
		expired = t.C
	}
	select {
	case <-expired:
	case <-wake:
	case <-s.stop:
		return false
	}
	return true
}
