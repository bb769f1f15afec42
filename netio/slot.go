package netio

// Slot is a place in the order of a connection's responses. It is a small value;
// pass it on by copying it. Exactly one Send, Finish or Skip must follow each Reserve.
type Slot struct {
	c   *Conn
	seq uint64
}

// skipped stands in the order for a request that gets no answer.
var skipped = new(Response)

// Conn returns the connection the slot belongs to.
func (s Slot) Conn() *Conn { return s.c }

// Send gives the answer, which now belongs to the connection. Any goroutine may
// call it. After the connection closed it only releases what r holds.
func (s Slot) Send(r *Response) {
	r.seal()
	memory := r.memory
	s.c.charge(memory)
	if !s.c.loop.post(message{op: opSend, conn: s.c, seq: s.seq, response: r}) {
		r.recycle()
		s.c.uncharge(memory)
	}
}

// Answerer makes an answer.
type Answerer interface {
	// Answer is called once, on the connection's loop, and gives the answer, nil when
	// there is none. It must not block. The connection may have been closed.
	Answer() *Response
}

// Finish has the answer made on the connection's loop: what the request took from the
// pools there goes back there, and whoever finished its work has nothing more to do
// with it. Any goroutine may call it.
func (s Slot) Finish(a Answerer) {
	if !s.c.loop.post(message{op: opAnswer, conn: s.c, seq: s.seq, answerer: a}) {
		s.c.loop.answer(s.c, s.seq, a) // the loop has ended, and so has the connection
	}
}

// answer makes an answer and stores it.
func (l *loop) answer(c *Conn, seq uint64, a Answerer) {
	r := a.Answer()
	if r == nil {
		r = skipped
	} else {
		r.seal()
		c.charge(r.memory)
	}
	l.complete(c, seq, r)
}

// Skip says that there will be no answer (acks=0). Any goroutine may call it.
func (s Slot) Skip() {
	s.c.loop.post(message{op: opSend, conn: s.c, seq: s.seq, response: skipped})
}

// window is the responses between the first unsent one and the last reserved
// place, as a ring. Owned by the loop.
type window struct {
	ring       []*Response // length a power of two, or 0
	head, tail uint64      // places head..tail-1 are reserved
}

// slotOverhead is what a reserved place counts as in bytes in flight, so that many
// tiny requests are bounded as well.
const slotOverhead = 256

func (w *window) empty() bool { return w.head == w.tail }

func (w *window) reserve() uint64 {
	if n := uint64(len(w.ring)); w.tail-w.head == n {
		grown := make([]*Response, max(8, 2*n))
		for seq := w.head; seq != w.tail; seq++ {
			grown[seq&(uint64(len(grown))-1)] = w.ring[seq&(n-1)]
		}
		w.ring = grown
	}
	seq := w.tail
	w.tail++
	return seq
}

// put stores the answer to seq; false when the place was answered before.
func (w *window) put(seq uint64, r *Response) bool {
	if seq < w.head || seq >= w.tail {
		return false
	}
	p := &w.ring[seq&uint64(len(w.ring)-1)]
	if *p != nil {
		return false
	}
	*p = r
	return true
}

// at returns the answer at place seq, nil while there is none.
func (w *window) at(seq uint64) *Response {
	if seq == w.tail {
		return nil
	}
	return w.ring[seq&uint64(len(w.ring)-1)]
}

// pop forgets the first place, which must be answered. A ring that grew under a
// deep pipeline is given up once it has drained.
func (w *window) pop() {
	w.ring[w.head&uint64(len(w.ring)-1)] = nil
	w.head++
	if w.head == w.tail && len(w.ring) > 256 {
		w.ring = nil
	}
}
