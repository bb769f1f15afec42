package netio

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"time"
)

// logLines is a log handler that keeps lines.
type logLines struct {
	mu    sync.Mutex
	lines []string
}

func (l *logLines) Enabled(context.Context, slog.Level) bool { return true }
func (l *logLines) WithAttrs([]slog.Attr) slog.Handler       { return l }
func (l *logLines) WithGroup(string) slog.Handler            { return l }

func (l *logLines) Handle(_ context.Context, r slog.Record) error {
	if r.Level < slog.LevelWarn {
		return nil
	}
	var b strings.Builder
	b.WriteString(r.Message)
	r.Attrs(func(a slog.Attr) bool { fmt.Fprintf(&b, " %s=%v", a.Key, a.Value); return true })
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, b.String())
	return nil
}

func (l *logLines) all() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]string(nil), l.lines...)
}

func TestImpossibleLengths(t *testing.T) {
	for _, test := range []struct {
		name  string
		bytes []byte
		say   string
	}{
		{"minus one", []byte{0xff, 0xff, 0xff, 0xff}, "-1 bytes announced"},
		{"smallest", []byte{0x80, 0, 0, 0, 1, 2}, "-2147483648 bytes announced"},
		{"zero", []byte{0, 0, 0, 0}, "0 bytes announced"},
		{"largest", []byte{0x7f, 0xff, 0xff, 0xff, 0}, "2147483647 bytes announced"},
		{"limit and one", binary.BigEndian.AppendUint32(nil, 1001), "1001 bytes announced, 1 to 1000 are accepted"},
		{"HTTP", []byte("GET /index.html HTTP/1.1\r\n\r\n"), "looks like HTTP"},
		{"TLS", []byte("\x16\x03\x01\x02\x00\x01\x00\x01\xfc"), "looks like a TLS client"},
		{"quoted", []byte("SSH-2.0-x\r\nevil=\"1\"\x1b[31m"), `"SSH-2.0-x\r\nevil=\"1\"\x1b[31m"`},
	} {
		t.Run(test.name, func(t *testing.T) {
			lines := &logLines{}
			cl := newCloses()
			s := serveLog(t, Config{MaxFrameBytes: 1000}, handlerFuncs{frame: echo, closed: cl.closed}, slog.New(lines))
			good := dial(t, s)
			c := dial(t, s)
			write(t, c, test.bytes)
			wantEnd(t, c)
			if err := cl.next(t); !errors.Is(err, ErrFrameLength) {
				t.Errorf("closed for %v, want ErrFrameLength", err)
			}
			if all := lines.all(); len(all) != 1 || !strings.Contains(all[0], test.say) {
				t.Errorf("log says %q, want one line with %q", all, test.say)
			}
			write(t, good, frameOf([]byte("still here")))
			if got := read(t, good); string(got) != "still here" {
				t.Errorf("other connection got %q", got)
			}
		})
	}
}

func TestLimitItselfIsAccepted(t *testing.T) {
	s := serve(t, Config{MaxFrameBytes: 1000}, handlerFuncs{frame: echo})
	c := dial(t, s)
	body := pattern(1000, 1)
	write(t, c, frameOf(body))
	if !bytes.Equal(read(t, c), body) {
		t.Fatal("answer differs")
	}
}

// The frames before a bad one are delivered, and nothing after it.
func TestNothingAfterBadFrame(t *testing.T) {
	got := make(chan string, 10)
	cl := newCloses()
	s := serve(t, Config{}, handlerFuncs{closed: cl.closed, frame: func(c *Conn, f *Frame) {
		got <- string(f.Bytes)
		f.Release()
	}})
	c := dial(t, s)
	write(t, c, append(append(frameOf([]byte("good")), 0, 0, 0, 0), frameOf([]byte("never"))...))
	cl.next(t)
	if g := <-got; g != "good" || len(got) != 0 {
		t.Fatalf("delivered %q and %d more", g, len(got))
	}
}

func TestRejectsAreLimited(t *testing.T) {
	lines := &logLines{}
	cl := newCloses()
	s := serveLog(t, Config{}, handlerFuncs{closed: cl.closed}, slog.New(lines))
	const peers = 100
	begun := time.Now()
	for range peers {
		c := dial(t, s)
		write(t, c, []byte{0, 0, 0, 0})
		wantEnd(t, c)
		cl.next(t)
	}
	most := rejectsInWindow * (1 + int(time.Since(begun)/rejectWindow))
	if n := len(lines.all()); n < rejectsInWindow || n > most {
		t.Errorf("%d lines for %d bad peers, want %d to %d", n, peers, rejectsInWindow, most)
	}
	if n := s.Stats().RejectedFrames; n != peers {
		t.Errorf("%d rejected frames counted, want %d", n, peers)
	}
}

// Announcing much and sending little reserves little.
func TestAnnouncedBytesAreNotReserved(t *testing.T) {
	s := serve(t, Config{}, handlerFuncs{frame: echo})
	const peers = 400
	before := residentBytes(t)
	for range peers {
		c := dial(t, s)
		write(t, c, append(binary.BigEndian.AppendUint32(nil, 100<<20), pattern(100, 1)...))
	}
	eventually(t, "the bytes to arrive", func() bool { return s.Stats().BytesIn == peers*100 })
	if n := s.claims.Load(); n > allClaims+peers*firstBytes {
		t.Errorf("%d bytes reserved on claims, want at most %d", n, allClaims+peers*firstBytes)
	}
	// Buffers that were never written are not resident.
	if grown := residentBytes(t) - before; grown > 64<<20 {
		t.Errorf("%d bytes resident for %d announcements", grown, peers)
	}
	c := dial(t, s)
	body := pattern(3<<20, 2)
	write(t, c, frameOf(body))
	if !bytes.Equal(read(t, c), body) {
		t.Error("an honest large frame came back different")
	}
}

