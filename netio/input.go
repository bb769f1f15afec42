package netio

import (
	"encoding/binary"
	"fmt"
	"time"
)

// input turns a connection's bytes into frames. Loop only.
//
// A frame that is in gnet's read buffer entirely is copied once, to a pooled buffer of
// the right size. Of a frame that is not, the announced length is only a claim: it
// gets a buffer of its full size at once while the sum of all that is reserved on such
// claims stays small, otherwise one that grows with what has come until it is granted
// all of it (grants.go). What a full read buffer has not brought of it is read from
// the socket straight into the frame, and with the same call the frames that are
// expected behind it (ahead.go).
type input struct {
	head    [4]byte
	headLen int
	frame   *Frame        // being filled
	since   time.Duration // when the first byte of the current frame came; 0: between frames
	usual   int           // length of the last frame, if more were wanted behind it; else 0
	stash   []byte        // read, not yet wanted: the connection was stopped
	stashed *Frame        // the buffer behind stash
}

const (
	// maxClaim is the most memory one frame gets on the strength of its length.
	maxClaim = 1 << 20
	// allClaims bounds the same over all connections.
	allClaims = 64 << 20
	// firstBytes is what a frame starts with when allClaims is used up.
	firstBytes = 4 << 10
	// directBytes is the remainder from which a call of its own pays although nothing is
	// expected behind it.
	directBytes = readBufferBytes / 4
	// directBudget is how much one connection may read directly in a turn.
	directBudget = 1 << 20
)

// receive takes the bytes of one read.
func (c *Conn) receive(buf []byte) {
	if c.in.stash != nil || !c.reading {
		// The event was on its way when reading was stopped.
		c.keep(buf)
		return
	}
	if rest, ok := c.consume(buf); !ok {
		return
	} else if len(rest) > 0 {
		c.keep(rest)
	} else if len(buf) == readBufferBytes && !c.readDirect() {
		return
	}
	if c.in.stash != nil || !c.mayGoOn() {
		c.stopReading()
	}
}

// between reports whether no frame has been begun.
func (in *input) between() bool { return in.frame == nil && in.headLen == 0 }

// mayGoOn decides whether to read from where the input stands.
func (c *Conn) mayGoOn() bool {
	if c.in.between() {
		return c.mayRead()
	}
	return c.mayFill()
}

// consume cuts buf into frames and delivers them, until it is used up or the
// connection is to be stopped; rest is what was not looked at. Not ok: closed.
func (c *Conn) consume(buf []byte) (rest []byte, ok bool) {
	in := &c.in
	for len(buf) > 0 {
		if in.between() {
			if !c.mayRead() {
				return buf, c.reason == nil
			}
			in.since = c.loop.now
		} else if !c.wanted() {
			return buf, c.reason == nil
		}
		if in.frame == nil {
			n := copy(in.head[in.headLen:], buf)
			if in.headLen += n; in.headLen < len(in.head) {
				return nil, true
			}
			buf = buf[n:]
			need := int(int32(binary.BigEndian.Uint32(in.head[:])))
			if need <= 0 || need > int(c.srv.cfg.MaxFrameBytes) {
				c.refuseLength(need, buf)
				return nil, false
			}
			in.headLen = 0
			in.frame = c.newPartial(need, len(buf))
		}
		f := in.frame
		n := min(f.need-f.have, len(buf))
		if f.have+n > len(f.store) {
			f = c.grow(f, f.have+n)
		}
		copy(f.store[f.have:f.have+n], buf)
		buf = buf[n:]
		if c.filled(f, n); f.have < f.need {
			return nil, true
		}
		if !c.deliver(f) {
			return nil, false
		}
	}
	return nil, true
}

func (c *Conn) filled(f *Frame, n int) {
	f.have += n
	c.srv.inFlight.Add(int64(n))
	c.loop.srv.stats.bytesIn.Add(int64(n))
}

// newPartial returns a frame for need bytes of which have are at hand.
func (c *Conn) newPartial(need, have int) *Frame {
	f := c.newBuffer(need, min(have, need))
	f.need = need
	return f
}

// newBuffer returns an empty frame with room for at least have of need bytes.
func (c *Conn) newBuffer(need, have int) *Frame {
	lent := 0
	if missing := need - have; missing > 0 {
		// Doubling keeps the copying linear and the unused part below what has come.
		lent = min(missing, max(have, maxClaim))
		if c.srv.claims.Add(int64(lent)) > allClaims {
			less := min(missing, max(have, firstBytes-have))
			c.srv.claims.Add(int64(less - lent))
			lent = less
		}
	}
	f := newFrame(c, have+lent)
	f.lent = lent
	return f
}

