package netio

import (
	"encoding/binary"
	"io"
	"sync"
	"testing"
)

// More large frames at once than memory has room for are all answered, with memory
// bounded, and somebody who stops in the middle of one only costs time.
func TestLargeFramesTakeTurns(t *testing.T) {
	const total, size, peers = 8 << 20, 3 << 20, 24
	s := serve(t, Config{TotalInFlightBytes: total, Loops: 1}, handlerFuncs{frame: func(c *Conn, f *Frame) {
		if n := c.srv.inFlight.Load(); n > total+peers*(largePartial+readBufferBytes+directBudget) {
			t.Errorf("%d bytes in flight", n)
		}
		r := NewResponse()
		r.Buf = binary.BigEndian.AppendUint32(r.Buf, 4)
		r.Buf = append(r.Buf, f.Bytes[:4]...)
		c.Reserve().Send(r)
		f.Release()
	}})
	gone := dial(t, s)
	write(t, gone, binary.BigEndian.AppendUint32(nil, size))
	write(t, gone, make([]byte, 2<<20))
	var all sync.WaitGroup
	for range peers {
		c := dial(t, s)
		all.Go(func() {
			for range 3 {
				if _, err := c.Write(frameOf(make([]byte, size))); err != nil {
					t.Error(err)
					return
				}
				if _, err := io.CopyN(io.Discard, c, 8); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	gone.Close()
	all.Wait()
	eventually(t, "all room to be given back", func() bool {
		s.grants.mu.Lock()
		defer s.grants.mu.Unlock()
		return s.grants.used == 0 && len(s.grants.waiting) == 0 && s.inFlight.Load() == 0
	})
}

func TestGrantsGoInOrder(t *testing.T) {
	g := grants{limit: 10}
	a, b, c := &Conn{}, &Conn{}, &Conn{}
	if !g.take(a, 30) {
		t.Fatal("a frame larger than the limit is not granted although it is alone")
	}
	if g.take(b, 9) || g.take(c, 1) {
		t.Fatal("granted beyond the limit, or past one who waits")
	}
	g.mu.Lock()
	g.used = 0
	next := g.next()
	g.mu.Unlock()
	if len(next) != 2 || next[0] != b || next[1] != c || g.used != 10 {
		t.Fatalf("%d granted, %d used", len(next), g.used)
	}
}
