package netio

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// served reports whether c gets an answer within d.
func served(t *testing.T, c net.Conn, d time.Duration) bool {
	t.Helper()
	write(t, c, frameOf([]byte("x")))
	return answered(c, d)
}

func answered(c net.Conn, d time.Duration) bool {
	c.SetReadDeadline(time.Now().Add(d))
	defer c.SetReadDeadline(time.Now().Add(30 * time.Second))
	_, err := readFrame(c)
	return err == nil
}

const notServed = 50 * time.Millisecond

func TestMaxConnectionsWait(t *testing.T) {
	s := serve(t, Config{Limits: Limits{MaxConnections: 2}}, handlerFuncs{frame: echo})
	a, b := dial(t, s), dial(t, s)
	if !served(t, a, time.Minute) || !served(t, b, time.Minute) {
		t.Fatal("the first two are not served")
	}
	c, d := dial(t, s), dial(t, s)
	if served(t, c, notServed) {
		t.Fatal("a third is served")
	}
	a.Close()
	if !answered(c, 10*time.Second) {
		t.Fatal("the third is not served after one closed")
	}
	if served(t, d, notServed) {
		t.Fatal("a fourth is served")
	}
	if err := s.SetLimits(Limits{}); err != nil {
		t.Fatal(err)
	}
	if !answered(d, 10*time.Second) {
		t.Fatal("the fourth is not served without a limit")
	}
}

func TestMaxConnectionsPerIP(t *testing.T) {
	limits := Limits{MaxConnectionsPerIP: 1, PerIPOverrides: map[string]int{"127.0.0.1": 2, "127.0.0.3": 0}}
	s := serve(t, Config{Limits: limits}, handlerFuncs{frame: echo})
	from := func(ip string) net.Conn {
		d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(ip)}}
		c, err := d.Dial("tcp", s.Addr("PLAINTEXT"))
		if err != nil {
			t.Skipf("cannot connect from %s: %v", ip, err)
		}
		t.Cleanup(func() { c.Close() })
		c.SetDeadline(time.Now().Add(30 * time.Second))
		return c
	}
	first := from("127.0.0.1")
	if !served(t, first, time.Minute) || !served(t, from("127.0.0.1"), time.Minute) {
		t.Fatal("two by an override are not served")
	}
	wantEnd(t, from("127.0.0.1"))
	if !served(t, from("127.0.0.2"), time.Minute) {
		t.Fatal("another address is not served")
	}
	wantEnd(t, from("127.0.0.2"))
	wantEnd(t, from("127.0.0.3"))
	if n := s.Stats().Refused; n != 3 {
		t.Fatalf("%d connections refused, want 3", n)
	}
	first.Close()
	eventually(t, "a place", func() bool { return s.Stats().Open == 2 })
	if !served(t, from("127.0.0.1"), time.Minute) {
		t.Fatal("not served after one closed")
	}
}

func TestConnectionRate(t *testing.T) {
	const rate = 50
	s := serve(t, Config{Limits: Limits{MaxConnectionsPerSec: rate}}, handlerFuncs{frame: echo})
	start := time.Now()
	const conns = rate + 25 // a second's worth may be saved up
	for range conns {
		c := dial(t, s)
		if !served(t, c, time.Minute) {
			t.Fatal("not served")
		}
		c.Close()
	}
	if d := time.Since(start); d < 400*time.Millisecond {
		t.Fatalf("%d connections in %v at %d a second", conns, d, rate)
	}
}

func TestBadConfig(t *testing.T) {
	for name, cfg := range map[string]Config{
		"loops":       {Loops: -1},
		"frame":       {MaxFrameBytes: -5},
		"limits":      {Limits: Limits{MaxConnections: -1}},
		"override":    {Limits: Limits{PerIPOverrides: map[string]int{"1.2.3.4": -1}}},
		"budget":      {SendBudget: -1},
		"share":       {BulkShare: 101},
		"descriptors": {DescriptorBudget: -1},
	} {
		if s, err := Listen(cfg, nil, handlerFuncs{}, slog.New(slog.DiscardHandler)); err == nil {
			t.Errorf("%s: accepted", name)
			s.Stop(context.Background())
		}
	}
	lns := []Listener{{Name: "A", Host: "127.0.0.1"}, {Name: "A", Host: "127.0.0.1"}}
	if _, err := Listen(Config{}, lns, handlerFuncs{}, slog.New(slog.DiscardHandler)); err == nil {
		t.Error("two listeners of one name: accepted")
	}
}

func TestAddressInUse(t *testing.T) {
	s := serve(t, Config{}, handlerFuncs{})
	_, port, _ := net.SplitHostPort(s.Addr("PLAINTEXT"))
	var n int
	fmt.Sscan(port, &n)
	_, err := Listen(Config{}, []Listener{{Name: "X", Host: "127.0.0.1", Port: n}}, handlerFuncs{}, slog.New(slog.DiscardHandler))
	if !errors.Is(err, unix.EADDRINUSE) {
		t.Fatalf("got %v, want EADDRINUSE", err)
	}
}

