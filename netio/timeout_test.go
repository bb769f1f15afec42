package netio

import (
	"errors"
	"sync"
	"testing"
	"time"
)

// idle is a timeout that no test lives to see: time passes where a test says so, and
// a machine that stands still for a moment lets none pass.
const idle = 10 * time.Minute

// pass has the connections of s look as if so much time had passed, and the server
// look at them.
func pass(s *Server, d time.Duration) {
	s.onLoops(func(l *loop) {
		for _, c := range l.conns {
			c.lastUse -= d
			if !c.in.between() {
				c.in.since -= d
			}
			if c.blockedAt != 0 {
				c.blockedAt -= d
			}
		}
		l.sweep()
	})
}

// begun is how many bytes of frames that are not complete the server has, their
// lengths included.
func begun(s *Server) (bytes int) {
	var mu sync.Mutex
	s.onLoops(func(l *loop) {
		mu.Lock()
		defer mu.Unlock()
		for _, c := range l.conns {
			if bytes += c.in.headLen; c.in.frame != nil {
				bytes += 4 + c.in.frame.have
			}
		}
	})
	return bytes
}

// wantOpen expects that no connection has been closed.
func (c *closes) wantOpen(t testing.TB, when string) {
	t.Helper()
	select {
	case err := <-c.each:
		t.Fatalf("%s: closed for %v", when, err)
	default:
	}
}

func TestIdleIsClosed(t *testing.T) {
	cl := newCloses()
	s := serve(t, Config{IdleTimeout: idle}, handlerFuncs{frame: echo, closed: cl.closed})
	c := dial(t, s)
	for range 4 { // use keeps it open beyond the timeout
		write(t, c, frameOf([]byte("x")))
		read(t, c)
		pass(s, idle*2/3)
		cl.wantOpen(t, "in use")
	}
	pass(s, idle/2)
	wantEnd(t, c)
	if err := cl.next(t); !errors.Is(err, ErrIdle) {
		t.Fatalf("closed for %v, want ErrIdle", err)
	}
}

// The server looks at its connections by itself.
func TestIdleIsClosedInTime(t *testing.T) {
	cl := newCloses()
	s := serve(t, Config{IdleTimeout: 100 * time.Millisecond}, handlerFuncs{closed: cl.closed})
	wantEnd(t, dial(t, s))
	if err := cl.next(t); !errors.Is(err, ErrIdle) {
		t.Fatalf("closed for %v, want ErrIdle", err)
	}
}

func TestWaitingForAnswerIsNotIdle(t *testing.T) {
	cl := newCloses()
	send := make(chan func(), 1)
	s := serve(t, Config{IdleTimeout: idle}, handlerFuncs{closed: cl.closed, frame: func(c *Conn, f *Frame) {
		slot := c.Reserve()
		send <- func() { slot.Send(answer(f.Bytes)); f.Release() }
	}})
	c := dial(t, s)
	write(t, c, frameOf([]byte("x")))
	answer := <-send
	pass(s, 3*idle)
	cl.wantOpen(t, "an answer is due")
	answer()
	read(t, c)
	pass(s, 2*idle)
	if err := cl.next(t); !errors.Is(err, ErrIdle) { // but afterwards it is
		t.Fatalf("closed for %v, want ErrIdle", err)
	}
}

// Neither announcing and not sending nor a byte now and then keeps a connection.
func TestSlowFrames(t *testing.T) {
	for name, begin := range map[string][]byte{
		"part of the length": {0, 0},
		"length only":        {0, 0, 1, 0},
		"large":              {0, 0x10, 0, 0, 1, 2, 3},
	} {
		t.Run(name, func(t *testing.T) {
			cl := newCloses()
			s := serve(t, Config{IdleTimeout: idle}, handlerFuncs{frame: echo, closed: cl.closed})
			c := dial(t, s)
			write(t, c, begin)
			eventually(t, "the beginning to arrive", func() bool { return begun(s) == len(begin) })
			pass(s, idle*2/3)
			cl.wantOpen(t, "within the timeout")
			write(t, c, []byte{0})
			eventually(t, "one byte more", func() bool { return begun(s) == len(begin)+1 })
			pass(s, idle*2/3)
			if err := cl.next(t); !errors.Is(err, ErrSlowFrame) {
				t.Fatalf("closed for %v, want ErrSlowFrame", err)
			}
		})
	}
}

// A peer that does not take its answers is closed in the end.
func TestSlowReaderIsClosed(t *testing.T) {
	f := newCountedFile(t, make([]byte, 16<<20))
	cl := newCloses()
	s := fetchServer(t, Config{IdleTimeout: idle, Loops: 1}, f, cl.closed)
	c := dial(t, s)
	for range 3 {
		write(t, c, fetch(0, 15<<20))
	}
	eventually(t, "the peer's buffers to be full and its time to be over", func() bool {
		blocked := false
		s.onLoops(func(l *loop) {
			for _, c := range l.conns {
				blocked = c.blockedAt != 0
			}
		})
		if blocked {
			pass(s, 2*idle)
		}
		return len(cl.each) > 0
	})
	if err := cl.next(t); !errors.Is(err, ErrSlowReader) {
		t.Fatalf("closed for %v, want ErrSlowReader", err)
	}
	wantReleased(t, f)
}

// Paused by the handler is not idle.
func TestPausedIsNotIdle(t *testing.T) {
	cl := newCloses()
	conns := make(chan *Conn, 1)
	s := serve(t, Config{IdleTimeout: idle}, handlerFuncs{frame: echo, closed: cl.closed, opened: func(c *Conn) {
		c.Pause()
		conns <- c
	}})
	c := dial(t, s)
	write(t, c, frameOf([]byte("patience")))
	paused := <-conns
	pass(s, 3*idle)
	cl.wantOpen(t, "paused")
	paused.Resume()
	if got := read(t, c); string(got) != "patience" {
		t.Fatalf("got %q", got)
	}
}
