package netio

import (
	"bytes"
	"encoding/binary"
	"errors"
	"sync/atomic"
	"testing"
	"time"
)

// While paused no frame comes, whatever has been read already; resumed, all come.
func TestPauseAndResume(t *testing.T) {
	inBothWays(t, func(t *testing.T) {
		conns := make(chan *Conn, 1)
		var delivered atomic.Int64
		var paused atomic.Bool
		s := serve(t, Config{}, handlerFuncs{
			opened: func(c *Conn) { conns <- c },
			frame: func(c *Conn, f *Frame) {
				if paused.Load() {
					t.Error("a frame came while paused")
				}
				if delivered.Add(1) == 3 {
					paused.Store(true)
					c.Pause()
					c.Pause()
				}
				echo(c, f)
			},
		})
		c := dial(t, s)
		sc := <-conns
		const frames = 200
		go func() {
			// More than one read, so that some is put aside and some stays in the socket.
			body := make([]byte, 10_000)
			for i := range frames {
				binary.BigEndian.PutUint32(body, uint32(i))
				if _, err := c.Write(frameOf(body)); err != nil {
					t.Error(err)
					return
				}
			}
		}()
		for i := range 3 {
			if got := binary.BigEndian.Uint32(read(t, c)); got != uint32(i) {
				t.Fatalf("answer %d came where %d was due", got, i)
			}
		}
		wantQuiet(t, "while paused")
		sc.Resume()
		time.Sleep(20 * time.Millisecond) // one of two pauses is left: still nothing may come
		if n := delivered.Load(); n != 3 {
			t.Fatalf("%d frames delivered while one pause was left", n)
		}
		paused.Store(false)
		sc.Resume()
		for i := 3; i < frames; i++ {
			if got := binary.BigEndian.Uint32(read(t, c)); got != uint32(i) {
				t.Fatalf("answer %d came where %d was due", got, i)
			}
		}
	})
}

// Bytes that were read before a pause are delivered after it even if the peer sends
// nothing more, and even if it has closed its side.
func TestResumeDeliversWhatWasRead(t *testing.T) {
	inBothWays(t, func(t *testing.T) {
		for _, closeWrite := range []bool{false, true} {
			conns := make(chan *Conn, 1)
			var first atomic.Bool
			s := serve(t, Config{}, handlerFuncs{
				opened: func(c *Conn) { conns <- c },
				frame: func(c *Conn, f *Frame) {
					if first.CompareAndSwap(false, true) {
						c.Pause()
					}
					echo(c, f)
				},
			})
			c := dial(t, s)
			sc := <-conns
			write(t, c, bytes.Join([][]byte{frameOf([]byte("a")), frameOf([]byte("b")), frameOf([]byte("c"))}, nil))
			read(t, c)
			if closeWrite {
				c.CloseWrite()
			}
			sc.Resume()
			if b, d := read(t, c), read(t, c); string(b)+string(d) != "bc" {
				t.Fatalf("got %q and %q", b, d)
			}
			if closeWrite {
				wantEnd(t, c)
			}
		}
	})
}

// A frame that was begun before a pause is not delivered during it.
func TestPauseInsideFrame(t *testing.T) {
	conns := make(chan *Conn, 1)
	var paused atomic.Bool
	s := serve(t, Config{}, handlerFuncs{
		opened: func(c *Conn) { conns <- c },
		frame: func(c *Conn, f *Frame) {
			if paused.Load() {
				t.Error("a frame came while paused")
			}
			echo(c, f)
		},
	})
	for _, size := range []int{100, 4 << 20} { // through gnet, and directly
		c := dial(t, s)
		sc := <-conns
		body := pattern(size, 1)
		all := frameOf(body)
		write(t, c, all[:50])
		eventually(t, "the first bytes", func() bool { return s.inFlight.Load() >= 46 })
		done := make(chan struct{})
		sc.Post(func() { paused.Store(true); sc.Pause(); close(done) })
		<-done
		go c.Write(all[50:])
		time.Sleep(20 * time.Millisecond) // nothing may come
		paused.Store(false)
		sc.Resume()
		if !bytes.Equal(read(t, c), body) {
			t.Fatal("answer differs")
		}
	}
}

