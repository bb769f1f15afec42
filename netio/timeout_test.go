package netio

import (
	"errors"
	"testing"
	"time"
)

const shortTimeout = 200 * time.Millisecond

func TestIdleIsClosed(t *testing.T) {
	cl := newCloses()
	s := serve(t, Config{IdleTimeout: shortTimeout}, handlerFuncs{frame: echo, closed: cl.closed})
	c := dial(t, s)
	start := time.Now()
	for range 4 { // use keeps it open beyond the timeout
		write(t, c, frameOf([]byte("x")))
		read(t, c)
		time.Sleep(shortTimeout / 2)
	}
	wantEnd(t, c)
	if err := cl.next(t); !errors.Is(err, ErrIdle) {
		t.Fatalf("closed for %v, want ErrIdle", err)
	}
	if d := time.Since(start); d < 2*shortTimeout {
		t.Fatalf("closed after %v although it was in use", d)
	}
}

func TestWaitingForAnswerIsNotIdle(t *testing.T) {
	cl := newCloses()
	s := serve(t, Config{IdleTimeout: shortTimeout}, handlerFuncs{closed: cl.closed, frame: func(c *Conn, f *Frame) {
		slot := c.Reserve()
		time.AfterFunc(3*shortTimeout, func() { slot.Send(answer(f.Bytes)); f.Release() })
	}})
	c := dial(t, s)
	write(t, c, frameOf([]byte("x")))
	read(t, c)
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
			s := serve(t, Config{IdleTimeout: shortTimeout}, handlerFuncs{frame: echo, closed: cl.closed})
			c := dial(t, s)
			write(t, c, begin)
			start := time.Now()
			for i := 0; ; i++ {
				if len(begin) == 2 && i == 1 {
					break // more would complete the length
				}
				if _, err := c.Write([]byte{0}); err != nil || time.Since(start) > 10*shortTimeout {
					break
				}
				time.Sleep(shortTimeout / 20)
			}
			if err := cl.next(t); !errors.Is(err, ErrSlowFrame) {
				t.Fatalf("closed for %v, want ErrSlowFrame", err)
			}
			if d := time.Since(start); d > 4*shortTimeout {
				t.Fatalf("closed after %v only", d)
			}
		})
	}
}

// A peer that does not take its answers is closed in the end.
func TestSlowReaderIsClosed(t *testing.T) {
	f := newCountedFile(t, make([]byte, 16<<20))
	cl := newCloses()
	s := fetchServer(t, Config{IdleTimeout: shortTimeout}, f, cl.closed)
	c := dial(t, s)
	for range 3 {
		write(t, c, fetch(0, 15<<20))
	}
	if err := cl.next(t); !errors.Is(err, ErrSlowReader) {
		t.Fatalf("closed for %v, want ErrSlowReader", err)
	}
	wantReleased(t, f)
}

// Paused by the handler is not idle.
func TestPausedIsNotIdle(t *testing.T) {
	cl := newCloses()
	s := serve(t, Config{IdleTimeout: shortTimeout}, handlerFuncs{frame: echo, closed: cl.closed, opened: func(c *Conn) {
		c.Pause()
		time.AfterFunc(3*shortTimeout, c.Resume)
	}})
	c := dial(t, s)
	write(t, c, frameOf([]byte("patience")))
	if got := read(t, c); string(got) != "patience" {
		t.Fatalf("got %q", got)
	}
}
