package netio

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/panjf2000/gnet/v2"
)

// loop is what we keep beside each gnet event loop: its connections and its
// mailbox. Everything but the mailbox and waking is owned by the event loop's goroutine.
type loop struct {
	srv *Server
	el  gnet.EventLoop
	run gnet.Runnable // scheduled, made once so that a wake-up does not allocate it

	// The mailbox. awake says that a turn is running or on its way, so that any
	// number of messages costs one wake-up; gnet's own queue would wake for each.
	mu    sync.Mutex
	box   []message
	awake bool
	dead  bool

	waking sync.RWMutex // held while the loop is woken
	ended  bool         // gnet's engine is being stopped: the loop is not woken any more; guarded by waking

	taken   []message // the box of the current turn, swapped with box
	conns   map[uint64]*Conn
	dirty   []*Conn // have something to send that was not tried yet
	starved []*Conn // wait for opMemory
	bulk    bulk    // have more to send than a turn allows
	yielder yielder
	pace    pace
	unread  bool // the last turn has left messages in the box

	poller   int // gnet's epoll descriptor, -1 when it cannot be had
	watcher  *watcher
	handling bool // handleTaken is at work
	ahead    ahead
	out      gather
	scratch  []byte // read buffer for connections taken over from gnet
	now      time.Duration
}

type op uint8

const (
	opSend    op = iota // an answer, or skipped
	opAnswer            // have the answer made
	opClose             // the handler wants the connection closed
	opResume            // reading may go on
	opCall              // run fn on behalf of conn
	opMemory            // memory is there again: look at the starved
	opReady             // the watcher has a batch
	opSweep             // look for idle and slow connections
	opDrain             // the server stops: finish what is in flight
	opAbort             // the server stops now
	opGrant             // there is room for the large frame of conn
	opNothing           // only has dirty connections tried
)

type message struct {
	op       op
	conn     *Conn
	seq      uint64
	response *Response
	answerer Answerer
	fn       func()
}

// boxesInARow bounds how many boxes one turn empties before other events of the
// loop have their turn.
const boxesInARow = 4

// maxIdleBox is the longest mailbox kept while nothing is in it.
const maxIdleBox = 1024

// post puts m into the mailbox; false when the loop is gone for good. Any goroutine.
func (l *loop) post(m message) bool {
	l.mu.Lock()
	if l.dead {
		l.mu.Unlock()
		return false
	}
	l.box = append(l.box, m)
	wake := !l.awake
	l.awake = true
	l.mu.Unlock()
	if wake {
		l.wake()
	}
	return true
}

func (l *loop) wake() {
	l.waking.RLock()
	defer l.waking.RUnlock()
	if l.ended {
		return
	}
	// The only error is that gnet's engine has stopped; Server.Stop then empties
	// the mailboxes itself.
	_ = l.el.Execute(context.Background(), l.run)
}

// enter is called at the start of an event of gnet's: answers given during it are
// then collected and leave together in leave, without a wake-up.
func (l *loop) enter() (owner bool) {
	l.now = l.srv.clock()
	l.mu.Lock()
	owner = !l.awake
	l.awake = true
	l.mu.Unlock()
	return owner
}

// leave handles what has come since enter. Without owner a turn was on its way
// already, which will come and mark the loop asleep.
//
// gnet calls OnClose from within closeConn, so an event can be inside handleTaken;
// the one outside then goes on with the box.
func (l *loop) leave(owner bool) {
	if l.handling {
		return
	}
	if owner {
		if l.turn() {
			l.later()
		}
		return
	}
	l.mu.Lock()
	if len(l.box) == 0 {
		l.mu.Unlock()
		return
	}
	l.swap()
	l.mu.Unlock()
	l.handleTaken()
}

// turn empties the mailbox and sends what has become ready. What is left over, in
// the mailbox or to send, is for a turn of its own behind other events: again.
// The caller has read the clock.
func (l *loop) turn() (again bool) {
	if l.bulk.first != nil && l.now-l.bulk.filled >= bulkPause {
		l.refill()
	}
	for range boxesInARow {
		l.mu.Lock()
		if len(l.box) == 0 {
			l.mu.Unlock()
			break
		}
		l.swap()
		l.mu.Unlock()
		l.handleTaken()
	}
	l.handling = true
	l.sendBulk()
	l.handling = false
	l.mu.Lock()
	l.unread = len(l.box) > 0
	l.awake = l.unread
	again = l.unread || l.bulk.first != nil
	l.mu.Unlock()
	return again
}

