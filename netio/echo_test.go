package netio

import (
	"context"
	"encoding/binary"
	"io"
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"
)

// handlerFuncs is a Handler made of functions; nil ones do nothing.
type handlerFuncs struct {
	opened func(*Conn)
	frame  func(*Conn, *Frame)
	closed func(*Conn, error)
}

func (h handlerFuncs) Opened(c *Conn) {
	if h.opened != nil {
		h.opened(c)
	}
}

func (h handlerFuncs) Frame(c *Conn, f *Frame) {
	if h.frame == nil {
		f.Release()
		return
	}
	h.frame(c, f)
}

func (h handlerFuncs) Closed(c *Conn, reason error) {
	if h.closed != nil {
		h.closed(c, reason)
	}
}

// answer is a response frame with the given body.
func answer(body []byte) *Response {
	r := NewResponse()
	r.Buf = binary.BigEndian.AppendUint32(r.Buf, uint32(len(body)))
	r.Buf = append(r.Buf, body...)
	return r
}

// echo answers each frame with its own bytes, on the loop.
func echo(c *Conn, f *Frame) {
	s := c.Reserve()
	s.Send(answer(f.Bytes))
	f.Release()
}

// serve starts a server with one listener, PLAINTEXT, and stops it at the end of
// the test, when it also checks that no byte is still counted as in flight.
func serve(t testing.TB, cfg Config, h Handler) *Server {
	t.Helper()
	return serveLog(t, cfg, h, slog.New(slog.DiscardHandler))
}

func serveLog(t testing.TB, cfg Config, h Handler, log *slog.Logger) *Server {
	t.Helper()
	if cfg.Loops == 0 {
		cfg.Loops = 2
	}
	s, err := Listen(cfg, []Listener{{Name: "PLAINTEXT", Host: "127.0.0.1"}}, h, log)
	if err != nil {
		t.Fatal(err)
	}
	if withoutPoller(t) {
		s.findPoller = func(int) int { return -1 }
	}
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := s.Stop(ctx); err != nil {
			t.Errorf("Stop: %v", err)
		}
		if n := s.inFlight.Load(); n != 0 {
			t.Errorf("%d bytes in flight after the server stopped", n)
		}
		if n := s.claims.Load(); n != 0 {
			t.Errorf("%d bytes claimed after the server stopped", n)
		}
	})
	return s
}

// inBothWays runs a test with gnet's poller in reach and without, when a stopped
// connection is taken over from gnet instead.
func inBothWays(t *testing.T, test func(t *testing.T)) {
	t.Run("poller", test)
	t.Run("takeover", test)
}

func withoutPoller(t testing.TB) bool { return strings.HasSuffix(t.Name(), "/takeover") }

// dial connects to the server; reads and writes fail after half a minute instead
// of hanging the test.
func dial(t testing.TB, s *Server) *net.TCPConn {
	t.Helper()
	c, err := net.Dial("tcp", s.Addr("PLAINTEXT"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	c.SetDeadline(time.Now().Add(30 * time.Second))
	return c.(*net.TCPConn)
}

func frameOf(body []byte) []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(body))), body...)
}

func write(t testing.TB, c net.Conn, b []byte) {
	t.Helper()
	if _, err := c.Write(b); err != nil {
		t.Fatal(err)
	}
}

func read(t testing.TB, c io.Reader) []byte {
	t.Helper()
	b, err := readFrame(c)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func readFrame(c io.Reader) ([]byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(c, head[:]); err != nil {
		return nil, err
	}
	b := make([]byte, binary.BigEndian.Uint32(head[:]))
	_, err := io.ReadFull(c, b)
	return b, err
}

// wantEnd expects the server to close c without another byte.
func wantEnd(t testing.TB, c net.Conn) {
	t.Helper()
	var b [1]byte
	if n, err := c.Read(b[:]); n != 0 || err == nil {
		t.Fatalf("got byte %x, want the connection closed", b[:n])
	} else if ne, ok := err.(net.Error); ok && ne.Timeout() {
		t.Fatal("connection was not closed")
	}
}

// closes collects the reasons connections were closed for.
type closes struct {
	each chan error
}

func newCloses() *closes { return &closes{each: make(chan error, 1<<16)} }

func (c *closes) closed(_ *Conn, reason error) { c.each <- reason }

// next waits for a connection to be closed and returns why.
func (c *closes) next(t testing.TB) error {
	t.Helper()
	select {
	case err := <-c.each:
		return err
	case <-time.After(20 * time.Second):
		t.Fatal("no connection was closed")
		return nil
	}
}

func TestEcho(t *testing.T) {
	s := serve(t, Config{}, handlerFuncs{frame: echo})
	c := dial(t, s)
	for _, n := range []int{1, 3, 1000, 70_000, 1 << 20, 5 << 20, 1} {
		body := pattern(n, int64(n))
		write(t, c, frameOf(body))
		if got := read(t, c); string(got) != string(body) {
			t.Fatalf("frame of %d bytes came back different", n)
		}
	}
}

// pattern makes n bytes that depend on seed and position.
func pattern(n int, seed int64) []byte {
	b := make([]byte, n)
	x := uint64(seed)*2654435761 + 12345
	for i := range b {
		x = x*6364136223846793005 + 1442695040888963407
		b[i] = byte(x >> 56)
	}
	return b
}
