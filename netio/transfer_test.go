package netio

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math/rand"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// countedFile counts its references, so that a test sees each range released once.
type countedFile struct {
	*os.File
	refs atomic.Int64
}

func (f *countedFile) Fd() int { return int(f.File.Fd()) }

func (f *countedFile) Release() {
	if f.refs.Add(-1) < 0 {
		panic("file range released twice")
	}
}

func (f *countedFile) ranged(off int64, n int) FileRange {
	f.refs.Add(1)
	return FileRange{File: f, Off: off, N: n}
}

func newCountedFile(t testing.TB, content []byte) *countedFile {
	t.Helper()
	path := filepath.Join(t.TempDir(), "data")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	f := &countedFile{File: file}
	t.Cleanup(func() { file.Close() })
	return f
}

// fetch is a request for pieces of the file with bytes between them: a list of
// (offset, length), both 32 bits. Its answer repeats each pair before its bytes.
func fetch(pairs ...int) []byte {
	var b []byte
	for _, p := range pairs {
		b = binary.BigEndian.AppendUint32(b, uint32(p))
	}
	return frameOf(b)
}

func fetchAnswer(f *countedFile, req []byte) *Response {
	r := NewResponse()
	r.Buf = append(r.Buf, 0, 0, 0, 0)
	total := 0
	for len(req) >= 8 {
		off, n := binary.BigEndian.Uint32(req), binary.BigEndian.Uint32(req[4:])
		r.Buf = append(r.Buf, req[:8]...)
		r.AddFile(f.ranged(int64(off), int(n)))
		total += 8 + int(n)
		req = req[8:]
	}
	binary.BigEndian.PutUint32(r.Buf, uint32(total))
	if r.Len() != total+4 {
		panic("Response.Len is wrong")
	}
	return r
}

func wantFetch(content []byte, pairs ...int) []byte {
	var b []byte
	for i := 0; i < len(pairs); i += 2 {
		b = binary.BigEndian.AppendUint32(b, uint32(pairs[i]))
		b = binary.BigEndian.AppendUint32(b, uint32(pairs[i+1]))
		b = append(b, content[pairs[i]:pairs[i]+pairs[i+1]]...)
	}
	return b
}

// fetchServer answers fetches: half on the loop, half from a goroutine.
func fetchServer(t testing.TB, cfg Config, f *countedFile, closed func(*Conn, error)) *Server {
	s := serve(t, cfg, handlerFuncs{closed: closed, frame: func(c *Conn, fr *Frame) {
		slot := c.Reserve()
		work := func() {
			slot.Send(fetchAnswer(f, fr.Bytes))
			fr.Release()
		}
		if len(fr.Bytes) > 0 && fr.Bytes[len(fr.Bytes)-1]&1 == 0 {
			go work()
		} else {
			work()
		}
	}})
	return s
}

// wantReleased expects all ranges of f to be released in time.
func wantReleased(t testing.TB, f *countedFile) {
	t.Helper()
	eventually(t, "all file ranges to be released", func() bool { return f.refs.Load() == 0 })
}

func TestManyConnectionsMixedAnswers(t *testing.T) {
	const conns, each, fileSize = 100, 20, 4 << 20
	content := pattern(fileSize, 7)
	f := newCountedFile(t, content)
	s := fetchServer(t, Config{SendBudget: 32 << 10}, f, nil)
	var wg sync.WaitGroup
	for n := range conns {
		c := dial(t, s)
		wg.Add(1)
		go func() {
			defer wg.Done()
			rng := rand.New(rand.NewSource(int64(n)))
			var wants [][]byte
			for range each {
				var pairs []int
				for range rng.Intn(4) {
					size := rng.Intn(1 << uint(1+rng.Intn(17)))
					pairs = append(pairs, rng.Intn(fileSize-size), size)
				}
				if len(pairs) == 0 {
					pairs = []int{0, 0}
				}
				wants = append(wants, wantFetch(content, pairs...))
				if _, err := c.Write(fetch(pairs...)); err != nil {
					t.Error(err)
					return
				}
				if rng.Intn(3) > 0 {
					continue // pipeline
				}
				if !readAll(t, c, wants) {
					return
				}
				wants = nil
			}
			readAll(t, c, wants)
		}()
	}
	wg.Wait()
	wantReleased(t, f)
}

