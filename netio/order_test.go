package netio

import (
	"bytes"
	"encoding/binary"
	"math/rand"
	"sync"
	"testing"
	"time"
)

// echoed makes the answer to a frame on the loop.
type echoed struct{ f *Frame }

func (e echoed) Answer() *Response {
	defer e.f.Release()
	if e.f.Bytes[0] == 'S' {
		return nil
	}
	return answer(e.f.Bytes)
}

// Answers are completed by other goroutines in any order and come back in the order
// of the requests.
func TestAnswersInOrderOfRequests(t *testing.T) {
	inBothWays(t, func(t *testing.T) {
		const workers, conns, requests = 4, 8, 2000
		type job struct {
			s Slot
			f *Frame
		}
		jobs, quit := make(chan job, 4096), make(chan struct{})
		var wg sync.WaitGroup
		for w := range workers {
			wg.Add(1)
			go func() {
				defer wg.Done()
				rng := rand.New(rand.NewSource(int64(w)))
				var held []job
				answerAll := func() {
					rng.Shuffle(len(held), func(i, j int) { held[i], held[j] = held[j], held[i] })
					for _, j := range held {
						switch {
						case rng.Intn(2) == 0:
							j.s.Finish(echoed{j.f})
							continue
						case j.f.Bytes[0] == 'S':
							j.s.Skip()
						default:
							j.s.Send(answer(j.f.Bytes))
						}
						j.f.Release()
					}
					held = held[:0]
				}
				for {
					select {
					case j := <-jobs:
						if held = append(held, j); len(held) == 50 {
							answerAll()
						}
					default:
						answerAll()
						select {
						case j := <-jobs:
							held = append(held, j)
						case <-quit:
							return
						}
					}
				}
			}()
		}
		s := serve(t, Config{ConnInFlightBytes: 64 << 10}, handlerFuncs{frame: func(c *Conn, f *Frame) {
			jobs <- job{c.Reserve(), f}
		}})
		t.Cleanup(func() { close(quit); wg.Wait() }) // before the server stops

		var clients sync.WaitGroup
		for n := range conns {
			c := dial(t, s)
			clients.Add(2)
			skip := func(i int) bool { return i%7 == 3 }
			go func() {
				defer clients.Done()
				var buf []byte
				rng := rand.New(rand.NewSource(int64(n)))
				for i := range requests {
					body := make([]byte, 5+rng.Intn(300))
					binary.BigEndian.PutUint32(body[1:], uint32(i))
					if skip(i) {
						body[0] = 'S'
					}
					buf = append(buf, frameOf(body)...)
					if len(buf) > 20_000 || i == requests-1 {
						if _, err := c.Write(buf); err != nil {
							t.Error(err)
							return
						}
						buf = buf[:0]
					}
				}
			}()
			go func() {
				defer clients.Done()
				for i := range requests {
					if skip(i) {
						continue
					}
					b, err := readFrame(c)
					if err != nil {
						t.Error(err)
						return
					}
					if got := binary.BigEndian.Uint32(b[1:]); got != uint32(i) {
						t.Errorf("answer %d came where %d was due", got, i)
						return
					}
				}
			}()
		}
		clients.Wait()
	})
}

func TestSegmentsDoNotMatter(t *testing.T) {
	s := serve(t, Config{}, handlerFuncs{frame: echo})
	a, b := pattern(700, 1), pattern(300, 2)

	t.Run("a byte each", func(t *testing.T) {
		c := dial(t, s)
		for _, x := range append(frameOf(a), frameOf(b)...) {
			write(t, c, []byte{x})
		}
		if !bytes.Equal(read(t, c), a) || !bytes.Equal(read(t, c), b) {
			t.Fatal("answers differ")
		}
	})
	t.Run("two in one", func(t *testing.T) {
		c := dial(t, s)
		write(t, c, append(frameOf(a), frameOf(b)...))
		if !bytes.Equal(read(t, c), a) || !bytes.Equal(read(t, c), b) {
			t.Fatal("answers differ")
		}
	})
	t.Run("one and a half", func(t *testing.T) {
		c := dial(t, s)
		all := append(frameOf(a), frameOf(b)...)
		write(t, c, all[:len(a)+4+2])
		if !bytes.Equal(read(t, c), a) {
			t.Fatal("first answer differs")
		}
		write(t, c, all[len(a)+4+2:])
		if !bytes.Equal(read(t, c), b) {
			t.Fatal("second answer differs")
		}
	})
}

// A client that sends without ever reading is stopped, not closed; memory stays
// where it is; when it reads, everything is there in order.
func TestDeepPipelineIsSlowedNotClosed(t *testing.T) {
	inBothWays(t, func(t *testing.T) {
		const requests, size = 10_000, 2000
		cl := newCloses()
		cfg := Config{ConnInFlightBytes: 256 << 10, SocketReceiveBuffer: 1 << 20, SocketSendBuffer: 1 << 20}
		s := serve(t, cfg, handlerFuncs{frame: echo, closed: cl.closed})
		c := dial(t, s)
		// Many of the loopback's packets of 64 KiB: with room for two or three, packets
		// are dropped while both directions are full, and each waits for a timer that
		// doubles.
		c.SetReadBuffer(1 << 20)
		c.SetWriteBuffer(1 << 20)
		written := make(chan error, 1)
		go func() {
			body := make([]byte, size)
			var buf []byte
			for i := range requests {
				binary.BigEndian.PutUint32(body, uint32(i))
				buf = append(buf[:0], frameOf(body)...)
				if _, err := c.Write(buf); err != nil {
					written <- err
					return
				}
			}
			written <- nil
		}()
		// The server has had enough and the sockets' buffers are full when a second
		// brings no further frame.
		last, since := int64(-1), time.Now()
		eventually(t, "reading to stop", func() bool {
			if n := s.Stats().Frames; n != last || s.Stats().ReadingStopped == 0 {
				last, since = n, time.Now()
			}
			return time.Since(since) > time.Second
		})
		if last == requests {
			t.Error("all frames were read although nothing was taken")
		}
		wantQuiet(t, "while stopped")
		// The turn that crossed the limit may have brought all that a turn reads.
		if got, limit := s.inFlight.Load(), int64(256<<10+readBufferBytes+aheadBytes); got > limit {
			t.Errorf("%d bytes in flight, want at most %d", got, limit)
		}
		for i := range requests {
			b := read(t, c)
			if got := binary.BigEndian.Uint32(b); got != uint32(i) || len(b) != size {
				t.Fatalf("answer %d of %d bytes came where %d was due", got, len(b), i)
			}
		}
		if err := <-written; err != nil {
			t.Fatal(err)
		}
		select {
		case err := <-cl.each:
			t.Fatalf("connection was closed: %v", err)
		default:
		}
	})
}

// eventually polls for a state that the server reaches by itself.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain for %s", what)
		}
	}
}