// When all connections together hold too much, those with something in flight wait
// and those that have nothing are served.
func TestTotalDoesNotStopTheInnocent(t *testing.T) {
	const total = 1 << 20
	var held []func()
	heldC := make(chan func(), 1000)
	s := serve(t, Config{TotalInFlightBytes: total, Loops: 2}, handlerFuncs{frame: func(c *Conn, f *Frame) {
		if f.Bytes[0] == 'H' {
			slot := c.Reserve()
			heldC <- func() { slot.Send(answer(f.Bytes[:5])); f.Release() }
			return
		}
		echo(c, f)
	}})
	// Hoarders whose requests are not answered for long.
	const hoarders, each = 4, 8
	body := make([]byte, 200_000)
	body[0] = 'H'
	var conns []interface {
		Read([]byte) (int, error)
	}
	for range hoarders {
		c := dial(t, s)
		conns = append(conns, c)
		go func() {
			for i := range each {
				b := bytes.Clone(body)
				binary.BigEndian.PutUint32(b[1:], uint32(i))
				if _, err := c.Write(frameOf(b)); err != nil {
					t.Error(err)
				}
			}
		}()
	}
	eventually(t, "the limit", func() bool { return s.Stats().ReadingStopped >= hoarders })
	c := dial(t, s)
	for range 100 {
		write(t, c, frameOf(pattern(1000, 1)))
		read(t, c)
	}
	if n := s.inFlight.Load(); n > total+hoarders*(200_000+readBufferBytes+aheadBytes) {
		t.Errorf("%d bytes in flight", n)
	}
	// Answered, everybody goes on to the end.
	deadline := time.After(20 * time.Second)
	for n := 0; n < hoarders*each; {
		select {
		case fn := <-heldC:
			held = append(held, fn)
			n++
			continue
		case <-deadline:
			t.Fatalf("only %d of %d frames came", n, hoarders*each)
		case <-time.After(10 * time.Millisecond): // no more come while these are held
		}
		for _, fn := range held {
			fn()
		}
		held = held[:0]
	}
	for _, fn := range held {
		fn()
	}
	for _, c := range conns {
		for i := range each {
			if got := binary.BigEndian.Uint32(read(t, c)[1:]); got != uint32(i) {
				t.Fatalf("answer %d came where %d was due", got, i)
			}
		}
	}
}

// Many large frames that all stop in the middle cannot hold the memory for ever.
func TestLargeFramesThatStall(t *testing.T) {
	const total = 4 << 20
	cl := newCloses()
	s := serve(t, Config{TotalInFlightBytes: total, Loops: 1, IdleTimeout: idle}, handlerFuncs{frame: echo, closed: cl.closed})
	const peers = 6
	for range peers {
		c := dial(t, s)
		go func() {
			c.Write(binary.BigEndian.AppendUint32(nil, 50<<20))
			c.Write(make([]byte, 49<<20))
		}()
	}
	eventually(t, "reading to stop", func() bool { return s.Stats().ReadingStopped > 0 })
	c := dial(t, s)
	for range 20 {
		write(t, c, frameOf(pattern(1000, 1)))
		read(t, c)
		// One is let in although it is larger than all the room there is.
		if n := s.inFlight.Load(); n > 50<<20+(peers-1)*(largePartial+readBufferBytes+directBudget) {
			t.Fatalf("%d bytes in flight", n)
		}
	}
	s.onLoops(func(l *loop) {
		for _, c := range l.conns {
			if !c.in.between() {
				c.in.since -= hurry // as if it had taken that long
			}
		}
		l.sweep()
	})
	if err := cl.next(t); !errors.Is(err, ErrSlowFrame) {
		t.Fatalf("closed for %v, want ErrSlowFrame", err)
	}
}

// Post runs in order with what the same goroutine sent; Close lets out what was
// sent before it.
func TestPostAndClose(t *testing.T) {
	boom := errors.New("boom")
	cl := newCloses()
	posted := make(chan bool, 1)
	s := serve(t, Config{}, handlerFuncs{closed: cl.closed, frame: func(c *Conn, f *Frame) {
		slot := c.Reserve()
		go func() {
			slot.Send(answer(f.Bytes))
			f.Release()
			c.Post(func() { posted <- slot.c.out.empty() })
			c.Close(boom)
			c.Close(errors.New("second"))
		}()
	}})
	c := dial(t, s)
	write(t, c, frameOf([]byte("last words")))
	if got := read(t, c); string(got) != "last words" {
		t.Fatalf("got %q", got)
	}
	wantEnd(t, c)
	if err := cl.next(t); err != boom {
		t.Fatalf("closed for %v, want boom", err)
	}
	<-posted
}

// Close from Frame ends the delivery, in the middle of a read.
func TestCloseInFrame(t *testing.T) {
	boom := errors.New("boom")
	cl := newCloses()
	var frames atomic.Int64
	s := serve(t, Config{}, handlerFuncs{closed: cl.closed, frame: func(c *Conn, f *Frame) {
		frames.Add(1)
		f.Release()
		c.Close(boom)
	}})
	c := dial(t, s)
	write(t, c, bytes.Repeat(frameOf([]byte("x")), 1000))
	if err := cl.next(t); err != boom {
		t.Fatalf("closed for %v", err)
	}
	if n := frames.Load(); n != 1 {
		t.Fatalf("%d frames after Close", n)
	}
}

func TestCloseInOpened(t *testing.T) {
	boom := errors.New("boom")
	cl := newCloses()
	s := serve(t, Config{}, handlerFuncs{closed: cl.closed, opened: func(c *Conn) { c.Close(boom) }})
	wantEnd(t, dial(t, s))
	if err := cl.next(t); err != boom {
		t.Fatalf("closed for %v", err)
	}
}
