package netio

import (
	"math/bits"
	"sync"
	"sync/atomic"

	"ringmain/internal/invariant"
)

// Frame is one request as it came, without the length prefix, in a buffer that is
// used again.
// It is born with one holder, the Handler. The last Release gives the buffer back
// and takes the bytes off what the connection has in flight.
type Frame struct {
	// Bytes is the frame; it must not be touched after the holder's Release.
	Bytes []byte

	conn  *Conn
	store []byte // the whole buffer; len(store) is its class size
	class int    // -1: too large for a class
	refs  atomic.Int32

	mapped bool // store is no memory of Go's, see spares.go

	// Only while the frame is being filled.
	need int // announced length
	have int // bytes received
	lent int // bytes of the speculation budget this buffer uses, see input.go

	grant int64 // room that the frame holds until its last release, see grants.go
}

// Retain adds a holder, who calls Release in turn. Any goroutine that holds f may
// call it.
func (f *Frame) Retain() {
	if f.refs.Add(1) <= 1 {
		panic("netio: frame retained after its last release")
	}
}

// Release drops a holder. Any goroutine may call it, once per holder.
func (f *Frame) Release() {
	switch n := f.refs.Add(-1); {
	case n > 0:
		return
	case n < 0:
		panic("netio: frame released more often than retained")
	}
	c, size, grant := f.conn, int64(len(f.Bytes)), f.grant
	f.recycle()
	c.uncharge(size)
	c.srv.grants.back(grant)
}

// recycle gives the buffer back to where newFrame has it from.
func (f *Frame) recycle() {
	if invariant.Enabled {
		// Whoever still reads the frame reads this instead of another peer's bytes.
		for i := range f.store {
			f.store[i] = 0xdb
		}
	}
	spares := &f.conn.srv.spares
	f.conn, f.Bytes = nil, nil
	f.need, f.have, f.lent, f.grant = 0, 0, 0, 0
	if len(f.store) > pooledBytes {
		spares.put(f)
		return
	}
	framePools[f.class].Put(f)
}

// Buffers come in classes, four to a doubling, so that at most a quarter of one is
// unused: a 64 KiB batch with its header around it must not cost 128 KiB.
const (
	minClassBits  = 10 // 1 KiB
	maxClassBits  = 27 // 128 MiB; above, a buffer is made to measure
	classesPerBit = 4
)

var framePools [(maxClassBits-minClassBits)*classesPerBit + 1]sync.Pool

// classOf returns the smallest class that holds n bytes, and its size; -1 and n
// when there is none.
func classOf(n int) (class, size int) {
	if n <= 1<<minClassBits {
		return 0, 1 << minClassBits
	}
	if n > 1<<maxClassBits {
		return -1, n
	}
	b := bits.Len(uint(n-1)) - 1 // 2^b < n <= 2^(b+1)
	step := 1 << b / classesPerBit
	k := (n - 1<<b + step - 1) / step // 1..classesPerBit
	return (b-minClassBits)*classesPerBit + k, 1<<b + k*step
}

// newFrame returns a frame whose buffer holds at least n bytes.
func newFrame(c *Conn, n int) *Frame {
	class, size := classOf(n)
	if size > pooledBytes {
		return c.srv.spares.get(c, class, size)
	}
	f := pooledFrame(class, size)
	f.conn = c
	return f
}

// pooledFrame returns a frame of a class whose buffers are of the heap.
func pooledFrame(class, size int) *Frame {
	if f, _ := framePools[class].Get().(*Frame); f != nil {
		return f
	}
	return &Frame{store: make([]byte, size), class: class}
}