// grow moves an incomplete frame to a larger buffer.
func (c *Conn) grow(f *Frame, atLeast int) *Frame {
	var g *Frame
	if f.grant != 0 { // there is room for all of it: no doubling, no garbage
		g = newFrame(c, f.need)
	} else {
		g = c.newBuffer(f.need, atLeast)
	}
	g.need, g.have, g.grant = f.need, f.have, f.grant
	copy(g.store, f.store[:f.have])
	c.in.frame = g
	c.settle(f)
	f.recycle()
	return g
}

func (c *Conn) settle(f *Frame) {
	if f.lent != 0 {
		c.srv.claims.Add(-int64(f.lent))
		f.lent = 0
	}
}

// deliver hands a complete frame to the handler; false when the connection is to
// be closed.
func (c *Conn) deliver(f *Frame) bool {
	c.settle(f)
	c.in.frame, c.in.since = nil, 0
	c.lastUse = c.loop.now
	f.Bytes = f.store[:f.need:f.need]
	f.refs.Store(1)
	c.inFlight.Add(int64(f.need)) // the total counts it already
	c.srv.stats.frames.Add(1)
	need := f.need
	c.srv.handler.Frame(c, f)
	if c.in.usual = 0; c.wanted() {
		c.in.usual = need
	}
	return c.reason == nil && c.closing.Load() == nil
}

// readDirect goes on where gnet's read buffer ended: it fills the current frame from
// the socket, and with the same call those that are expected behind it. End of stream
// and errors are left to gnet's next read, which meets them again. False: closed.
func (c *Conn) readDirect() bool {
	a := &c.loop.ahead
	for budget := directBudget; budget > 0; {
		f := c.in.frame
		if f == nil || !c.mayFill() {
			return true
		}
		if f.have == len(f.store) {
			f = c.grow(f, f.have+1)
		}
		room := f.store[f.have:min(f.need, len(f.store), f.have+budget)]
		expected, size := 0, 0
		if f.have+len(room) == f.need {
			expected, size = a.expect(c.in.usual)
		}
		if expected == 0 && len(room) < directBytes {
			return true
		}
		n, err := a.read(c.fd, room, expected, size)
		if n <= 0 || err != nil {
			return true
		}
		filled := min(n, len(room))
		budget -= filled
		if c.filled(f, filled); f.have == f.need {
			return c.deliver(f) && c.takeAhead(n-filled, size)
		}
		if filled < len(room) {
			return true // the socket is empty
		}
	}
	return true
}

// keep puts bytes aside that were read and are not wanted yet. There is at most what
// one turn reads of them, because reading stops with the first.
func (c *Conn) keep(pieces ...[]byte) {
	size := 0
	for _, b := range pieces {
		size += len(b)
	}
	if size == 0 {
		return
	}
	in := &c.in
	old := in.stashed
	s := newFrame(c, len(in.stash)+size)
	n := copy(s.store, in.stash)
	for _, b := range pieces {
		n += copy(s.store[n:], b)
	}
	in.stash, in.stashed = s.store[:n], s
	if old != nil {
		old.recycle()
	}
	c.srv.inFlight.Add(int64(size))
}

// resume goes on reading if nothing speaks against it any more.
func (l *loop) resume(c *Conn) {
	if c.closed || c.reading || c.eof && c.in.stash == nil {
		return
	}
	if !c.mayGoOn() {
		return
	}
	if !c.in.between() {
		c.in.since = l.now // that it was stopped is not the peer's fault
	}
	if c.in.stash != nil && !c.unstash() {
		l.send(c)
		return
	}
	if c.closed || c.reason != nil {
		return
	}
	if c.eof {
		l.finish(c)
		return
	}
	c.startReading()
}

// unstash delivers what was put aside; false when not all of it was wanted.
func (c *Conn) unstash() bool {
	in := &c.in
	stash, buffer := in.stash, in.stashed
	in.stash, in.stashed = nil, nil
	c.srv.unchargeTotal(int64(len(stash)))
	rest, ok := c.consume(stash)
	if ok && len(rest) > 0 {
		c.keep(rest)
	}
	buffer.recycle()
	return ok && len(rest) == 0
}

// drop releases what the connection had not delivered.
func (in *input) drop(c *Conn) {
	if f := in.frame; f != nil {
		c.settle(f)
		grant := f.grant
		c.srv.unchargeTotal(int64(f.have))
		f.recycle()
		c.srv.grants.back(grant)
	}
	if c.grantWaits {
		c.srv.grants.leave(c)
	}
	if in.stashed != nil {
		c.srv.unchargeTotal(int64(len(in.stash)))
		in.stashed.recycle()
	}
	*in = input{}
}

// refuseLength closes a connection for a length that cannot be.
func (c *Conn) refuseLength(need int, next []byte) {
	err := fmt.Errorf("%w: %d bytes announced, 1 to %d are accepted", ErrFrameLength, need, c.srv.cfg.MaxFrameBytes)
	c.srv.rejects.frame(c, err, c.in.head[:], next)
	c.loop.closeConn(c, err)
}
