package broker

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"ringmain/config"
	"ringmain/controller"
	"ringmain/metadata"
	"ringmain/model"
	"ringmain/segment"
	"ringmain/wire"
)

// stubMeta is a metadata log in memory: records are applied to a real image,
// one change after the other.
type stubMeta struct {
	mu       sync.Mutex
	img      *metadata.Image
	served   int64  // what WaitServed was asked for last
	failWith error  // Change fails with it after fn ran
	tooLate  func() // set: Change times out before fn has its turn, which tooLate gives it
	producer int64
	noIDs    error
	quorum   controller.QuorumInfo
}

func (m *stubMeta) Image() *metadata.Image {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.img
}

func (m *stubMeta) Change(ctx context.Context, fn func(*metadata.Image) ([]metadata.Record, error)) (int64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.tooLate != nil {
		m.tooLate = func() {
			if records, err := fn(m.img); err == nil || len(records) > 0 {
				panic("a change was planned after its request had been answered")
			}
		}
		return 0, context.DeadlineExceeded
	}
	records, err := fn(m.img)
	if err != nil {
		return 0, err
	}
	if m.failWith != nil {
		return 0, m.failWith
	}
	if len(records) == 0 {
		return m.img.Offset(), nil
	}
	next, _, err := m.img.Apply(records, m.img.Offset()+1)
	if err != nil {
		return 0, err
	}
	m.img = next
	return next.Offset(), nil
}

func (m *stubMeta) WaitServed(_ context.Context, index int64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.served = index
	return nil
}

func (m *stubMeta) AllocateProducerID() (int64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.noIDs != nil {
		return 0, m.noIDs
	}
	m.producer++
	return m.producer - 1, nil
}

func (m *stubMeta) Quorum() controller.QuorumInfo { return m.quorum }

// apply changes the metadata behind the handlers' backs.
func (m *stubMeta) apply(t *testing.T, records ...metadata.Record) {
	t.Helper()
	if _, err := m.Change(context.Background(), func(*metadata.Image) ([]metadata.Record, error) { return records, nil }); err != nil {
		t.Fatal(err)
	}
}

// stubLogs are the logs of no disk.
type stubLogs struct {
	dirs      []LogDirInfo
	producers map[model.TopicPartition][]segment.ProducerInfo
	err       error
}

func (l *stubLogs) DirInfo() []LogDirInfo { return l.dirs }

func (l *stubLogs) Producers(tp model.TopicPartition) ([]segment.ProducerInfo, error) {
	return l.producers[tp], l.err
}

const stubCluster = "MkU3OEVBNTcwNTJENDM2Qg"

// brokerRecord registers a broker with two listeners.
func brokerRecord(id int32) metadata.RegisterBrokerRecord {
	return metadata.RegisterBrokerRecord{Broker: metadata.Broker{ID: id, Endpoints: []metadata.Endpoint{
		{Listener: "PLAINTEXT", Host: "127.0.0.1", Port: 9000 + id, Protocol: "PLAINTEXT"},
		{Listener: "EXTERNAL", Host: "kafka.example", Port: 19000 + id, Protocol: "PLAINTEXT"},
	}}}
}

// newAdmin is broker 1 of a cluster with nothing in it.
func newAdmin(t *testing.T) (*admin, *stubMeta, *stubLogs) {
	t.Helper()
	server, _, err := config.LoadServer(map[string]string{"node.id": "1"})
	if err != nil {
		t.Fatal(err)
	}
	meta, logs := &stubMeta{img: metadata.Empty()}, &stubLogs{}
	meta.apply(t, append(metadata.Bootstrap(stubCluster, 0), brokerRecord(1))...)
	return &admin{
		cfg: Settings{NodeID: 1, NumPartitions: 1, DefaultReplicationFactor: 1, AutoCreateTopics: true, DeleteTopics: true,
			MaxRequestPartitions: 2000, MaxNewPartitions: 20000, MaxTransactionTimeoutMs: 900000,
			Groups: GroupSettings{TopicPartitions: 50, TopicReplication: 3, TopicSegmentBytes: 104857600}},
		meta: meta, logs: logs, configs: configsOf{server}, loggers: loggers{new(slog.LevelVar)}, log: slog.New(slog.DiscardHandler),
		now: func() time.Time { return time.UnixMilli(1700000000000) },
	}, meta, logs
}

// serveAs answers a request of one version through the table of APIs, encoded
// and decoded on both ways as on a socket.
func serveAs(t *testing.T, a *admin, listener string, version int16, req kmsg.Request) kmsg.Response {
	t.Helper()
	var row *api
	for i := range apis {
		if apis[i].key == req.Key() {
			row = &apis[i]
		}
	}
	if row == nil || version < row.min || version > row.max {
		t.Fatalf("key %d version %d is not served", req.Key(), version)
	}
	req.SetVersion(version)
	received := kmsg.RequestForKey(req.Key())
	received.SetVersion(version)
	if err := received.ReadFrom(req.AppendTo(nil)); err != nil {
		t.Fatalf("the request does not parse: %v", err)
	}
	c := &call{header: wire.Header{Key: req.Key(), Version: version}, listener: listener}
	out := row.serve(a, context.Background(), c, received)
	out.SetVersion(version)
	answer := req.ResponseKind()
	answer.SetVersion(version)
	if err := answer.ReadFrom(out.AppendTo(nil)); err != nil {
		t.Fatalf("the answer does not parse: %v", err)
	}
	return answer
}

func serve[R kmsg.Response](t *testing.T, a *admin, version int16, req kmsg.Request) R {
	t.Helper()
	return serveAs(t, a, "PLAINTEXT", version, req).(R)
}

// addTopic creates a topic led by broker 1.
func addTopic(t *testing.T, m *stubMeta, name string, partitions int, configs ...string) *metadata.Topic {
	t.Helper()
	id := model.NewTopicID()
	records := []metadata.Record{metadata.TopicRecord{Name: name, ID: id}}
	for i := range partitions {
		records = append(records, metadata.PartitionRecord{TopicID: id, Index: int32(i), Partition: newPartition([]int32{1}, []int32{1})})
	}
	for i := 0; i < len(configs); i += 2 {
		records = append(records, metadata.ConfigRecord{Kind: metadata.TopicResource, Name: name, Key: configs[i], Value: &configs[i+1]})
	}
	m.apply(t, records...)
	return m.Image().Topic(name)
}
