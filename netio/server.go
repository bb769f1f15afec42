package netio

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/panjf2000/gnet/v2"
	"golang.org/x/sys/unix"
)

// Handler is told of connections and frames. Its methods run on the connection's
// loop and must not block; what is slow goes elsewhere and answers through a Slot.
type Handler interface {
	// Opened is called once, before anything else about c.
	Opened(c *Conn)
	// Frame delivers one frame. The handler owns f and calls f.Release when nothing
	// refers to f.Bytes any more, on any goroutine.
	Frame(c *Conn, f *Frame)
	// Closed is called once, last. Slots may still be outstanding.
	Closed(c *Conn, reason error)
}

// Server is a set of listeners and the loops that serve their connections.
type Server struct {
	cfg     Config
	handler Handler
	log     *slog.Logger
	rejects rejects
	quota   *quota
	stats   counters
	born    time.Time
	ids     atomic.Uint64

	inFlight atomic.Int64 // frames held, partly received or put aside, and responses queued
	claims   atomic.Int64 // memory reserved for bytes that are only announced
	grants   grants
	spares   spares
	hurryAt  atomic.Int64 // when the last request in a hurry came, see pace.go
	short    atomic.Bool  // connections may be waiting for opMemory

	client    *gnet.Client
	acceptors []*acceptor

	findPoller func(fd int) int // findPoller, or what a test puts in its place

	loopsMu sync.RWMutex
	loops   map[gnet.EventLoop]*loop
	ended   bool // no loop is woken any more, those made since included; guarded by loopsMu

	lifeMu     sync.Mutex
	started    bool
	stop       chan struct{} // closed when Stop begins
	stopping   atomic.Bool   // finish what is in flight, begin nothing
	stopped    atomic.Bool   // close everything
	left       chan struct{} // a connection closed while stopping
	background sync.WaitGroup
}

// Listen binds the listeners. Connections wait in the system's queue until Start.
func Listen(cfg Config, listeners []Listener, h Handler, log *slog.Logger) (*Server, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	s := &Server{
		cfg: cfg, handler: h, log: log, rejects: rejects{log: log},
		quota: newQuota(cfg.Limits, cfg.DescriptorBudget),
		born:  time.Now().Add(-time.Second), // so that 0 is a time before any event
		loops: map[gnet.EventLoop]*loop{}, findPoller: findPoller,
		stop: make(chan struct{}), left: make(chan struct{}, 1),
	}
	s.hurryAt.Store(int64(-hurryLasts)) // none yet
	s.grants.limit = s.cfg.TotalInFlightBytes / 2
	s.spares.limit = s.cfg.TotalInFlightBytes
	var err error
	if s.client, err = newEngine(s); err != nil {
		return nil, fmt.Errorf("netio: making the event loops: %w", err)
	}
	for _, l := range listeners {
		if err := s.bind(l); err != nil {
			s.closeListeners()
			return nil, err
		}
	}
	return s, nil
}

func (s *Server) bind(l Listener) error {
	if _, taken := s.listener(l.Name); taken {
		return fmt.Errorf("netio: two listeners are named %q", l.Name)
	}
	lc := net.ListenConfig{
		Control: func(_, _ string, rc syscall.RawConn) error {
			var err error
			if cerr := rc.Control(func(fd uintptr) { err = s.prepare(int(fd)) }); cerr != nil {
				return cerr
			}
			return err
		},
		KeepAlive: -1, // set once on the listener, see prepare
	}
	lc.SetMultipathTCP(false) // its sockets lack features of plain ones, and nobody asked
	addr := net.JoinHostPort(l.Host, strconv.Itoa(l.Port))
	ln, err := lc.Listen(context.Background(), "tcp", addr)
	if err != nil {
		return fmt.Errorf("netio: listener %s cannot bind %s: %w", l.Name, addr, err)
	}
	s.acceptors = append(s.acceptors, &acceptor{srv: s, name: l.Name, ln: ln.(*net.TCPListener), spare: -1})
	return nil
}

// prepare sets on a listening socket what its connections inherit.
func (s *Server) prepare(fd int) error {
	// Peers that vanished without a word are found by the system, at its own pace.
	if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_KEEPALIVE, 1); err != nil {
		return err
	}
	// Urgent data has no meaning here. Inline it is read like any other; apart, it
	// would stay pending, and a poller that watches for it would never rest.
	if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_OOBINLINE, 1); err != nil {
		return err
	}
	if n := s.cfg.SocketSendBuffer; n > 0 {
		if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_SNDBUF, n); err != nil {
			return err
		}
	}
	if n := s.cfg.SocketReceiveBuffer; n > 0 {
		if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUF, n); err != nil {
			return err
		}
	}
	return nil
}

func (s *Server) listener(name string) (*acceptor, bool) {
	for _, a := range s.acceptors {
		if a.name == name {
			return a, true
		}
	}
	return nil, false
}

