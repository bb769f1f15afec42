package replay

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
	"golang.org/x/sys/unix"

	"ringmain/bench/load"
	"ringmain/bench/pace"
	"ringmain/bench/workload"
	"ringmain/record"
)

// broker is a fake one that does on each connection what its test says.
type broker struct {
	t        testing.TB
	listener net.Listener
	serving  sync.WaitGroup

	mu    sync.Mutex
	conns []net.Conn
}

// newBroker serves connections with serve until the test ends; what serve leaves
// open is closed then. A connection's buffer takes few bytes, so that whoever sends
// much has to wait.
func newBroker(t testing.TB, serve func(c *wire)) *broker {
	t.Helper()
	config := net.ListenConfig{Control: func(_, _ string, raw syscall.RawConn) error {
		return raw.Control(func(fd uintptr) { _ = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVBUF, 8<<10) })
	}}
	l, err := config.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	b := &broker{t: t, listener: l}
	b.serving.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			b.mu.Lock()
			b.conns = append(b.conns, c)
			b.mu.Unlock()
			b.serving.Go(func() { serve(&wire{t: t, Conn: c}) })
		}
	})
	t.Cleanup(b.close)
	return b
}

func (b *broker) address() string { return b.listener.Addr().String() }

// accepted are the connections so far.
func (b *broker) accepted() []net.Conn {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]net.Conn{}, b.conns...)
}

func (b *broker) close() {
	_ = b.listener.Close()
	for _, c := range b.accepted() {
		_ = c.Close()
	}
	b.serving.Wait()
	for _, c := range b.accepted() {
		_ = c.Close()
	}
}

// partitions are n of one topic that the broker leads.
func (b *broker) partitions(n int) (all []load.Partition) {
	for i := range n {
		all = append(all, load.Partition{Topic: "loads", Index: int32(i), Leader: b.address(), End: 1000})
	}
	return all
}

// wire is one connection to the broker.
type wire struct {
	t testing.TB
	net.Conn
}

// next reads one request; false at the end of the connection.
func (w *wire) next() (frame []byte, ok bool) {
	var size [4]byte
	if _, err := io.ReadFull(w, size[:]); err != nil {
		return nil, false
	}
	frame = append(size[:], make([]byte, binary.BigEndian.Uint32(size[:]))...)
	_, err := io.ReadFull(w, frame[4:])
	return frame, err == nil
}

func correlationOf(frame []byte) int32 {
	return int32(binary.BigEndian.Uint32(frame[correlationAt:]))
}

// answer sends an answer in the version of the request.
func (w *wire) answer(frame []byte, r kmsg.Response) {
	w.send(answerOf(correlationOf(frame), int16(binary.BigEndian.Uint16(frame[6:])), r))
}

func (w *wire) send(answer []byte) {
	_, _ = w.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(answer))), answer...))
}

// producedAt answers a produce request.
func producedAt(code int16, partition int32, offset int64) kmsg.Response {
	r := kmsg.NewPtrProduceResponse()
	topic := kmsg.NewProduceResponseTopic()
	topic.Topic = "loads"
	one := kmsg.NewProduceResponseTopicPartition()
	one.Partition, one.ErrorCode, one.BaseOffset = partition, code, offset
	topic.Partitions = append(topic.Partitions, one)
	r.Topics = append(r.Topics, topic)
	return r
}

// fetchedFrom answers a fetch of one partition.
func fetchedFrom(code int16, partition int32, records []byte) kmsg.Response {
	r := kmsg.NewPtrFetchResponse()
	topic := kmsg.NewFetchResponseTopic()
	topic.Topic = "loads"
	one := kmsg.NewFetchResponseTopicPartition()
	one.Partition, one.ErrorCode, one.HighWatermark, one.RecordBatches = partition, code, 1000, records
	topic.Partitions = append(topic.Partitions, one)
	r.Topics = append(r.Topics, topic)
	return r
}

// tenRecords are a batch.
func tenRecords() record.Batch {
	b := record.NewBuilder()
	for range 10 {
		b.Add(1, nil, make([]byte, 100))
	}
	return b.Build()
}

