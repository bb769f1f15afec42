package broker

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"ringmain/config"
	"ringmain/internal/vfs"
	"ringmain/metadata"
	"ringmain/metrics"
	"ringmain/netio"
	"ringmain/partition"
	"ringmain/record"
	"ringmain/segment"
)

// watchedMeta tells one watcher of each change, as package controller does.
type watchedMeta struct {
	stubMeta
	order sync.Mutex
	watch func(*metadata.Image, *metadata.Delta)
}

func (m *watchedMeta) Change(ctx context.Context, fn func(*metadata.Image) ([]metadata.Record, error)) (int64, error) {
	m.order.Lock()
	defer m.order.Unlock()
	old := m.Image()
	index, err := m.stubMeta.Change(ctx, fn)
	if is := m.Image(); m.watch != nil && is != old {
		m.watch(is, metadata.Diff(old, is))
	}
	return index, err
}

func (m *watchedMeta) Watch(fn func(*metadata.Image, *metadata.Delta)) {
	m.order.Lock()
	defer m.order.Unlock()
	m.watch = fn
	fn(m.Image(), metadata.Diff(metadata.Empty(), m.Image()))
}

// slowIO is a backend whose syncs wait for gate, if there is one.
type slowIO struct {
	segment.LogIO
	gate chan struct{}
}

func (s slowIO) Sync(files []*segment.File) []error {
	if s.gate != nil {
		<-s.gate
	}
	return s.LogIO.Sync(files)
}

// live is a broker on sockets and a disk, with the metadata in memory.
type live struct {
	*testing.T
	*Broker
	meta    *watchedMeta
	dir     *segment.Dir
	shard   *partition.Shard
	server  *netio.Server
	stopped bool
	closed  bool
	broken  bool // the disk fails, so a stop may
}

func newLive(t *testing.T, gate chan struct{}) *live {
	t.Helper()
	meta := &watchedMeta{stubMeta: stubMeta{img: metadata.Empty()}}
	meta.apply(t, append(metadata.Bootstrap(stubCluster, 0), brokerRecord(1))...)
	return startLive(t, t.TempDir(), meta, slowIO{segment.NewPwritevIO(), gate})
}

// startLive is newLive on a directory and with metadata that may be those of an earlier
// one.
func startLive(t *testing.T, dir string, meta *watchedMeta, sync segment.LogIO) *live {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	static, _, err := config.LoadServer(map[string]string{"node.id": "1"})
	if err != nil {
		t.Fatal(err)
	}
	l := &live{T: t, meta: meta}
	if l.dir, err = segment.OpenDir(vfs.OS{}, dir, segment.Ident{ClusterID: stubCluster, NodeID: 1}, log); err != nil {
		t.Fatal(err)
	}
	l.shard = partition.NewShard(partition.Config{SyncBytes: 1 << 40, SyncAge: time.Hour, Observe: quiet{}}, segment.NewPwritevIO(), []segment.LogIO{sync}, log)
	l.Broker, err = New(Deps{
		Settings: Settings{NodeID: 1, NumPartitions: 1, DefaultReplicationFactor: 1, FetchMaxBytes: 1 << 20, FetchSessions: 10, PoolSize: 2, RetentionCheck: time.Hour, DeleteTopics: true, MaxNewPartitions: 100,
			Groups: groupSettings()},
		Config: static, Meta: l.meta, Dirs: []*segment.Dir{l.dir}, Shards: []*partition.Shard{l.shard},
		Metrics: metrics.New(1), Log: log, BrokerConfigured: func(config.Broker) {},
	})
	if err != nil {
		t.Fatal(err)
	}
	if l.server, err = netio.Listen(netio.Config{Loops: 1}, []netio.Listener{{Name: "PLAINTEXT", Host: "127.0.0.1"}}, l.Broker, log); err != nil {
		t.Fatal(err)
	}
	if err := l.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := l.server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.close)
	return l
}

// close stops the broker and what it is built on.
func (l *live) close() {
	if l.closed {
		return
	}
	l.closed = true
	l.stop()
	if err := l.shard.Stop(); err != nil && !l.broken {
		l.Error(err)
	}
	if n := l.dir.FileBudget().Open(); n != 0 && !l.Failed() {
		l.Errorf("%d files are still open: a range was not given back", n)
	}
	l.dir.Close()
}

type quiet struct{}

func (quiet) Appended(int, int64, time.Duration) {}
func (quiet) AppendFailed()                      {}
func (quiet) Synced(int, time.Duration)          {}
func (quiet) SyncFailed()                        {}

