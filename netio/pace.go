package netio

import (
	"sync/atomic"
	"time"
)

// pace is how a loop's bulk gives way to requests that are in a hurry. While such
// requests come (Conn.Hurry), what sending large answers takes is owed as a pause, some
// multiple of it. The multiple follows how late the pauses end: on time, and there are
// processors to spare, so it goes down to next to nothing; late, and everybody else who
// wants to run waits as well, our shards and on this host the clients, so it goes up
// (perf/0019-bulk-gives-way.md). Without hurry nothing is owed.
//
// Loop only, but for overslept.
type pace struct {
	least     float64       // the smallest multiple
	most      float64       // the largest
	multiple  float64       // of what was spent, in force
	owed      time.Duration // pause not taken yet; below 0: pauses took so much too long
	until     time.Duration // the pause under way ends then, loop clock
	overslept atomic.Int64  // by how much the last pause ended late, and 1 so that 0 is none
}

const (
	// hurryLasts is how long after a request in a hurry the bulk gives way.
	hurryLasts = 100 * time.Millisecond
	// hurryStep is how exactly the last hurry is known: so seldom is it written, which
	// all loops share.
	hurryStep = 5 * time.Millisecond
	// leastPause is what is saved up before a pause is taken: waking from one costs
	// some tens of microseconds.
	leastPause = 100 * time.Microsecond
	// mostPause bounds what one slice that took long can cost, and what one pause costs
	// that ends late: by a processor's turn of others, or where timers are coarse. What
	// it takes longer counts as taken of the next.
	mostPause = 2 * time.Millisecond
	// mostCredit bounds that: timers are not coarser than this, but a process that was stopped
	// for long would have the bulk give way to nobody for as long again, or for much longer.
	mostCredit = 50 * mostPause
	// lateAfter is when the end of a pause is late. A timer on an idle processor is
	// some 60 us late here.
	lateAfter = 200 * time.Microsecond
	// leastMultiple keeps some pauses coming, to be measured, unless the share is larger.
	leastMultiple = 1.0 / 64
	// The multiple doubles where a pause ends late and falls by a few ten thousandths
	// where it does not: what a hurried request waits for once in a hundred times is
	// still to be seen, and some thousand pauses a second bring it down in seconds.
	raise, lower = 2, 0.9997
)

func newPace(share int) pace {
	most := float64(100-share) / float64(share)
	least := min(leastMultiple, most)
	return pace{least: least, most: most, multiple: least}
}

// Hurry says that the request being delivered is one that large answers give way to.
// Loop only, from Handler.Frame.
func (c *Conn) Hurry() {
	at := &c.srv.hurryAt
	if now := int64(c.loop.now); now-at.Load() > int64(hurryStep) {
		at.Store(now)
	}
}

// hurried reports whether requests in a hurry are about.
func (l *loop) hurried() bool {
	return int64(l.now)-l.srv.hurryAt.Load() <= int64(hurryLasts)
}

// spent notes that sending in bulk took d.
func (p *pace) spent(d time.Duration) { p.owed += time.Duration(float64(d) * p.multiple) }

// pauses reports whether the bulk may not send now: it begins a pause when one is due.
func (p *pace) pauses(now time.Duration, hurried bool) bool {
	late := time.Duration(p.overslept.Swap(0))
	switch {
	case late > lateAfter:
		p.multiple = min(p.multiple*raise, p.most)
		p.owed = max(p.owed-max(0, late-mostPause), -mostCredit)
	case late > 0:
		p.multiple = max(p.multiple*lower, p.least)
	}
	switch {
	case now < p.until:
		return true
	case !hurried || p.most == 0:
		p.owed, p.multiple = 0, p.least
		return false
	case p.owed < leastPause:
		return false
	}
	p.until = now + min(p.owed, mostPause)
	p.owed = 0
	return true
}

// left is how much of a pause is to come.
func (p *pace) left(now time.Duration) time.Duration { return max(0, p.until-now) }

// ended notes that a pause of d took so long. Any goroutine.
func (p *pace) ended(d, took time.Duration) { p.overslept.Store(int64(max(0, took-d)) + 1) }