// envOf is a small load on the broker.
func (b *broker) envOf(kind workload.Kind, partitions int, settings ...string) *load.Env {
	b.t.Helper()
	s := specOf(b.t, kind, append([]string{"connections", "1", "consumers", "1", "record_size", "100", "batch_bytes", "1000"}, settings...)...)
	return &load.Env{
		Spec: *s, Bootstrap: []string{b.address()}, Partitions: b.partitions(partitions),
		Meter: &load.Meter{}, Patience: 10 * time.Second,
	}
}

// ready makes an engine without asking the broker who it is.
func ready(t testing.TB, env *load.Env, loops int) *engine {
	t.Helper()
	e := &engine{env: env, versions: newestVersions}
	t.Cleanup(e.Close)
	err := e.openLoops(loops)
	if s := &env.Spec; err == nil {
		switch {
		case s.Kind == workload.Storm || s.Kind == workload.Idle:
			err = e.openVisitors(context.Background())
		default:
			if s.Kind.Produces() {
				err = e.openProducers(context.Background(), nil)
			}
			if err == nil && s.Kind.Fetches() {
				err = e.openConsumers(context.Background())
			}
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// ranOut bounds what should take a moment.
const ranOut = 30 * time.Second

// running is a load under way.
type running struct {
	t     testing.TB
	env   *load.Env
	stop  chan struct{}
	ended chan error
	sum   load.Interval
}

func begin(t testing.TB, e *engine) *running {
	r := &running{t: t, env: e.env, stop: make(chan struct{}), ended: make(chan error, 1)}
	go func() { r.ended <- e.Run(context.Background(), pace.Now(), r.stop) }()
	return r
}

// until waits for something while the load goes on.
func (r *running) until(holds func() bool) {
	r.t.Helper()
	for deadline := time.Now().Add(ranOut); ; {
		r.sum.Add(r.env.Meter.Take())
		if holds() {
			return
		}
		select {
		case err := <-r.ended:
			r.t.Fatalf("it ended: %v", err)
		case <-time.After(lookAgain):
		}
		if time.Now().After(deadline) {
			r.t.Fatalf("it did not come so far: errors %v, %d open, %d lost", r.sum.Errors, r.env.Meter.Open.Load(), r.env.Meter.Lost.Load())
		}
	}
}

// end stops the load, which must go well.
func (r *running) end() *load.Interval {
	r.t.Helper()
	close(r.stop)
	if err := r.over(); err != nil {
		r.t.Fatal(err)
	}
	return &r.sum
}

// over waits for the end of a load and returns how it was.
func (r *running) over() error {
	r.t.Helper()
	select {
	case err := <-r.ended:
		r.sum.Add(r.env.Meter.Take())
		return err
	case <-time.After(ranOut):
		r.t.Fatal("it did not end")
		return nil
	}
}

// descriptors is how many are open.
func descriptors(t testing.TB) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

// mute is a broker that answers every request of its first connection at once with
// the same answer, and allocates nothing while it does, so that what is allocated is
// the engine's.
func mute(t testing.TB, answer []byte, answered *atomic.Int64) (address string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var serving sync.WaitGroup
	serving.Go(func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		file, err := c.(*net.TCPConn).File()
		if err != nil {
			return
		}
		defer file.Close()
		fd := int(file.Fd()) // blocking from here on
		frame := append(binary.BigEndian.AppendUint32(nil, uint32(len(answer))), answer...)
		requests := make([]byte, 1<<20)
		for have := 0; ; {
			n, err := unix.Read(fd, requests[have:])
			if n <= 0 || err != nil {
				return
			}
			have += n
			from := 0
			for have-from >= 4 {
				size := 4 + int(binary.BigEndian.Uint32(requests[from:]))
				if have-from < size {
					break
				}
				copy(frame[4:8], requests[from+correlationAt:])
				if _, err := unix.Write(fd, frame); err != nil {
					return
				}
				answered.Add(1)
				from += size
			}
			have = copy(requests, requests[from:have])
		}
	})
	t.Cleanup(func() { _ = l.Close(); serving.Wait() })
	return l.Addr().String()
}

func says(t testing.TB, err error, text string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), text) {
		t.Errorf("got %v, want %q", err, text)
	}
}
