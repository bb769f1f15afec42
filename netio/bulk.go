package netio

import (
	"sync/atomic"
	"time"
)

// bulk is the connections of a loop that have more to send than fits into one
// turn, in a queue. What they send is bounded for all of them together in each
// turn, and a turn comes behind all events that were waiting: so the requests and
// small answers of the others wait for one slice, not for a slice of every reader
// there is.
type bulk struct {
	first, last *Conn         // linked by Conn.nextBulk
	left        int           // bytes of file ranges and of the queued that may still leave in this turn
	filled      time.Duration // when left was set last, loop clock
	sending     bool          // the head of the queue is being sent
}

const (
	// lightBytes is the largest file range that does not queue: what a consumer at
	// the end of a log gets is not to wait for those who read the whole of it.
	lightBytes = 16 << 10
	// turnsInARow is how many turns are made while the poller reports nothing, before
	// the loop's goroutine gives others of the process their chance.
	turnsInARow = 4
	// bulkPause is after how long the bulk sends another slice although gnet has had
	// events all the time.
	bulkPause = 200 * time.Microsecond
)

// push queues c behind the others.
func (b *bulk) push(c *Conn) {
	if c.queued {
		return
	}
	c.queued = true
	if b.last == nil {
		b.first = c
	} else {
		b.last.nextBulk = c
	}
	b.last = c
}

func (b *bulk) pop() *Conn {
	c := b.first
	b.first, c.nextBulk, c.queued = c.nextBulk, nil, false
	if b.first == nil {
		b.last = nil
	}
	return c
}

// room is how much of what is bounded may leave now: nothing when this turn's bytes
// are used up or others were there before.
func (b *bulk) room() int {
	if b.first != nil && !b.sending {
		return 0
	}
	return b.left
}

// scheduled is a turn that gnet was asked for. It comes when gnet has delivered all
// events it knew of. As long as there are no new ones, further turns follow at once:
// one behind gnet's back costs a look at the poller, one that is asked for a
// goroutine's wake-up and two looks.
func (l *loop) scheduled() {
	for range turnsInARow {
		l.now = l.srv.clock()
		l.refill()
		if !l.turn() {
			return
		}
		if l.pace.left(l.now) > 0 || pending(l.poller) {
			break
		}
	}
	l.later()
}

// refill allows the bulk another slice, unless it is to give way for now.
func (l *loop) refill() {
	l.bulk.left, l.bulk.filled = l.srv.cfg.SendBudget, l.now
	if l.pace.pauses(l.now, l.hurried()) {
		l.bulk.left = 0
	}
}

// sendBulk gives the queued connections their turn, one after the other, until its
// bytes are used up. l.handling is set: closing a connection makes others dirty.
func (l *loop) sendBulk() {
	b := &l.bulk
	for b.first != nil && b.left > 0 {
		c := b.pop()
		b.sending = true
		l.send(c)
		b.sending = false
	}
}

// yielder asks gnet for further turns of a loop that has not finished. The loop
// cannot do it itself: gnet runs what is asked for during a turn right behind it,
// without a look at the events that have come. This goroutine gets to run when gnet
// has looked and gives up the processor, or on another one; or when a pause is over.
type yielder struct {
	asked   chan time.Duration // when the turn may come, loop clock; 0: at once; capacity 1
	pausing atomic.Bool        // the goroutine waits for the end of a pause
	ended   chan struct{}
}

// later asks for a turn behind the events that have come or, if only the bulk is left
// and that pauses, behind the pause. Loop only.
func (l *loop) later() {
	y := &l.yielder
	if l.unread && (l.pace.left(l.now) > 0 || y.pausing.Load()) {
		l.wake() // a pause is the bulk's: it may end late, and nobody else waits for that
		return
	}
	if y.asked == nil {
		y.asked, y.ended = make(chan time.Duration, 1), make(chan struct{})
		go y.run(l)
	}
	until := time.Duration(0)
	if l.pace.left(l.now) > 0 {
		until = l.pace.until
	}
	select {
	case y.asked <- until:
	default:
	}
}

func (y *yielder) run(l *loop) {
	defer close(y.ended)
	var nap nap
	defer nap.close()
	for until := range y.asked {
		// Every turn within a pause asks for its end, so it may be over by now. Set before
		// the clock is read: a loop that finds it unset when a pause is over waits for none.
		y.pausing.Store(true)
		begun := l.srv.clock()
		if pause := until - begun; pause > 0 {
			nap.take(pause)
			l.pace.ended(pause, l.srv.clock()-begun)
		}
		y.pausing.Store(false)
		l.wake()
	}
}

// stop ends the goroutine. The loop must not run any more.
func (y *yielder) stop() {
	if y.asked != nil {
		close(y.asked)
		<-y.ended
	}
}