// stop stops in the order of package node and says how long the connections took.
func (l *live) stop() {
	if l.stopped {
		return
	}
	l.stopped = true
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	l.Broker.Stop()
	if err := l.server.Stop(ctx); err != nil {
		l.Errorf("stopping the connections: %v", err)
	}
	if n := l.server.Stats().InFlightBytes; n != 0 {
		l.Errorf("%d bytes are still in flight after the stop", n)
	}
}

// client is one connection, on which requests may be sent ahead.
type liveClient struct {
	*testing.T
	net.Conn
	next int32
}

func (l *live) dial() *liveClient {
	l.Helper()
	c, err := net.Dial("tcp", l.server.Addr("PLAINTEXT"))
	if err != nil {
		l.Fatal(err)
	}
	l.Cleanup(func() { c.Close() })
	return &liveClient{T: l.T, Conn: c}
}

func (c *liveClient) send(version int16, req kmsg.Request) {
	c.Helper()
	c.next++
	req.SetVersion(version)
	if _, err := c.Write(kmsg.NewRequestFormatter().AppendRequest(nil, req, c.next)); err != nil {
		c.Fatal(err)
	}
}

// receive reads the next answer, which must be one to req.
func (c *liveClient) receive(req kmsg.Request) (kmsg.Response, error) {
	c.SetReadDeadline(time.Now().Add(patience))
	var size [4]byte
	if _, err := io.ReadFull(c, size[:]); err != nil {
		return nil, err
	}
	b := make([]byte, binary.BigEndian.Uint32(size[:]))
	if _, err := io.ReadFull(c, b); err != nil {
		return nil, err
	}
	resp := req.ResponseKind()
	resp.SetVersion(req.GetVersion())
	b = b[4:]
	if resp.IsFlexible() && req.Key() != keyApiVersions {
		b = b[1:]
	}
	return resp, resp.ReadFrom(bytes.Clone(b))
}

func (c *liveClient) ask(version int16, req kmsg.Request) kmsg.Response {
	c.Helper()
	c.send(version, req)
	resp, err := c.receive(req)
	if err != nil {
		c.Fatalf("%T: %v", req, err)
	}
	return resp
}

func batchOf(value string) record.Batch {
	b := record.NewBuilder()
	b.ProducerID, b.ProducerEpoch, b.BaseSequence = -1, -1, -1
	return b.Add(time.Now().UnixMilli(), nil, []byte(value)).Build()
}

func produceRequest(acks int16, topic string, partitions ...[]byte) *kmsg.ProduceRequest {
	req := kmsg.NewPtrProduceRequest()
	req.Acks, req.TimeoutMillis = acks, 10000
	rt := kmsg.NewProduceRequestTopic()
	rt.Topic = topic
	for _, records := range partitions {
		rp := kmsg.NewProduceRequestTopicPartition()
		rp.Records = records
		rt.Partitions = append(rt.Partitions, rp)
	}
	req.Topics = append(req.Topics, rt)
	return req
}

func fetchRequest(topic string, offset int64, maxWait time.Duration) *kmsg.FetchRequest {
	req := kmsg.NewPtrFetchRequest()
	req.ReplicaID, req.MaxBytes, req.MinBytes, req.MaxWaitMillis, req.SessionEpoch = -1, 1<<20, 1, int32(maxWait.Milliseconds()), -1
	rt := kmsg.NewFetchRequestTopic()
	rt.Topic = topic
	rp := kmsg.NewFetchRequestTopicPartition()
	rp.FetchOffset, rp.PartitionMaxBytes, rp.CurrentLeaderEpoch = offset, 1<<20, -1
	rt.Partitions = append(rt.Partitions, rp)
	req.Topics = append(req.Topics, rt)
	return req
}

// patience is for what takes a moment, on a busy machine.
const patience = 30 * time.Second

// eventually waits for what other goroutines are about to do.
func (l *live) eventually(what string, ok func() bool) {
	l.Helper()
	for end := time.Now().Add(patience); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			l.Fatalf("not so within %v: %s", patience, what)
		}
	}
}

func (d *deadlines) waiting() (n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, e := range d.heap {
		if !e.waiter.Fired() {
			n++
		}
	}
	return n
}

func (d *deadlines) kept() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.heap)
}

func TestStoppingABrokerThatWasNotStarted(t *testing.T) {
	log := slog.New(slog.DiscardHandler)
	static, _, err := config.LoadServer(map[string]string{"node.id": "1"})
	if err != nil {
		t.Fatal(err)
	}
	b, err := New(Deps{Config: static, Meta: &watchedMeta{}, Metrics: metrics.New(1), Log: log})
	if err != nil {
		t.Fatal(err)
	}
	stopped := make(chan struct{})
	go func() { b.Stop(); close(stopped) }()
	select {
	case <-stopped:
	case <-time.After(patience):
		t.Fatal("hangs, and with it a start that fails because a port is taken")
	}
}