func TestSeveralListeners(t *testing.T) {
	names := make(chan string, 2)
	h := handlerFuncs{frame: echo, opened: func(c *Conn) { names <- c.Listener() + " " + c.RemoteIP() }}
	s, err := Listen(Config{}, []Listener{{Name: "A", Host: "127.0.0.1"}, {Name: "B", Host: "127.0.0.1"}}, h, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	defer s.Stop(context.Background())
	for _, name := range []string{"A", "B"} {
		c, err := net.Dial("tcp", s.Addr(name))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if got := <-names; got != name+" 127.0.0.1" {
			t.Fatalf("opened on %q, want %q", got, name)
		}
	}
	if s.Addr("C") != "" {
		t.Fatal("an address for a listener that is not there")
	}
}

// A restart on the same port works at once, with connections of before lingering.
func TestRestartOnSamePort(t *testing.T) {
	ln := Listener{Name: "PLAINTEXT", Host: "127.0.0.1"}
	for range 3 {
		s, err := Listen(Config{}, []Listener{ln}, handlerFuncs{frame: echo}, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		s.Start()
		c := dial(t, s)
		if !served(t, c, time.Minute) {
			t.Fatal("not served")
		}
		_, port, _ := net.SplitHostPort(s.Addr("PLAINTEXT"))
		fmt.Sscan(port, &ln.Port)
		if err := s.Stop(context.Background()); err != nil {
			t.Fatal(err)
		}
		wantEnd(t, c)
	}
}

func TestStop(t *testing.T) {
	t.Run("finishes what is in flight", func(t *testing.T) {
		inBothWays(t, func(t *testing.T) {
			slots := make(chan func(), 1)
			s := serve(t, Config{}, handlerFuncs{frame: func(c *Conn, f *Frame) {
				slot := c.Reserve()
				slots <- func() { slot.Send(answer(f.Bytes)); f.Release() }
			}})
			idle, c := dial(t, s), dial(t, s)
			write(t, c, frameOf([]byte("last")))
			send := <-slots
			stopped := make(chan error)
			go func() { stopped <- s.Stop(context.Background()) }()
			wantEnd(t, idle)
			if _, err := net.Dial("tcp", s.Addr("PLAINTEXT")); err == nil {
				t.Error("still accepting")
			}
			send()
			if got := read(t, c); string(got) != "last" {
				t.Errorf("got %q", got)
			}
			wantEnd(t, c)
			if err := <-stopped; err != nil {
				t.Error(err)
			}
		})
	})
	t.Run("does not wait for ever", func(t *testing.T) {
		f := newCountedFile(t, make([]byte, 8<<20))
		reasons := newCloses()
		slots := make(chan func(), 10)
		h := handlerFuncs{closed: reasons.closed, frame: func(c *Conn, fr *Frame) {
			slot := c.Reserve()
			if c.State == nil {
				c.State = true
				slot.Send(fetchAnswer(f, fr.Bytes)) // more than the client takes
				fr.Release()
				return
			}
			slots <- func() { slot.Send(fetchAnswer(f, fr.Bytes)); fr.Release() }
		}}
		s, err := Listen(Config{}, []Listener{{Name: "PLAINTEXT", Host: "127.0.0.1"}}, h, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		s.Start()
		c := dial(t, s)
		write(t, c, fetch(0, 8<<20))
		write(t, c, fetch(0, 8<<20))
		late := <-slots
		ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
		defer cancel()
		if err := s.Stop(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Stop: %v", err)
		}
		if err := reasons.next(t); !errors.Is(err, ErrStopped) {
			t.Errorf("closed for %v", err)
		}
		late()
		wantReleased(t, f)
		if n := s.inFlight.Load(); n != 0 {
			t.Errorf("%d bytes in flight", n)
		}
		if s.Start() == nil {
			t.Error("started again after Stop")
		}
	})
	t.Run("leaves no goroutine and no descriptor", func(t *testing.T) {
		before, fds := runtime.NumGoroutine(), openDescriptors(t)
		f := newCountedFile(t, make([]byte, 8<<20))
		fds++
		for range 3 {
			s, err := Listen(Config{Loops: 2}, []Listener{{Name: "PLAINTEXT", Host: "127.0.0.1"}},
				handlerFuncs{frame: func(c *Conn, fr *Frame) {
					c.Reserve().Send(fetchAnswer(f, fr.Bytes))
					fr.Release()
				}}, slog.New(slog.DiscardHandler))
			if err != nil {
				t.Fatal(err)
			}
			s.Start()
			for range 4 {
				c := dial(t, s)
				write(t, c, fetch(0, 8<<20)) // a watcher is needed
				io.ReadFull(c, make([]byte, 1<<20))
				c.Close()
			}
			s.Stop(context.Background())
		}
		wantReleased(t, f)
		eventually(t, "goroutines to end", func() bool { return runtime.NumGoroutine() <= before })
		if n := openDescriptors(t); n > fds {
			t.Errorf("%d descriptors open, %d before", n, fds)
		}
	})
}

func openDescriptors(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip("no /proc here")
	}
	return len(entries)
}

// With descriptors used up the server goes on, and takes new connections when some
// are free again. It runs in a process of its own, for the limit's sake, which also
// shows that nothing is written to standard output.
func TestDescriptorsUsedUp(t *testing.T) {
	const limit = 60
	if os.Getenv("NETIO_FEW_DESCRIPTORS") != "" {
		if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: limit, Max: limit}); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		budget := 0
		fmt.Sscan(os.Getenv("NETIO_FEW_DESCRIPTORS"), &budget)
		s, err := Listen(Config{DescriptorBudget: budget}, []Listener{{Name: "PLAINTEXT", Host: "127.0.0.1"}},
			handlerFuncs{frame: echo}, slog.New(slog.NewTextHandler(os.Stderr, nil)))
		if err == nil {
			err = s.Start()
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		fmt.Fprintf(os.Stderr, "addr %s\n", s.Addr("PLAINTEXT"))
		io.Copy(io.Discard, os.Stdin)
		s.Stop(context.Background())
		os.Exit(0)
	}
	for name, budget := range map[string]string{"within the budget": "20", "beyond the limit": "1000"} {
		t.Run(name, func(t *testing.T) {
			cmd := exec.Command(os.Args[0], "-test.run=^TestDescriptorsUsedUp$")
			cmd.Env = append(os.Environ(), "NETIO_FEW_DESCRIPTORS="+budget)
			stdin, _ := cmd.StdinPipe()
			stderr, _ := cmd.StderrPipe()
			var stdout bytes.Buffer
			cmd.Stdout = &stdout
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			var addr string
			if _, err := fmt.Fscanf(stderr, "addr %s\n", &addr); err != nil {
				t.Fatal(err)
			}
			var said bytes.Buffer
			logged := make(chan struct{})
			go func() { io.Copy(&said, stderr); close(logged) }()

			answers := make(chan net.Conn, 100)
			for range cap(answers) { // they all connect: the system's queue takes them
				c, err := net.Dial("tcp", addr)
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { c.Close() })
				c.SetDeadline(time.Now().Add(time.Minute))
				write(t, c, frameOf([]byte("x")))
				go func() {
					if _, err := readFrame(c); err == nil {
						answers <- c
					}
				}()
			}
			// All that are served now, and ten at least.
			var served []net.Conn
			for wait := 20 * time.Second; wait > 0; {
				select {
				case c := <-answers:
					if served = append(served, c); len(served) == 10 {
						wait = notServed
					}
				case <-time.After(wait):
					wait = 0
				}
			}
			if len(served) < 10 || len(served) > limit {
				t.Fatalf("%d connections served with %d descriptors", len(served), limit)
			}
			// The ones that are open still work, and closing them lets others in.
			write(t, served[0], frameOf([]byte("y")))
			if !answered(served[0], 20*time.Second) {
				t.Error("an open connection is not served any more")
			}
			for _, c := range served {
				c.Close()
			}
			for i := range 5 {
				select {
				case <-answers:
				case <-time.After(20 * time.Second):
					t.Fatalf("%d waiting connections are served after others closed, want 5 and more", i)
				}
			}
			stdin.Close()
			<-logged
			if err := cmd.Wait(); err != nil {
				t.Errorf("%v: %s", err, said.String())
			}
			if stdout.Len() > 0 {
				t.Errorf("standard output has %q", stdout.String())
			}
			if said.Len() == 0 {
				t.Error("nothing was logged")
			}
		})
	}
}

