package netio

import (
	"net/netip"
	"sync/atomic"
	"time"

	"github.com/panjf2000/gnet/v2"
)

// Conn is one connection. Owned by its loop; the methods that say so may be called
// from any goroutine.
type Conn struct {
	// State is the handler's, touched on the loop only.
	State any

	id       uint64
	srv      *Server
	listener string
	remote   netip.AddrPort
	ip       string
	// withinHost: the peer is a process of this host.
	withinHost bool
	loop       *loop // set before the handler sees the connection, never changed

	// Any goroutine.
	inFlight atomic.Int64 // bytes of frames held and responses queued
	resumeAt atomic.Int64 // inFlight at which a throttled connection goes on
	stalled  atomic.Bool  // reading stopped for memory, see memory.go
	pauses   atomic.Int32
	closing  atomic.Pointer[closeReason]

	// Loop only.
	gc       gnet.Conn // nil once the connection was taken over from gnet
	fd       int
	reading  bool // input is watched for
	eof      bool // the peer has finished sending
	draining bool // no more frames; close when all is answered
	closed   bool
	opened   bool
	inTurn   bool // closing must be left to the caller, see loop.closeConn
	moving   bool // gnet was asked to let go of the connection, see reading.go
	dirty    bool // in loop.dirty
	starved  bool // in loop.starved
	queued   bool // in loop.bulk
	nextBulk *Conn

	grantWaits bool  // its frame waits for room, see grants.go
	grantAsked int64 // how much; set while grantWaits

	watched      bool // the watcher knows fd
	roomWatched  bool // the watcher waits for room in the socket
	inputWatched bool // the watcher waits for input

	in        input
	out       window
	cur       cursor
	reason    error         // why gnet was asked to close
	lastUse   time.Duration // last complete frame or byte sent, loop clock
	blockedAt time.Duration // since when answers wait for room in the socket; 0: they do not
}

type closeReason struct{ err error }

// ID is unique among the connections of a server.
func (c *Conn) ID() uint64 { return c.id }

// Listener is the name of the listener the connection came in by.
func (c *Conn) Listener() string { return c.listener }

// RemoteIP is the peer's address without port and zone.
func (c *Conn) RemoteIP() string { return c.ip }

// RemoteAddr is the peer's address and port.
func (c *Conn) RemoteAddr() string { return c.remote.String() }

// Reserve takes the next place in the order of responses. Loop only, and only
// from Handler.Frame or a function given to Post.
func (c *Conn) Reserve() Slot {
	c.charge(slotOverhead)
	return Slot{c, c.out.reserve()}
}

// Pause stops delivering and reading frames, at the latest after the current one,
// until Resume has been called as often. Any goroutine; to be sure that no further
// frame comes, call it on the loop.
func (c *Conn) Pause() { c.pauses.Add(1) }

// Resume takes back one Pause. Any goroutine.
func (c *Conn) Resume() {
	switch n := c.pauses.Add(-1); {
	case n == 0:
		c.loop.post(message{op: opResume, conn: c})
	case n < 0:
		panic("netio: connection resumed more often than paused")
	}
}

// Post runs fn on the loop, in order with everything posted and sent before it by
// the same goroutine. After the connection closed fn is dropped. Any goroutine.
func (c *Conn) Post(fn func()) {
	c.loop.post(message{op: opCall, conn: c, fn: fn})
}

// Close ends the connection. Answers that were sent before and are next in order
// leave first, as far as the socket takes them without waiting. The first reason
// counts. Any goroutine.
func (c *Conn) Close(reason error) {
	if c.closing.CompareAndSwap(nil, &closeReason{reason}) {
		c.loop.post(message{op: opClose, conn: c})
	}
}

// busy reports whether anything is in flight: unanswered, unsent, or unread.
func (c *Conn) busy() bool { return !c.out.empty() || c.in.stash != nil }