// Addr is the bound address of a listener as host:port; empty when there is none of
// that name.
func (s *Server) Addr(name string) string {
	if a, ok := s.listener(name); ok {
		return a.ln.Addr().String()
	}
	return ""
}

// SetLimits replaces the limits on connections. Those already open stay.
func (s *Server) SetLimits(l Limits) error {
	if err := l.validate(); err != nil {
		return err
	}
	s.quota.setLimits(l)
	return nil
}

// Start begins to serve.
func (s *Server) Start() error {
	s.lifeMu.Lock()
	defer s.lifeMu.Unlock()
	if s.stopping.Load() {
		return ErrServerClosed
	}
	if s.started {
		return errors.New("netio: server started twice")
	}
	if err := s.client.Start(); err != nil {
		return fmt.Errorf("netio: starting the event loops: %w", err)
	}
	s.started = true
	s.background.Add(1 + len(s.acceptors))
	for _, a := range s.acceptors {
		go func() {
			defer s.background.Done()
			a.run()
		}()
	}
	go s.sweeper()
	return nil
}

// Stop stops accepting and reading, lets answers that are in flight leave until ctx
// ends, and closes everything. It returns ctx's error when some had to be cut. No
// method of the Handler runs after it returned.
func (s *Server) Stop(ctx context.Context) error {
	s.lifeMu.Lock()
	defer s.lifeMu.Unlock()
	if s.stopping.Swap(true) {
		return nil
	}
	close(s.stop)
	s.closeListeners()
	if !s.started {
		return nil
	}
	s.background.Wait()
	s.postAll(opDrain)
	err := s.waitForConnections(ctx)
	s.stopped.Store(true)
	s.abort()
	s.wakeNoMore()
	if cerr := s.client.Stop(); cerr != nil && err == nil {
		err = fmt.Errorf("netio: stopping the event loops: %w", cerr)
	}
	for _, l := range s.loops {
		l.bury()
	}
	s.spares.close()
	return err
}

func (s *Server) waitForConnections(ctx context.Context) error {
	for s.quota.count() > 0 {
		select {
		case <-s.left:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// abort has every loop close what is left, on its own goroutine.
func (s *Server) abort() {
	var aborted sync.WaitGroup
	s.loopsMu.RLock()
	for _, l := range s.loops {
		aborted.Add(1)
		l.post(message{op: opAbort, fn: aborted.Done})
	}
	s.loopsMu.RUnlock()
	aborted.Wait()
}

// wakeNoMore ends the waking of loops. gnet closes what wakes them before it says that they
// have ended; the number may then be another file's.
func (s *Server) wakeNoMore() {
	s.loopsMu.Lock()
	defer s.loopsMu.Unlock()
	s.ended = true
	for _, l := range s.loops {
		l.waking.Lock()
		l.ended = true
		l.waking.Unlock()
	}
}

func (s *Server) closeListeners() {
	for _, a := range s.acceptors {
		a.ln.Close()
	}
}

// loopOf returns what we keep beside gnet's loop of gc, made at the first connection
// of the loop because gnet shows its loops no earlier. Called on that loop.
func (s *Server) loopOf(gc gnet.Conn) *loop {
	el := gc.EventLoop()
	s.loopsMu.RLock()
	l := s.loops[el]
	s.loopsMu.RUnlock()
	if l != nil {
		return l
	}
	l = &loop{srv: s, el: el, conns: map[uint64]*Conn{}, poller: s.findPoller(gc.Fd()), pace: newPace(s.cfg.BulkShare)}
	l.run = gnet.RunnableFunc(func(context.Context) error { l.scheduled(); return nil })
	l.watcher = &watcher{loop: l}
	s.loopsMu.Lock()
	l.ended = s.ended
	s.loops[el] = l
	s.loopsMu.Unlock()
	return l
}

func (s *Server) postAll(o op) {
	s.loopsMu.RLock()
	defer s.loopsMu.RUnlock()
	for _, l := range s.loops {
		l.post(message{op: o})
	}
}

// departed counts a closed connection out.
func (s *Server) departed(c *Conn) {
	s.stats.closed[reasonIndex(c.reason)].Add(1)
	s.quota.leave(c.listener, c.ip)
	if s.stopping.Load() {
		select {
		case s.left <- struct{}{}:
		default:
		}
	}
}

// bury ends a loop whose event loop has ended: late answers are released.
func (l *loop) bury() {
	l.mu.Lock()
	l.dead = true
	box := l.box
	l.box = nil
	l.mu.Unlock()
	for i := range box {
		switch m := &box[i]; m.op {
		case opSend:
			l.complete(m.conn, m.seq, m.response)
		case opAnswer:
			l.answer(m.conn, m.seq, m.answerer)
		}
	}
	l.watcher.stop()
	l.yielder.stop()
}