func readAll(t *testing.T, c io.Reader, wants [][]byte) bool {
	for _, want := range wants {
		got, err := readFrame(c)
		if err != nil {
			t.Error(err)
			return false
		}
		if !bytes.Equal(got, want) {
			t.Errorf("answer of %d bytes differs from the %d expected", len(got), len(want))
			return false
		}
	}
	return true
}

func TestSlowReaderTinyBuffers(t *testing.T) {
	const fileSize = 1 << 20
	content := pattern(fileSize, 9)
	f := newCountedFile(t, content)
	s := fetchServer(t, Config{SocketSendBuffer: 4 << 10, Loops: 1}, f, nil)
	slow := dial(t, s)
	slow.SetReadBuffer(4 << 10)
	pairs := []int{0, 30_000, 5, 1, 17, 20_000, 9, 0, 1000, 3}
	for range 2 {
		write(t, slow, fetch(pairs...))
	}
	// The other connection of the same loop is served meanwhile.
	quick := dial(t, s)
	quickDone := make(chan error, 1)
	go func() {
		for range 50 {
			if _, err := quick.Write(fetch(3, 1000)); err != nil {
				quickDone <- err
				return
			}
			if _, err := readFrame(quick); err != nil {
				quickDone <- err
				return
			}
		}
		quickDone <- nil
	}()
	var got bytes.Buffer
	want := bytes.Repeat(frameOf(wantFetch(content, pairs...)), 2)
	chunk := make([]byte, 3000)
	for got.Len() < len(want) {
		n, err := slow.Read(chunk)
		if err != nil {
			t.Fatal(err)
		}
		got.Write(chunk[:n])
	}
	if !bytes.Equal(got.Bytes(), want) {
		t.Fatal("answers differ")
	}
	if err := <-quickDone; err != nil {
		t.Fatal(err)
	}
	wantReleased(t, f)
}

// Readers that vanish in the middle, by RST and by FIN, leave nothing behind.
func TestReadersThatVanish(t *testing.T) {
	const fileSize = 4 << 20
	content := pattern(fileSize, 11)
	f := newCountedFile(t, content)
	cl := newCloses()
	s := fetchServer(t, Config{}, f, cl.closed)
	const conns = 60
	var wg sync.WaitGroup
	for n := range conns {
		c := dial(t, s)
		wg.Add(1)
		go func() {
			defer wg.Done()
			rng := rand.New(rand.NewSource(int64(n)))
			for i := range 3 {
				if _, err := c.Write(fetch(i, fileSize-100)); err != nil {
					t.Error(err)
				}
			}
			io.CopyN(io.Discard, c, int64(rng.Intn(2<<20)))
			if n%2 == 0 {
				c.SetLinger(0)
			}
			c.Close()
		}()
	}
	wg.Wait()
	for range conns {
		if err := cl.next(t); !errors.Is(err, ErrPeerClosed) && !errors.Is(err, ErrSend) {
			t.Errorf("closed for %v", err)
		}
	}
	wantReleased(t, f)
	eventually(t, "connections to be counted out", func() bool { return s.Stats().Open == 0 })
}

// A range that goes beyond the end of its file closes the connection. A small one is
// read before anything is sent; of a large one the client gets what is there.
func TestShortFileClosesConnection(t *testing.T) {
	content := pattern(3*copyBytes, 3)
	for name, c := range map[string]struct{ off, n, sent int }{
		"small": {len(content) - 5_000, 8_000, 0},
		"large": {copyBytes, 3 * copyBytes, 2 * copyBytes},
	} {
		t.Run(name, func(t *testing.T) {
			f := newCountedFile(t, content)
			cl := newCloses()
			s := fetchServer(t, Config{}, f, cl.closed)
			conn := dial(t, s)
			write(t, conn, fetch(c.off, c.n))
			got, err := io.ReadAll(conn)
			if err != nil {
				t.Fatal(err)
			}
			if c.sent == 0 && len(got) > 0 {
				t.Fatalf("%d bytes came of an answer that cannot be completed", len(got))
			}
			if c.sent > 0 && !bytes.Equal(got[12:], content[c.off:]) {
				t.Fatalf("got %d bytes of the file, want the %d that are there", len(got)-12, c.sent)
			}
			if err := cl.next(t); !errors.Is(err, ErrShortFile) {
				t.Fatalf("closed for %v, want ErrShortFile", err)
			}
			wantReleased(t, f)
		})
	}
}

