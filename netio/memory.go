package netio

// Memory in flight is counted per connection and in total. Three rules say when a
// connection is read:
//
//  1. Between frames, not while it has ConnInFlightBytes or more in flight; again
//     when that has fallen to half.
//  2. Between frames, not while all connections together have TotalInFlightBytes or
//     more and this one has anything at all; again when either is over. So a
//     connection that waits for each answer is never held up by others' backlogs.
//  3. Inside a large frame, not before there is room for all of it among the large
//     ones, which share half of the limit (grants.go). While others wait for room
//     such frames are given little time (loop.sweep): whoever announces much and
//     sends slowly loses against those who do not.
//
// A frame is counted once it is complete, its bytes on the way under the total only.

// largePartial is the part of an incomplete frame from which rule 3 applies to it.
const largePartial = 1 << 20

func (c *Conn) charge(n int64) {
	c.inFlight.Add(n)
	c.srv.inFlight.Add(n)
}

// uncharge takes n bytes off. Any goroutine.
func (c *Conn) uncharge(n int64) {
	left := c.inFlight.Add(-n)
	c.srv.unchargeTotal(n)
	// The loop sets stalled and then looks at inFlight once more, so one of the two
	// sees the other.
	if c.stalled.Load() && left <= c.resumeAt.Load() && c.stalled.CompareAndSwap(true, false) {
		c.loop.post(message{op: opResume, conn: c})
	}
}

func (s *Server) unchargeTotal(n int64) {
	left := s.inFlight.Add(-n)
	if s.short.Load() && left <= s.cfg.TotalInFlightBytes/4*3 && s.short.CompareAndSwap(true, false) {
		s.postAll(opMemory)
	}
}

// wanted reports whether the handler and the server want further frames at all.
func (c *Conn) wanted() bool {
	return c.pauses.Load() <= 0 && !c.draining && c.closing.Load() == nil
}

// mayRead decides whether the next frame may be read or delivered, and if not for
// memory, sees to it that the connection is resumed.
func (c *Conn) mayRead() bool {
	if !c.wanted() {
		return false
	}
	held := c.inFlight.Load()
	if limit := c.srv.cfg.ConnInFlightBytes; held >= limit {
		return !c.stall(limit/2, false)
	}
	if held > 0 && c.srv.inFlight.Load() >= c.srv.cfg.TotalInFlightBytes {
		return !c.stall(0, true)
	}
	return true
}

// mayFill decides whether an incomplete frame may grow by reading (rule 3).
func (c *Conn) mayFill() bool {
	if !c.wanted() {
		return false
	}
	f := c.in.frame
	if f == nil || f.have < largePartial {
		return true
	}
	if c.grantWaits {
		return false
	}
	if f.grant == 0 {
		if !c.srv.grants.take(c, int64(f.need)) {
			c.grantWaits = true
			return false
		}
		f.grant = int64(f.need)
	}
	return true
}

// stall marks the connection as stopped until it has at most resumeAt bytes in
// flight, or, if starved, until memory is there again. It reports false when that
// was so by the time the mark was set.
func (c *Conn) stall(resumeAt int64, starved bool) bool {
	s := c.srv
	c.resumeAt.Store(resumeAt)
	c.stalled.Store(true)
	if starved {
		if !c.starved {
			c.starved = true
			c.loop.starved = append(c.loop.starved, c)
		}
		s.short.Store(true)
		if s.inFlight.Load() <= s.cfg.TotalInFlightBytes/4*3 && s.short.CompareAndSwap(true, false) {
			s.postAll(opMemory)
		}
	}
	if c.inFlight.Load() <= resumeAt && c.stalled.CompareAndSwap(true, false) {
		return false
	}
	return true
}