func TestStopAnswersWhatTheBrokerHas(t *testing.T) {
	l := newLive(t, nil)
	release := make(chan struct{})
	var ran atomic.Int32
	for range 2 { // all workers are busy
		l.pool.run(func() { <-release; ran.Add(1) })
	}
	queued := l.dial()
	list := kmsg.NewPtrListOffsetsRequest()
	queued.send(5, list)
	l.eventually("the request is queued", func() bool {
		l.pool.mu.Lock()
		defer l.pool.mu.Unlock()
		return len(l.pool.queue) == 1
	})
	stopped := make(chan struct{})
	go func() { l.stop(); close(stopped) }()
	l.eventually("the stop has begun", func() bool {
		l.pool.mu.Lock()
		defer l.pool.mu.Unlock()
		return l.pool.closed
	})
	late := l.dial() // the connections are closed after that
	late.send(5, list)
	if _, err := late.receive(list); err != nil {
		t.Errorf("a request that came while the broker stopped: %v", err)
	}
	close(release)
	if _, err := queued.receive(list); err != nil {
		t.Errorf("a request that was queued when the broker stopped: %v", err)
	}
	<-stopped
	if ran.Load() != 2 {
		t.Error("the stop did not wait for what was running")
	}
}

func TestALargeProduceLeavesTheLoop(t *testing.T) {
	l := newLive(t, nil)
	l.create("t")
	release := make(chan struct{})
	for range 2 { // all workers are busy
		l.pool.run(func() { <-release })
	}
	c, other := l.dial(), l.dial()
	large := batchOf(string(make([]byte, largeBytes)))
	req := produceRequest(1, "t", large[:len(large)-1], batchOf("x"))
	c.send(7, req)
	l.eventually("the request is queued", func() bool {
		l.pool.mu.Lock()
		defer l.pool.mu.Unlock()
		return len(l.pool.queue) == 1
	})
	other.ask(3, kmsg.NewPtrApiVersionsRequest()) // the loop is free
	close(release)
	resp, err := c.receive(req)
	if err != nil {
		t.Fatal(err)
	}
	if p := resp.(*kmsg.ProduceResponse).Topics[0].Partitions; p[0].ErrorCode == 0 || p[1].ErrorCode != 0 {
		t.Errorf("errors %d and %d", p[0].ErrorCode, p[1].ErrorCode)
	}
}

// All ways in which a request can end give back what it holds: the stop checks
// the bytes in flight and the open files.
func TestEveryEndOfAProduce(t *testing.T) {
	l := newLive(t, nil)
	l.create("t")
	for name, c := range map[string]struct {
		acks    int16
		topic   string
		records [][]byte
		code    int16 // of the first partition
		closes  bool
	}{
		"all fail":          {acks: 1, topic: "t", records: [][]byte{nil, {1}}, code: 87},
		"unknown topic":     {acks: -1, topic: "none", records: [][]byte{batchOf("x")}, code: 3},
		"bad acks":          {acks: 2, topic: "t", records: [][]byte{batchOf("x")}, code: 21},
		"named twice":       {acks: -1, topic: "t", records: [][]byte{batchOf("x"), batchOf("x")}},
		"no partition":      {acks: -1, topic: "t"},
		"acks=0":            {acks: 0, topic: "t", records: [][]byte{batchOf("x")}},
		"acks=0 that fails": {acks: 0, topic: "t", records: [][]byte{{1}}, closes: true},
	} {
		conn := l.dial()
		var sent kmsg.Request = produceRequest(c.acks, c.topic, c.records...)
		conn.send(7, sent)
		if c.acks == 0 { // the next answer comes after it
			sent = fetchRequest("t", 0, 0)
			conn.send(11, sent)
		}
		resp, err := conn.receive(sent)
		if c.closes != (err != nil) {
			t.Errorf("%s: error %v", name, err)
		}
		if p, ok := resp.(*kmsg.ProduceResponse); ok && len(c.records) > 0 {
			if got := p.Topics[0].Partitions[0].ErrorCode; got != c.code {
				t.Errorf("%s: error code %d, want %d", name, got, c.code)
			}
		}
	}
}

func TestAParkedFetchEndsWithItsConnection(t *testing.T) {
	l := newLive(t, nil)
	l.create("t")
	c := l.dial()
	c.send(11, fetchRequest("t", 0, time.Hour))
	l.eventually("the fetch is parked", func() bool { return l.deadlines.waiting() == 1 })
	c.Conn.(*net.TCPConn).SetLinger(0)
	c.Close()
	l.eventually("nothing waits on behalf of a closed connection", func() bool { return l.deadlines.waiting() == 0 })
}