// Thousands of connections at once, and what an idle one costs.
func TestThousandsOfConnections(t *testing.T) {
	const conns = 4000
	var lim unix.Rlimit
	unix.Getrlimit(unix.RLIMIT_NOFILE, &lim)
	if lim.Cur < 2*conns+200 {
		t.Skipf("limit of %d open files", lim.Cur)
	}
	s := serve(t, Config{}, handlerFuncs{frame: echo})
	open := make([]net.Conn, conns)
	start := time.Now()
	dialled := make(chan error, 8)
	for w := range cap(dialled) {
		go func() {
			for i := w; i < conns; i += cap(dialled) {
				c, err := net.Dial("tcp", s.Addr("PLAINTEXT"))
				if err != nil {
					dialled <- err
					return
				}
				open[i] = c
			}
			dialled <- nil
		}()
	}
	for range cap(dialled) {
		if err := <-dialled; err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "all to be open", func() bool { return s.Stats().Open == conns })
	t.Logf("%d connections in %v", conns, time.Since(start))
	for _, c := range open {
		c.SetDeadline(time.Now().Add(30 * time.Second))
		write(t, c, frameOf([]byte("x")))
	}
	for _, c := range open {
		read(t, c)
	}
	heap := func() int64 {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapInuse)
	}
	with := heap()
	// The clients' halves stay allocated, so the difference is the server's.
	for _, c := range open {
		c.Close()
	}
	eventually(t, "all to be closed", func() bool { return s.Stats().Open == 0 })
	cost := (with - heap()) / conns
	runtime.KeepAlive(open)
	t.Logf("an idle connection costs %d bytes", cost)
	if cost > 4096 {
		t.Errorf("an idle connection costs %d bytes, want at most 4096", cost)
	}
}
