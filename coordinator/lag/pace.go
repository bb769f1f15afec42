package lag

import (
	"math/rand/v2"
	"time"
)

// pace says when to check: once in each interval, at any moment of it. At even distances
// the checks would see groups that commit at even distances, every five seconds as clients
// do, always equally long after a commit, and a little later each time: for hours their
// lag would seem to grow.
type pace struct {
	interval time.Duration
	next     time.Time // begin of the next interval
}

// wait gives the time from now to the next check.
func (p *pace) wait(now time.Time) time.Duration {
	if now.Sub(p.next) > p.interval { // the first one, or checks take longer than intervals
		p.next = now
	}
	at := p.next.Add(rand.N(p.interval))
	p.next = p.next.Add(p.interval)
	return max(0, at.Sub(now))
}
