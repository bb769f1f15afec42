package franz

import (
	"net"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"ringmain/bench/audit"
	"ringmain/bench/load"
	"ringmain/bench/pace"
	"ringmain/bench/workload"
)

const testTopic = "loads"

// cluster is a fake one in this process, whose connections the test can cut.
type cluster struct {
	*kfake.Cluster
	t      *testing.T
	client *kgo.Client
	admin  *kadm.Client

	mu    sync.Mutex
	conns []net.Conn
}

type watchedListener struct {
	net.Listener
	c *cluster
}

func (l watchedListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err == nil {
		l.c.mu.Lock()
		l.c.conns = append(l.c.conns, conn)
		l.c.mu.Unlock()
	}
	return conn, err
}

func newCluster(t *testing.T, partitions int32) *cluster {
	t.Helper()
	c := &cluster{t: t}
	var err error
	c.Cluster, err = kfake.NewCluster(kfake.NumBrokers(2), kfake.SeedTopics(partitions, testTopic),
		kfake.ListenFn(func(network, address string) (net.Listener, error) {
			l, err := net.Listen(network, address)
			return watchedListener{l, c}, err
		}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	c.client, err = kgo.NewClient(kgo.SeedBrokers(c.ListenAddrs()...), kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.ProducerBatchCompression(kgo.NoCompression()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.client.Close)
	c.admin = kadm.NewClient(c.client)
	return c
}

// accepted are the connections that brokers have accepted so far.
func (c *cluster) accepted() []net.Conn {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]net.Conn{}, c.conns...)
}

// fill writes n records of some bytes into each partition.
func (c *cluster) fill(n int) {
	c.t.Helper()
	partitions := c.bounds()
	var records []*kgo.Record
	for _, p := range partitions {
		for range n {
			records = append(records, &kgo.Record{Topic: p.Topic, Partition: p.Index, Value: make([]byte, 100)})
		}
	}
	if err := c.client.ProduceSync(c.t.Context(), records...).FirstErr(); err != nil {
		c.t.Fatal(err)
	}
}

// bounds are the partitions of the topic as they are now.
func (c *cluster) bounds() (all []load.Partition) {
	c.t.Helper()
	starts, err := c.admin.ListStartOffsets(c.t.Context(), testTopic)
	if err != nil {
		c.t.Fatal(err)
	}
	ends, err := c.admin.ListEndOffsets(c.t.Context(), testTopic)
	if err != nil {
		c.t.Fatal(err)
	}
	for index := range int32(len(ends[testTopic])) {
		all = append(all, load.Partition{
			Topic: testTopic, Index: index,
			Start: starts[testTopic][index].Offset, End: ends[testTopic][index].Offset,
		})
	}
	return all
}

// env is a load on the cluster, small and without a book.
func (c *cluster) env(kind workload.Kind, settings ...string) *load.Env {
	c.t.Helper()
	s := workload.Defaults(kind)
	s.Engine, s.Connections, s.Consumers = workload.Franz, 2, 2
	s.Record, s.BatchBytes = workload.Fixed(200), 4<<10
	s.FetchMaxWait = 50 * time.Millisecond
	for i := 0; i < len(settings); i += 2 {
		if err := s.Set(settings[i], settings[i+1]); err != nil {
			c.t.Fatal(err)
		}
	}
	if err := s.Validate(); err != nil {
		c.t.Fatal(err)
	}
	return &load.Env{
		Spec: s, Bootstrap: c.ListenAddrs(), Client: []kgo.Opt{kgo.SeedBrokers(c.ListenAddrs()...)},
		Partitions: c.bounds(), Meter: &load.Meter{}, Patience: 10 * time.Second,
	}
}

// keepBook gives a load an account.
func (c *cluster) keepBook(env *load.Env) {
	c.t.Helper()
	var err error
	env.Book, err = audit.NewBook(audit.Config{
		Run: 7, Producers: env.Spec.Connections, Partitions: len(env.Partitions),
		Offsets: env.Spec.Key.Form == workload.NoKeys,
	})
	if err != nil {
		c.t.Fatal(err)
	}
}

// ranOut bounds what should take a moment.
const ranOut = 30 * time.Second

// running is a load under way.
type running struct {
	t      *testing.T
	env    *load.Env
	engine load.Engine
	stop   chan struct{}
	ended  chan error
	sum    load.Interval
}

func begin(t *testing.T, env *load.Env) *running {
	t.Helper()
	e, err := New(env)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	if err := e.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	r := &running{t: t, env: env, engine: e, stop: make(chan struct{}), ended: make(chan error, 1)}
	go func() { r.ended <- e.Run(t.Context(), pace.Now(), r.stop) }()
	return r
}

// until waits for a condition on all that was noted so far.
func (r *running) until(holds func(sum *load.Interval) bool) {
	r.t.Helper()
	deadline := time.Now().Add(ranOut)
	for {
		r.sum.Add(r.env.Meter.Take())
		if holds(&r.sum) {
			return
		}
		select {
		case err := <-r.ended:
			r.t.Fatalf("it ended: %v", err)
		case <-time.After(lookAgain):
		}
		if time.Now().After(deadline) {
			r.t.Fatalf("it did not come so far: %d produced, %d fetched, %d seen, %d connected, errors %v", r.sum.Sections[load.Produce].Records,
				r.sum.Sections[load.Fetch].Records, r.sum.Sections[load.EndToEnd].Latency.Count(), r.sum.Sections[load.Connect].Requests, r.sum.Errors)
		}
	}
}

// end stops the load and returns all that it noted.
func (r *running) end() *load.Interval {
	r.t.Helper()
	close(r.stop)
	select {
	case err := <-r.ended:
		if err != nil {
			r.t.Fatal(err)
		}
	case <-time.After(ranOut):
		r.t.Fatal("it did not end")
	}
	r.sum.Add(r.env.Meter.Take())
	return &r.sum
}

func records(s load.Section, n int64) func(*load.Interval) bool {
	return func(sum *load.Interval) bool { return sum.Sections[s].Records >= n }
}
