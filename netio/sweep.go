package netio

import "time"

const (
	// hurry is how long a large frame may take to complete while memory is short.
	hurry = 10 * time.Second
	// sweepsPerTimeout is how often connections are looked at within IdleTimeout.
	sweepsPerTimeout = 8
	minSweepInterval = 10 * time.Millisecond
	maxSweepInterval = 5 * time.Second
)

// sweeper has every loop look at its connections now and then: one coarse timer for
// all, so a timeout may come later by an eighth of it.
func (s *Server) sweeper() {
	defer s.background.Done()
	interval := maxSweepInterval
	if s.cfg.IdleTimeout > 0 {
		interval = min(max(s.cfg.IdleTimeout/sweepsPerTimeout, minSweepInterval), maxSweepInterval)
	}
	for s.pause(interval, nil) {
		s.postAll(opSweep)
	}
}

// sweep closes what has been idle or slow for too long.
func (l *loop) sweep() {
	timeout := l.srv.cfg.IdleTimeout
	var slowest *Conn
	for _, c := range l.conns {
		if timeout > 0 {
			if err := c.overdue(l.now, timeout); err != nil {
				l.closeConn(c, err)
				continue
			}
		}
		if f := c.in.frame; f != nil && f.have >= largePartial && !c.grantWaits && l.now-c.in.since > hurry &&
			(slowest == nil || c.in.since < slowest.in.since) {
			slowest = c
		}
	}
	// One at a time: the memory it frees may be enough for the others to finish.
	if slowest != nil && (l.srv.inFlight.Load() >= l.srv.cfg.TotalInFlightBytes || l.srv.grants.wanting()) {
		l.closeConn(slowest, ErrSlowFrame)
	}
}

// overdue returns why a connection has had its time, if it has.
func (c *Conn) overdue(now, timeout time.Duration) error {
	switch {
	case c.blockedAt != 0 && now-c.blockedAt > timeout:
		return ErrSlowReader
	case !c.in.between() && c.reading && now-c.in.since > timeout:
		return ErrSlowFrame
	case c.in.between() && !c.busy() && c.pauses.Load() <= 0 && now-c.lastUse > timeout:
		return ErrIdle
	}
	return nil
}