// A client may finish sending and still read all its answers.
func TestHalfClosedIsAnswered(t *testing.T) {
	content := pattern(1<<20, 5)
	f := newCountedFile(t, content)
	cl := newCloses()
	release := make(chan struct{})
	s := serve(t, Config{}, handlerFuncs{closed: cl.closed, frame: func(c *Conn, fr *Frame) {
		slot := c.Reserve()
		go func() {
			<-release
			slot.Send(fetchAnswer(f, fr.Bytes))
			fr.Release()
		}()
	}})
	c := dial(t, s)
	c.SetReadBuffer(128 << 10)
	var want []byte
	for i := range 5 {
		write(t, c, fetch(i, 900_000))
		want = append(want, frameOf(wantFetch(content, i, 900_000))...)
	}
	if err := c.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the end to be noticed", func() bool { return detached(s) == 1 })
	close(release)
	got, err := io.ReadAll(c)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Fatalf("got %d bytes, want %d equal ones", len(got), len(want))
	}
	if err := cl.next(t); !errors.Is(err, ErrPeerClosed) {
		t.Fatalf("closed for %v", err)
	}
	wantReleased(t, f)
}

// detached counts the connections that gnet has let go of.
func detached(s *Server) int {
	var n atomic.Int64
	s.onLoops(func(l *loop) {
		for _, c := range l.conns {
			if c.gc == nil {
				n.Add(1)
			}
		}
	})
	return int(n.Load())
}

// onLoops runs fn on each loop and waits.
func (s *Server) onLoops(fn func(*loop)) {
	s.loopsMu.RLock()
	var wg sync.WaitGroup
	for _, l := range s.loops {
		wg.Add(1)
		l.post(message{op: opCall, conn: &Conn{}, fn: func() { fn(l); wg.Done() }})
	}
	s.loopsMu.RUnlock()
	wg.Wait()
}

// An end without anything in flight closes at once.
func TestEndOfStreamCloses(t *testing.T) {
	cl := newCloses()
	s := serve(t, Config{}, handlerFuncs{frame: echo, closed: cl.closed})
	c := dial(t, s)
	write(t, c, frameOf([]byte("x")))
	read(t, c)
	c.CloseWrite()
	wantEnd(t, c)
	if err := cl.next(t); !errors.Is(err, ErrPeerClosed) {
		t.Fatalf("closed for %v", err)
	}
}

// Answers to requests on a connection that is gone are released.
func TestAnswersAfterClose(t *testing.T) {
	f := newCountedFile(t, pattern(1000, 1))
	cl := newCloses()
	slots := make(chan func(), 100)
	s := serve(t, Config{}, handlerFuncs{closed: cl.closed, frame: func(c *Conn, fr *Frame) {
		slot := c.Reserve()
		slots <- func() { slot.Send(fetchAnswer(f, fr.Bytes)); fr.Release() }
	}})
	c := dial(t, s)
	for range 10 {
		write(t, c, fetch(1, 100))
	}
	var late []func()
	for range 10 {
		late = append(late, <-slots)
	}
	c.SetLinger(0)
	c.Close()
	cl.next(t)
	for _, fn := range late {
		fn()
	}
	wantReleased(t, f)
	eventually(t, "bytes in flight to go", func() bool { return s.Stats().InFlightBytes == 0 })
}

// A connection that sends much at once does not hold up others of its loop.
func TestSendingTakesTurns(t *testing.T) {
	const fileSize = 8 << 20
	f := newCountedFile(t, make([]byte, fileSize))
	s := fetchServer(t, Config{Loops: 1}, f, nil)
	var readers sync.WaitGroup
	stop := make(chan struct{})
	for range 8 {
		c := dial(t, s)
		readers.Add(1)
		go func() {
			defer readers.Done()
			for {
				select {
				case <-stop:
					return
				default:
				}
				if _, err := c.Write(fetch(0, fileSize)); err != nil {
					t.Error(err)
					return
				}
				if _, err := io.CopyN(io.Discard, c, fileSize+12); err != nil {
					t.Error(err)
					return
				}
			}
		}()
	}
	c := dial(t, s)
	var worst time.Duration
	for range 100 {
		start := time.Now()
		write(t, c, fetch(1, 10))
		read(t, c)
		worst = max(worst, time.Since(start))
	}
	close(stop)
	readers.Wait()
	// Who is held up is so until all the others have what they asked for, and they ask
	// again and again; a busy machine adds no such time.
	if worst > 10*time.Second {
		t.Errorf("a small request took %v beside large ones", worst)
	}
}