// A whole frame takes one buffer; a partial one that is within the claims as well.
func TestFrameBufferFits(t *testing.T) {
	for n := 1; n < 40<<20; n += 1 + n/7 {
		class, size := classOf(n)
		if size < n {
			t.Fatalf("class %d of %d bytes for %d", class, size, n)
		}
		if n > 1<<minClassBits && size > n+n/4+4 {
			t.Fatalf("%d bytes for a frame of %d wastes more than a quarter", size, n)
		}
		if class >= 0 {
			if c, again := classOf(size); c != class || again != size {
				t.Fatalf("class %d holds %d bytes, but that is class %d of %d", class, size, c, again)
			}
		}
	}
	if class, _ := classOf(1 << maxClassBits); class != len(framePools)-1 {
		t.Fatalf("largest class is %d of %d", class, len(framePools))
	}
}

func TestFrameHolders(t *testing.T) {
	srv := &Server{}
	c := &Conn{srv: srv}
	f := newFrame(c, 10)
	f.Bytes = f.store[:10]
	f.refs.Store(1)
	c.charge(10)
	f.Retain()
	f.Release()
	if srv.inFlight.Load() != 10 {
		t.Fatal("bytes were taken off while a holder was left")
	}
	f.Release()
	if srv.inFlight.Load() != 0 || c.inFlight.Load() != 0 {
		t.Fatal("bytes were not taken off at the last release")
	}
	for name, call := range map[string]func(){"release": f.Release, "retain": f.Retain} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s after the last release was not noticed", name)
				}
			}()
			f.refs.Store(0)
			call()
		}()
	}
}

// FuzzFrames: however the stream is cut, the same frames come out, and a bad length
// ends it.
func FuzzFrames(f *testing.F) {
	f.Add([]byte{0, 0, 0, 1, 'a', 0, 0, 0, 2, 'b', 'c'}, []byte{1, 2, 3})
	f.Add([]byte{0, 0, 0, 0}, []byte{4})
	f.Add(append(frameOf(pattern(3000, 1)), frameOf(pattern(10, 2))...), []byte{200, 200})
	f.Add([]byte{0xff, 0, 0, 1, 9}, []byte{1})
	f.Fuzz(func(t *testing.T, stream, cuts []byte) {
		const limit = 4000
		var want [][]byte
		bad := false
		for rest := stream; len(rest) >= 4; {
			n := int32(binary.BigEndian.Uint32(rest))
			if n <= 0 || n > limit {
				bad = true
				break
			}
			if len(rest) < 4+int(n) {
				break
			}
			want = append(want, rest[4:4+n])
			rest = rest[4+n:]
		}
		var got [][]byte
		s, err := Listen(Config{MaxFrameBytes: limit}, nil, handlerFuncs{frame: func(c *Conn, fr *Frame) {
			got = append(got, bytes.Clone(fr.Bytes))
			fr.Release()
		}}, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		c := &Conn{srv: s, loop: &loop{srv: s, now: 1}, inTurn: true}
		rest, i := stream, 0
		for len(rest) > 0 && c.reason == nil {
			n := len(rest)
			if len(cuts) > 0 {
				n = min(n, int(cuts[i%len(cuts)])+1)
				i++
			}
			left, ok := c.consume(rest[:n])
			if len(left) > 0 || ok != (c.reason == nil) {
				t.Fatalf("%d bytes not taken, ok %v, reason %v", len(left), ok, c.reason)
			}
			rest = rest[n:]
		}
		if bad != (c.reason != nil) {
			t.Fatalf("stream is bad: %v, closed for %v", bad, c.reason)
		}
		if len(got) != len(want) {
			t.Fatalf("%d frames, want %d", len(got), len(want))
		}
		for i := range got {
			if !bytes.Equal(got[i], want[i]) {
				t.Fatalf("frame %d differs", i)
			}
		}
		c.in.drop(c)
		if s.inFlight.Load() != 0 || s.claims.Load() != 0 {
			t.Fatalf("%d bytes in flight and %d claimed at the end", s.inFlight.Load(), s.claims.Load())
		}
	})
}

// Urgent data is read like any other and does not keep the loop busy.
func TestUrgentData(t *testing.T) {
	s := serve(t, Config{}, handlerFuncs{frame: echo})
	c := dial(t, s)
	write(t, c, []byte{0, 0, 0, 2})
	sendUrgent(t, c, 'a')
	eventually(t, "the byte to be read", func() bool { return s.Stats().BytesIn == 1 })
	wantQuiet(t, "with urgent data pending")
	write(t, c, []byte{'b'})
	if got := read(t, c); string(got) != "ab" {
		t.Errorf("got %q", got)
	}
}

func sendUrgent(t *testing.T, c *net.TCPConn, b byte) {
	t.Helper()
	rc, err := c.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	if cerr := rc.Control(func(fd uintptr) { err = sendOutOfBand(int(fd), b) }); cerr != nil || err != nil {
		t.Fatal(cerr, err)
	}
}
