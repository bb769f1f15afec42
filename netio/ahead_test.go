package netio

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"math/rand"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// inlet is a connection's input without gnet: what its peer writes comes by a pair of
// sockets, read at moments that the test chooses.
type inlet struct {
	t    testing.TB
	c    *Conn
	peer int
	buf  []byte
	got  [][]byte
	// Each frame's place is told before the frame is released.
	frame func(i int, f *Frame)
}

func newInlet(t testing.TB) *inlet {
	t.Helper()
	in := &inlet{t: t, buf: make([]byte, readBufferBytes), frame: func(int, *Frame) {}}
	s, err := Listen(Config{}, nil, handlerFuncs{frame: func(c *Conn, f *Frame) {
		in.got = append(in.got, bytes.Clone(f.Bytes))
		in.frame(len(in.got)-1, f)
		f.Release()
	}}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err == nil {
		err = errors.Join(unix.SetNonblock(fds[0], true), unix.SetNonblock(fds[1], true))
	}
	if err != nil {
		t.Fatal(err)
	}
	l := &loop{srv: s, now: 1, dead: true} // what is posted is dropped
	l.watcher = &watcher{loop: l}
	in.peer = fds[1]
	in.c = &Conn{srv: s, loop: l, fd: fds[0], reading: true}
	t.Cleanup(func() {
		in.c.in.drop(in.c)
		if s.inFlight.Load() != 0 || s.claims.Load() != 0 {
			t.Errorf("%d bytes in flight and %d claimed at the end", s.inFlight.Load(), s.claims.Load())
		}
		l.watcher.stop()
		unix.Close(fds[0])
		unix.Close(fds[1])
	})
	return in
}

// event is what gnet does when there is input; false when there is none, or when it is
// not wanted.
func (in *inlet) event() bool {
	in.t.Helper()
	c := in.c
	if !c.reading || c.reason != nil {
		return false
	}
	n, err := readDescriptor(c.fd, in.buf)
	if wouldBlock(err) {
		return false
	}
	if err != nil || n == 0 {
		in.t.Fatalf("read %d bytes, %v", n, err)
	}
	c.inTurn = true
	c.receive(in.buf[:n])
	c.inTurn = false
	if n := c.srv.claims.Load(); c.in.frame == nil && n != 0 {
		in.t.Fatalf("%d bytes are claimed between frames", n)
	}
	return true
}

// proceed has all that was written read, and takes every pause back.
func (in *inlet) proceed() {
	in.t.Helper()
	c := in.c
	for {
		for in.event() {
		}
		if stash := len(c.in.stash); stash > readBufferBytes+aheadBytes {
			in.t.Fatalf("%d bytes were put aside", stash)
		}
		if c.reason != nil || c.pauses.Load() == 0 {
			return
		}
		c.pauses.Add(-1)
		c.inTurn = true
		c.loop.resume(c)
		c.inTurn = false
	}
}

// write writes b, reading where the socket is full.
func (in *inlet) write(b []byte) {
	in.t.Helper()
	for len(b) > 0 && in.c.reason == nil {
		n, err := unix.Write(in.peer, b)
		if wouldBlock(err) {
			in.proceed()
			continue
		}
		if err != nil {
			in.t.Fatal(err)
		}
		b = b[n:]
	}
}

// want compares what was delivered with frames of these sizes of streamOf.
func (in *inlet) want(sizes []int) {
	in.t.Helper()
	if len(in.got) != len(sizes) {
		in.t.Fatalf("%d frames, want %d", len(in.got), len(sizes))
	}
	for i, n := range sizes {
		if !bytes.Equal(in.got[i], bodyOf(i, n)) {
			in.t.Fatalf("frame %d of %d bytes differs: got %d bytes", i, n, len(in.got[i]))
		}
	}
}

var noise = pattern(2<<20, 9)

// bodyOf is the body of the i-th frame, of n bytes.
func bodyOf(i, n int) []byte { return noise[i*7:][:n] }

func streamOf(sizes []int) (stream []byte) {
	for i, n := range sizes {
		stream = append(stream, frameOf(bodyOf(i, n))...)
	}
	return stream
}

// repeated is n frames of each of the sizes, one size after the other.
func repeated(n int, sizes ...int) (all []int) {
	for _, size := range sizes {
		for range n {
			all = append(all, size)
		}
	}
	return all
}

var sizesOfFrames = map[string][]int{
	"equal":              repeated(12, 64<<10+100),
	"just the buffer":    repeated(12, readBufferBytes-4),
	"over the buffer":    repeated(30, readBufferBytes+300),
	"small":              repeated(40, 1000),
	"growing":            repeated(1, 5000, 9000, 17000, 40000, 70000, 100_000, 200_000, 300_000, 600_000),
	"shrinking":          repeated(1, 600_000, 300_000, 200_000, 100_000, 70000, 40000, 17000, 9000, 5000, 100, 1),
	"within a class":     {66000, 66001, 66000, 65900, 66100, 66000, 66000, 66000, 65999},
	"guess too long":     append(repeated(3, 100_000), repeated(50, 5000)...),
	"guess too short":    append(repeated(8, 20_000), repeated(4, 150_000)...),
	"huge after small":   append(repeated(9, 300), 1<<20+500, 1<<20+700, 300, 200, 1<<20+500),
	"alternating":        repeated(4, 70_000, 100, 70_000, 33_000, 2),
	"largest expected":   repeated(5, aheadBytes-4),
	"too large for that": repeated(5, aheadBytes-3),
}

// However frames are spread over reads, they come out whole and in order.
func TestFramesReadAhead(t *testing.T) {
	for name, sizes := range sizesOfFrames {
		stream := streamOf(sizes)
		for _, chunk := range []int{len(stream), 300_000, 66_000, readBufferBytes + 1, readBufferBytes, 5001} {
			t.Run(fmt.Sprintf("%s in writes of %d", name, chunk), func(t *testing.T) {
				in := newInlet(t)
				for rest := stream; len(rest) > 0; {
					n := min(chunk, len(rest))
					in.write(rest[:n])
					in.proceed()
					rest = rest[n:]
				}
				in.want(sizes)
			})
		}
	}
}

// A handler that wants nothing more after some frame gets nothing more before it
// resumes, and then all of it.
func TestPauseWhileReadAhead(t *testing.T) {
	for name, sizes := range sizesOfFrames {
		for _, every := range []int{1, 2, 5} {
			t.Run(fmt.Sprintf("%s, every %d", name, every), func(t *testing.T) {
				in := newInlet(t)
				in.frame = func(i int, _ *Frame) {
					if in.c.pauses.Load() != 0 {
						t.Errorf("frame %d came while paused", i)
					}
					if i%every == 0 {
						in.c.Pause()
					}
				}
				in.write(streamOf(sizes))
				in.proceed()
				in.want(sizes)
			})
		}
	}
}

// The same over a real connection, with answers and resumes from another goroutine.
func TestReadAheadOverTheWire(t *testing.T) {
	inBothWays(t, func(t *testing.T) {
		s := serve(t, Config{}, handlerFuncs{frame: func(c *Conn, f *Frame) {
			slot, paused := c.Reserve(), f.Bytes[0]%4 == 0 // any of them, now and then
			if paused {
				c.Pause()
			}
			go func() {
				a := answer(bytes.Clone(f.Bytes))
				f.Release() // before the client can see the last answer and the server be stopped
				slot.Send(a)
				if paused {
					c.Resume()
				}
			}()
		}})
		for name, sizes := range sizesOfFrames {
			c := dial(t, s)
			written := make(chan error, 1)
			go func() {
				_, err := c.Write(streamOf(sizes))
				written <- err
			}()
			for i, n := range sizes {
				if !bytes.Equal(read(t, c), bodyOf(i, n)) {
					t.Fatalf("%s: answer %d differs", name, i)
				}
			}
			if err := <-written; err != nil {
				t.Fatal(err)
			}
			c.Close()
		}
	})
}

// Nothing is delivered behind the frame at which the connection is to be closed, and
// nothing stays reserved.
func TestCloseWhileReadAhead(t *testing.T) {
	sizes := repeated(8, 50_000)
	for last := range sizes {
		in := newInlet(t)
		in.frame = func(i int, _ *Frame) {
			if i == last {
				in.c.loop.closeConn(in.c, errors.New("enough"))
			}
		}
		in.write(streamOf(sizes))
		in.proceed()
		in.want(sizes[:last+1])
	}
}

// A length that cannot be ends the connection wherever it is met.
func TestBadLengthWhileReadAhead(t *testing.T) {
	for good := range 8 {
		in := newInlet(t)
		sizes := repeated(good, 50_000)
		in.write(append(streamOf(sizes), 0xff, 0xff, 0xff, 0xff))
		in.write(streamOf(repeated(3, 50_000)))
		in.proceed()
		in.want(sizes)
		if !errors.Is(in.c.reason, ErrFrameLength) {
			t.Fatalf("closed for %v behind %d frames, want ErrFrameLength", in.c.reason, good)
		}
	}
}

// A buffer held ready accepts nothing that would not be accepted without it.
func TestLargestFrameWhileReadAhead(t *testing.T) {
	in := newInlet(t)
	in.c.srv.cfg.MaxFrameBytes = 1000
	sizes := repeated(readBufferBytes/1000+1, 1000)
	in.write(append(streamOf(sizes), frameOf(bodyOf(0, mixedAhead))...))
	in.proceed()
	in.want(sizes)
	if !errors.Is(in.c.reason, ErrFrameLength) {
		t.Fatalf("closed for %v, want ErrFrameLength", in.c.reason)
	}
}

// Of frames of one size that come together only what gnet has read is copied.
func TestEqualFramesAreNotCopied(t *testing.T) {
	in := newInlet(t)
	const size = 30_000
	sizes := repeated(5, size)
	stream := streamOf(sizes)
	in.write(stream[:size+4])
	in.proceed() // one, so that there is something to expect
	expected := map[*byte]bool{}
	l := in.c.loop
	l.ahead.expect(size)
	for _, f := range l.ahead.frames {
		expected[unsafe.SliceData(f.store)] = true
	}
	inPlace := 0
	in.frame = func(_ int, f *Frame) {
		if expected[unsafe.SliceData(f.Bytes)] {
			inPlace++
		}
	}
	in.write(stream[size+4:])
	if !in.event() || len(in.got) != len(sizes) {
		t.Fatalf("one event brought %d frames, want %d", len(in.got)-1, len(sizes)-1)
	}
	in.want(sizes)
	if inPlace != len(sizes)-2 {
		t.Errorf("%d frames are where they were received, want %d", inPlace, len(sizes)-2)
	}
}

// When all that may be reserved on claims is, a frame read ahead that is not complete
// gets a buffer for what is there.
func TestReadAheadWithoutClaims(t *testing.T) {
	in := newInlet(t)
	sizes := repeated(6, 64<<10)
	claims := &in.c.srv.claims
	stream := streamOf(sizes)
	const one, begun = 4 + 64<<10, 3000
	in.write(stream[:one])
	in.proceed()
	claims.Store(allClaims)
	in.write(stream[one : 2*one+begun])
	in.proceed()
	if n := claims.Load(); n > allClaims+firstBytes {
		t.Errorf("%d bytes are claimed, want at most %d", n, allClaims+firstBytes)
	}
	if f := in.c.in.frame; f == nil || len(f.store) > 2*firstBytes {
		t.Error("a frame that has only been announced has all its room")
	}
	claims.Add(-allClaims)
	in.write(stream[2*one+begun:])
	in.proceed()
	in.want(sizes)
}

// FuzzReadAhead: whatever the sizes, the writes and the pauses, the same frames come out.
func FuzzReadAhead(f *testing.F) {
	edges := [...]int{1, 3, 100, smallestAhead, readBufferBytes - 4, readBufferBytes, readBufferBytes + 100, 64 << 10, 64<<10 + 100, 100 << 10, 256 << 10, 256<<10 + 1, 1<<20 + 100}
	r := rand.New(rand.NewSource(4))
	for range 20 {
		sizes, cuts := make([]byte, 1+r.Intn(16)), make([]byte, 1+r.Intn(8))
		r.Read(sizes)
		r.Read(cuts)
		f.Add(sizes, cuts, r.Uint64()&r.Uint64())
	}
	f.Fuzz(func(t *testing.T, kinds, cuts []byte, pauses uint64) {
		var sizes []int
		for _, b := range kinds[:min(len(kinds), 24)] {
			sizes = append(sizes, edges[int(b)%len(edges)]+int(b)/len(edges)/8)
		}
		in := newInlet(t)
		in.frame = func(i int, _ *Frame) {
			if in.c.pauses.Load() != 0 {
				t.Errorf("frame %d came while paused", i)
			}
			if pauses>>(i%64)&1 != 0 {
				in.c.Pause()
			}
		}
		rest := streamOf(sizes)
		for i := 0; len(rest) > 0; i++ {
			n := len(rest)
			if len(cuts) > 0 {
				b := int(cuts[i%len(cuts)])
				n = min(n, 1+b*b*7) // up to 455 KiB
			}
			in.write(rest[:n])
			if n%2 == 0 {
				in.event()
			} else {
				in.proceed()
			}
			rest = rest[n:]
		}
		in.proceed()
		in.want(sizes)
	})
}