func TestFetchesSentAheadDoNotPileUp(t *testing.T) {
	l := newLive(t, nil)
	l.create("t")
	c := l.dial()
	for range 50 {
		c.send(11, fetchRequest("t", 0, time.Hour))
	}
	l.eventually("two are parked", func() bool { return l.deadlines.waiting() == maxParked })
	other := l.dial()
	other.ask(3, kmsg.NewPtrApiVersionsRequest()) // the same loop: it has looked at all that is there
	if n := l.deadlines.waiting(); n != maxParked {
		t.Fatalf("%d fetches of one connection wait, want %d", n, maxParked)
	}
	if resp := other.ask(7, produceRequest(1, "t", batchOf("x"))).(*kmsg.ProduceResponse); resp.Topics[0].Partitions[0].ErrorCode != 0 {
		t.Fatalf("produce: error %d", resp.Topics[0].Partitions[0].ErrorCode)
	}
	req := fetchRequest("t", 0, 0)
	req.SetVersion(11)
	for i := range 50 {
		resp, err := c.receive(req)
		if err != nil || len(resp.(*kmsg.FetchResponse).Topics[0].Partitions[0].RecordBatches) == 0 {
			t.Fatalf("answer %d of 50: %v, error %v", i, resp, err)
		}
	}
}

func TestDeadlinesOfAnsweredFetchesDoNotPileUp(t *testing.T) {
	d := newDeadlines()
	later := time.Now().Add(time.Hour)
	for range 10_000 {
		w := partition.NewWaiter(1, func() {})
		d.add(later, w)
		w.Fire()
	}
	if n := d.kept(); n > 1000 {
		t.Errorf("%d deadlines are kept of 10000 whose fetches were answered", n)
	}
	d.close()
	fired := false
	d.add(later, partition.NewWaiter(1, func() { fired = true }))
	if !fired {
		t.Error("a fetch that parks while the broker stops waits for its deadline")
	}
}

func TestAParkedFetchHearsOfTheDeletionOfItsTopic(t *testing.T) {
	l := newLive(t, nil)
	topic := l.create("t")
	c, other := l.dial(), l.dial()
	req := fetchRequest("t", 0, time.Hour)
	c.send(11, req)
	l.eventually("the fetch is parked", func() bool { return l.deadlines.waiting() == 1 })
	l.change(metadata.RemoveTopicRecord{ID: topic.ID})
	l.create("t")
	resp, err := c.receive(req)
	if err != nil {
		t.Fatal(err)
	}
	if code := resp.(*kmsg.FetchResponse).Topics[0].Partitions[0].ErrorCode; code != kerr.UnknownTopicOrPartition.Code {
		t.Errorf("a fetch that waited for a topic that was deleted: error %d", code)
	}
	if p := other.ask(7, produceRequest(-1, "t", batchOf("x"))).(*kmsg.ProduceResponse).Topics[0].Partitions[0]; p.ErrorCode != 0 || p.BaseOffset != 0 {
		t.Errorf("produce to the new topic of the name: error %d, offset %d", p.ErrorCode, p.BaseOffset)
	}
}

// A client that goes on asking for what is gone, beside what is there, would otherwise
// be answered as fast as it asks.
func TestAFetchWaitsBesideAPartitionThatIsNotThere(t *testing.T) {
	l := newLive(t, nil)
	l.create("t")
	c := l.dial()
	req := fetchRequest("t", 0, time.Hour)
	req.Topics = append(req.Topics, fetchRequest("gone", 0, 0).Topics[0])
	c.send(11, req)
	l.eventually("the fetch is parked", func() bool { return l.deadlines.waiting() == 1 })
	l.dial().ask(7, produceRequest(-1, "t", batchOf("x")))
	resp, err := c.receive(req)
	if err != nil {
		t.Fatal(err)
	}
	topics := resp.(*kmsg.FetchResponse).Topics
	if there := topics[0].Partitions[0]; there.ErrorCode != 0 || len(there.RecordBatches) == 0 {
		t.Errorf("the partition that is there: error %d, %d bytes", there.ErrorCode, len(there.RecordBatches))
	}
	if gone := topics[1].Partitions[0]; gone.ErrorCode != kerr.UnknownTopicOrPartition.Code {
		t.Errorf("the partition that is not there: error %d", gone.ErrorCode)
	}
	alone := fetchRequest("gone", 0, time.Hour)
	if p := c.ask(11, alone).(*kmsg.FetchResponse).Topics[0].Partitions[0]; p.ErrorCode != kerr.UnknownTopicOrPartition.Code {
		t.Errorf("nothing is there: error %d", p.ErrorCode)
	}
}

