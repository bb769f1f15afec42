package netio

// stopReading ends the watching for input. What is in the socket stays there and,
// after a while, holds up the peer.
//
// gnet cannot do that. On Linux its epoll descriptor is found once per loop (see
// poller_linux.go) and the interest of this one connection is changed behind
// gnet's back, which costs gnet nothing: it keeps no copy of it. Where that is not
// possible, gnet is made to let go of the connection, which then lives on the
// watcher alone; dearer, as each read needs a message, but the same to the handler.
func (c *Conn) stopReading() {
	if !c.reading || c.closed {
		return
	}
	c.reading = false
	l := c.loop
	l.srv.stats.stopped.Add(1)
	switch {
	case c.gc == nil:
		c.watch()
	case l.poller >= 0 && setReading(l.poller, c.fd, false) == nil:
	default:
		c.moving = true
		if !c.inTurn {
			_ = l.el.Close(c.gc)
		}
	}
}

// startReading takes stopReading back.
func (c *Conn) startReading() {
	if c.reading || c.closed || c.eof || c.moving {
		return // moving: detach decides again
	}
	c.reading = true
	if c.gc == nil {
		c.watch()
	} else if err := setReading(c.loop.poller, c.fd, true); err != nil {
		c.loop.closeConn(c, &ioError{ErrPeerClosed, err})
	}
}

// readDetached reads from a connection that gnet does not have any more.
func (c *Conn) readDetached() {
	l := c.loop
	if !c.reading {
		return
	}
	if l.scratch == nil {
		l.scratch = make([]byte, readBufferBytes)
	}
	n, err := readDescriptor(c.fd, l.scratch)
	switch {
	case n > 0:
		c.inTurn = true
		c.receive(l.scratch[:n])
		c.inTurn = false
		if c.reason != nil {
			l.closeConn(c, c.reason)
			return
		}
		c.watch()
	case wouldBlock(err):
		c.watch()
	case err != nil:
		l.closeConn(c, &ioError{ErrPeerClosed, err})
	default:
		c.eof, c.reading = true, false
		l.finish(c)
	}
}

// watch brings what the watcher waits for into line with what c needs. The watcher
// reports each wish once.
func (c *Conn) watch() {
	input := c.gc == nil && c.reading
	if !input && !c.roomWatched && !c.inputWatched {
		return
	}
	c.inputWatched = input
	if err := c.loop.watcher.watch(c.fd, c.id, input, c.roomWatched, !c.watched); err != nil {
		c.loop.closeConn(c, &ioError{ErrSend, err})
		return
	}
	c.watched = true
}

// watchRoom asks to be told when the socket takes bytes again.
func (c *Conn) watchRoom() {
	if !c.roomWatched {
		c.roomWatched = true
		c.watch()
	}
}

// ready handles a batch of the watcher, which goes on waiting once it is done:
// one batch at a time, so that many busy senders cannot keep the loop from reading.
func (l *loop) ready() {
	for _, e := range l.watcher.batch {
		if c := l.conns[e.id]; c != nil { // else closed since
			l.readyConn(c, e)
		}
	}
	l.watcher.handled()
}

func (l *loop) readyConn(c *Conn, e readiness) {
	room, input := c.roomWatched, c.inputWatched
	c.roomWatched, c.inputWatched = false, false
	if e.broken && c.gc == nil && c.eof {
		// Both directions are gone, so no answer can arrive any more.
		l.closeConn(c, ErrPeerClosed)
		return
	}
	if room {
		if e.room || e.broken {
			l.send(c)
		} else {
			c.roomWatched = true
		}
	}
	switch {
	case c.closed:
	case input && (e.input || e.broken):
		c.readDetached()
	case input || c.roomWatched:
		c.watch()
	}
}
