package netio

import (
	"errors"
	"io"
	"time"

	"github.com/panjf2000/gnet/v2"
)

// events are gnet's callbacks, all on the loop of the connection they are about.
type events struct {
	gnet.BuiltinEventEngine
	srv *Server
}

// OnOpen meets a connection that the acceptor has made and registered.
func (e *events) OnOpen(gc gnet.Conn) ([]byte, gnet.Action) {
	c := gc.Context().(*Conn)
	c.gc, c.fd = gc, gc.Fd()
	if c.withinHost {
		dontPace(c.fd)
	}
	l := e.srv.loopOf(gc)
	c.loop = l
	owner := l.enter()
	c.opened, c.reading, c.lastUse = true, true, l.now
	l.conns[c.id] = c
	c.inTurn = true
	e.srv.handler.Opened(c)
	if e.srv.stopping.Load() {
		l.drain(c)
	} else if !c.mayRead() {
		c.stopReading()
	}
	l.leave(owner)
	c.inTurn = false
	return nil, c.verdict()
}

// OnTraffic takes everything gnet has read, so that gnet's own inbound buffer,
// which has no bound, stays empty.
func (e *events) OnTraffic(gc gnet.Conn) gnet.Action {
	c := gc.Context().(*Conn)
	l := c.loop
	owner := l.enter()
	c.inTurn = true
	buf, _ := gc.Peek(-1)
	c.receive(buf)
	_, _ = gc.Discard(-1)
	l.leave(owner)
	c.inTurn = false
	return c.verdict()
}

func (c *Conn) verdict() gnet.Action {
	if c.reason != nil || c.moving {
		return gnet.Close
	}
	return gnet.None
}

// OnClose is called once per connection, before gnet closes the descriptor.
func (e *events) OnClose(gc gnet.Conn, err error) gnet.Action {
	c := gc.Context().(*Conn)
	if c.closed {
		return gnet.None
	}
	l := c.loop
	owner := l.enter()
	if c.reason == nil && (c.moving && c.detach() || c.takeOver(err)) {
		l.leave(owner)
		return gnet.None
	}
	if c.reason == nil && err != nil {
		c.reason = &ioError{ErrPeerClosed, err}
	}
	if c.reason == nil && e.srv.stopping.Load() {
		c.reason = ErrStopped
	}
	c.gc = nil
	c.bury()
	l.leave(owner)
	return gnet.None
}

// takeOver keeps a connection alive that gnet closes because the peer has finished
// sending: what is in flight is still to be answered. gnet has no notion of a half
// closed connection, so from here on the descriptor is ours.
func (c *Conn) takeOver(err error) bool {
	// A bare io.EOF is gnet's word for an event without input: the connection is
	// broken in both directions. Wrapped, it is what read returned.
	if err == io.EOF || !errors.Is(err, io.EOF) || !c.busy() || c.srv.stopped.Load() {
		return false
	}
	c.eof = true
	return c.detach()
}

// detach moves the connection from gnet to the readiness watcher.
func (c *Conn) detach() bool {
	fd, err := duplicate(c.fd)
	if err != nil {
		return false
	}
	if c.watched {
		// The copy keeps the socket open, so closing the old number would not end
		// the old watch.
		c.loop.watcher.forget(c.fd)
	}
	c.gc, c.fd, c.moving = nil, fd, false
	c.watched, c.roomWatched, c.inputWatched, c.reading = false, false, false, false
	// Whatever was decided while gnet had it is decided again.
	c.loop.touch(c)
	c.loop.remember(message{op: opResume, conn: c})
	return true
}

// remember puts m into the mailbox of the running turn.
func (l *loop) remember(m message) {
	l.mu.Lock()
	l.box = append(l.box, m)
	l.mu.Unlock()
}

// ioError is a reason with the system's error behind it.
type ioError struct {
	reason, err error
}

func (e *ioError) Error() string   { return e.reason.Error() + ": " + e.err.Error() }
func (e *ioError) Unwrap() []error { return []error{e.reason, e.err} }

// clock is the time since the server was made; it only has to be monotonic.
func (s *Server) clock() time.Duration { return time.Since(s.born) }