func TestProduceWhileTopicsComeAndGo(t *testing.T) {
	l := newLive(t, nil)
	var work sync.WaitGroup
	done := make(chan struct{})
	for range 3 {
		c := l.dial()
		work.Add(1)
		go func() {
			defer work.Done()
			for {
				select {
				case <-done:
					return
				default:
				}
				p := produceRequest(-1, "t", batchOf("x"))
				c.send(7, p)
				f := fetchRequest("t", 0, time.Millisecond)
				c.send(11, f)
				for _, req := range []kmsg.Request{p, f} {
					if _, err := c.receive(req); err != nil {
						t.Error(err)
						return
					}
				}
			}
		}()
	}
	for range 20 {
		topic := l.create("t")
		l.eventually("something was produced", func() bool {
			r := l.replicas.topic("t").at(0)
			return r != nil && r.HighWatermark() > 0 || t.Failed()
		})
		l.change(metadata.RemoveTopicRecord{ID: topic.ID})
	}
	close(done)
	work.Wait()
	l.eventually("no file of a deleted topic is open", func() bool { return l.dir.FileBudget().Open() == 0 })
}

func TestStopUnderLoad(t *testing.T) {
	l := newLive(t, nil)
	l.create("t")
	var work sync.WaitGroup
	for i := range 6 {
		c := l.dial()
		work.Add(1)
		go func() {
			defer work.Done()
			for {
				var req kmsg.Request = produceRequest(-1, "t", batchOf("x"))
				version := int16(7)
				switch i % 3 {
				case 1:
					req, version = fetchRequest("t", 1<<40, time.Hour), 11
				case 2:
					req, version = kmsg.NewPtrListOffsetsRequest(), 5
				}
				req.SetVersion(version)
				if _, err := c.Write(kmsg.NewRequestFormatter().AppendRequest(nil, req, 1)); err != nil {
					return
				}
				if _, err := c.receive(req); err != nil {
					return // closed by the stop
				}
			}
		}()
	}
	l.eventually("something was produced", func() bool { return l.replicas.topic("t").at(0).HighWatermark() > 100 })
	l.stop()
	work.Wait()
}

func TestAPartitionNamedVeryOften(t *testing.T) {
	l := newLive(t, nil)
	l.create("t")
	many := make([][]byte, 200_000)
	for i := range many {
		many[i] = []byte{1} // no batch
	}
	many[199_998], many[199_999] = batchOf("x"), batchOf("y")
	start := time.Now()
	resp := l.dial().ask(9, produceRequest(-1, "t", many...)).(*kmsg.ProduceResponse)
	if took := time.Since(start); took > 20*time.Second { // each against each takes longer anywhere
		t.Errorf("took %s", took)
	}
	for i, p := range resp.Topics[0].Partitions {
		if good := i == 199_998; good != (p.ErrorCode == 0) {
			t.Fatalf("entry %d: error %d", i, p.ErrorCode)
		}
	}
}

func TestSessionsAreBoundedByWhatTheyRemember(t *testing.T) {
	c := newFetchSessions(10)
	now := time.Now()
	big := c.create(false, maxSessionPartitions-10, now)
	small := c.create(false, 10, now)
	if big == nil || small == nil {
		t.Fatal("no session although all fit")
	}
	if c.create(false, 1, now) != nil {
		t.Error("a session beyond the bound")
	}
	if c.resized(small, 11); c.use(small.id, now) != nil {
		t.Error("a session may grow beyond the bound")
	}
	if c.create(false, maxSessionPartitions, now.Add(2*sessionIdle)) == nil || c.use(big.id, now) != nil {
		t.Error("an idle session does not make room")
	}
	if c.partitions != maxSessionPartitions {
		t.Errorf("%d partitions are counted, want %d", c.partitions, maxSessionPartitions)
	}
}

func (l *live) change(records ...metadata.Record) {
	l.Helper()
	if _, err := l.meta.Change(context.Background(), func(*metadata.Image) ([]metadata.Record, error) { return records, nil }); err != nil {
		l.Fatal(err)
	}
}

func (l *live) create(name string) *metadata.Topic {
	l.Helper()
	l.meta.order.Lock()
	defer l.meta.order.Unlock()
	old := l.meta.Image()
	topic := addTopic(l.T, &l.meta.stubMeta, name, 1)
	l.meta.watch(l.meta.Image(), metadata.Diff(old, l.meta.Image()))
	return topic
}