// swap takes the box; l.mu is held.
func (l *loop) swap() {
	l.taken, l.box = l.box, l.taken[:0]
}

func (l *loop) handleTaken() {
	l.handling = true
	for i := range l.taken {
		l.handle(&l.taken[i])
	}
	clear(l.taken)
	if cap(l.taken) > maxIdleBox && len(l.taken) < maxIdleBox/4 {
		l.taken = nil
	}
	// Sending can close connections and so make others dirty: no range here.
	for i := 0; i < len(l.dirty); i++ {
		c := l.dirty[i]
		l.dirty[i] = nil
		c.dirty = false
		l.send(c)
	}
	l.dirty = l.dirty[:0]
	l.handling = false
}

func (l *loop) handle(m *message) {
	c := m.conn
	switch m.op {
	case opSend:
		l.complete(c, m.seq, m.response)
	case opAnswer:
		l.answer(c, m.seq, m.answerer)
	case opClose:
		if !c.closed {
			c.flush()
			l.closeConn(c, c.closing.Load().err)
		}
	case opResume:
		l.resume(c)
	case opCall:
		if !c.closed {
			m.fn()
		}
	case opMemory:
		// Starving again appends to the same list, so take it first.
		starved := l.starved
		l.starved = nil
		for _, c := range starved {
			c.starved = false
			c.stalled.Store(false)
			l.resume(c)
		}
	case opGrant:
		l.granted(c)
	case opReady:
		l.ready()
	case opSweep:
		l.sweep()
	case opDrain:
		for _, c := range l.conns {
			l.drain(c)
		}
	case opAbort:
		for _, c := range l.conns {
			l.closeConn(c, ErrStopped)
		}
		m.fn()
	}
}

// complete stores an answer and, when it is next in order, lets it be sent.
func (l *loop) complete(c *Conn, seq uint64, r *Response) {
	if c.closed {
		memory := r.memory
		r.recycle()
		c.uncharge(memory)
		return
	}
	if !c.out.put(seq, r) {
		panic(fmt.Sprintf("netio: place %d of connection %d was answered twice", seq, c.id))
	}
	if seq == c.out.head {
		l.touch(c)
	}
}

// touch has c's answers tried at the end of the current batch.
func (l *loop) touch(c *Conn) {
	if !c.dirty {
		c.dirty = true
		l.dirty = append(l.dirty, c)
	}
}

// send sends what is ready and closes a connection that is through or broken.
func (l *loop) send(c *Conn) {
	if c.closed {
		return
	}
	if err := c.flush(); err != nil {
		l.closeConn(c, err)
		return
	}
	l.finish(c)
}

// finish closes a connection that will get no more requests once all is answered.
func (l *loop) finish(c *Conn) {
	switch {
	case c.draining && c.out.empty():
		l.closeConn(c, ErrStopped)
	case c.eof && !c.busy():
		l.closeConn(c, ErrPeerClosed)
	}
}

func (l *loop) drain(c *Conn) {
	c.draining = true
	c.stopReading()
	l.finish(c)
}

// closeConn closes c. During an event of c's own gnet must do it after the event:
// closing under its feet is what makes gnet read from a number that may already
// be another connection.
func (l *loop) closeConn(c *Conn, reason error) {
	if c.closed {
		return
	}
	if c.reason == nil {
		c.reason = reason
	}
	switch {
	case c.inTurn:
		// Returned to gnet as gnet.Close.
	case c.gc != nil:
		_ = l.el.Close(c.gc) // comes back as OnClose
	default:
		fd := c.fd
		c.bury()
		closeDescriptor(fd)
	}
}

// bury releases everything the connection holds. The descriptor is still open.
func (c *Conn) bury() {
	if c.closed {
		return
	}
	c.closed = true
	l := c.loop
	delete(l.conns, c.id)
	owed := int64(c.out.tail-c.out.head) * slotOverhead
	for ; c.out.head != c.out.tail; c.out.head++ {
		if r := c.out.at(c.out.head); r != nil {
			owed += r.memory
			r.recycle()
		}
	}
	c.out.ring = nil
	c.in.drop(c)
	c.uncharge(owed)
	if c.reason == nil {
		c.reason = ErrPeerClosed
	}
	c.srv.departed(c)
	c.srv.handler.Closed(c, c.reason)
}
