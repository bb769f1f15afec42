package damage

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"ringmain/record"
	"ringmain/test/harness"
	"ringmain/test/peer"
)

// assortedOverrides make small segments, cleanings, journals and a metadata log that a
// directory of some megabytes has all kinds of files.
var assortedOverrides = append([]string{
	"log.cleaner.backoff.ms=20", "log.cleaner.min.cleanable.ratio=0.01", "ringmain.sync.ms=20",
	"ringmain.journal.bytes=1048576", "ringmain.appenders=1", "offsets.topic.num.partitions=2",
}, overrides...)

// assorted is a directory that a broker has filled and left, and what it acknowledged.
type assorted struct {
	dir    string
	killed bool
	acked  map[part]int64 // how many records, from offset 0 on
	// kept says which records of the compacted partition a cleaning may not remove.
	kept map[int64]bool
}

var compacted = part{"compacted", 0}

const keys = 5

// fillAssorted writes compressed batches of idempotent producers to two partitions, keyed
// ones to a compacted topic, many small ones through a journal, and a group's offsets.
func fillAssorted(t *testing.T, kill bool) assorted {
	t.Helper()
	b := harness.StartOwn(t, harness.Options{Overrides: assortedOverrides})
	cl, err := kgo.NewClient(kgo.SeedBrokers(b.Addr()), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerLinger(5*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	admin, ctx := kadm.NewClient(cl), context.Background()
	compact := "compact"
	for topic, n := range map[string]int32{"orders": 2, "compacted": 1, "many": 8} {
		var configs map[string]*string
		if topic == "compacted" {
			configs = map[string]*string{"cleanup.policy": &compact}
		}
		if _, err := admin.CreateTopic(ctx, n, 1, configs, topic); err != nil {
			t.Fatal(err)
		}
	}
	a := assorted{killed: kill, acked: map[part]int64{}, kept: map[int64]bool{}}
	const rounds = 20
	begin := time.Now().Add(-10 * time.Minute) // and other times in each partition, by which files are told apart
	for range rounds {
		var rs []*kgo.Record
		for i := range int32(8) {
			p := part{"many", i}
			rs = append(rs, &kgo.Record{Topic: p.topic, Partition: i, Value: []byte(value(p, a.acked[p])), Timestamp: begin.Add(time.Duration(i) * time.Second)})
			a.acked[p]++
		}
		if err := cl.ProduceSync(ctx, rs...).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	c := dial(t, b.Addr())
	for k, p := range []part{{"orders", 0}, {"orders", 1}, compacted} {
		for i := range 60 {
			appendAs(t, c, p, a.acked[p], i, begin.UnixMilli()+int64(k)*100_000+int64(i)*10)
			a.acked[p] += recordsEach
		}
	}
	for o := a.acked[compacted] - keys; o < a.acked[compacted]; o++ {
		a.kept[o] = true
	}
	var offsets kadm.Offsets
	offsets.Add(kadm.Offset{Topic: "orders", Partition: 0, At: 7})
	if err := admin.CommitAllOffsets(ctx, "readers", offsets); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(20 * time.Second); !exists(filepath.Join(b.DataDir(), "cleaner-offset-checkpoint")); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("nothing was cleaned within 20 s")
		}
	}
	if kill {
		b.Kill()
	} else if err := b.Stop(); err != nil {
		t.Fatal(err)
	}
	a.dir = filepath.Join(t.TempDir(), "data")
	copyTree(t, b.DataDir(), a.dir)
	return a
}

// appendAs writes the i-th batch of a producer, compressed in turn with every codec.
func appendAs(t *testing.T, c *peer.Conn, p part, offset int64, i int, ts int64) {
	t.Helper()
	b := record.NewBuilder()
	b.Codec = record.Codec(i % 5)
	b.ProducerID, b.ProducerEpoch, b.BaseSequence = 7000+int64(p.index), 0, int32(i*recordsEach)
	for k := range int64(recordsEach) {
		b.Add(ts+k, fmt.Appendf(nil, "key %d", k%keys), []byte(value(p, offset+k)))
	}
	if at := produce(t, c, p, b.Build()); at != offset {
		t.Fatalf("produce to %v: offset %d, want %d", p, at, offset)
	}
}

// produce sends a batch and gives its offset, or -1 with what the partition answers.
func produce(t *testing.T, c *peer.Conn, p part, b record.Batch) int64 {
	t.Helper()
	at, code := tryProduce(t, c, p, b)
	if code != 0 {
		t.Fatalf("produce to %v: code %d", p, code)
	}
	return at
}

func tryProduce(t *testing.T, c *peer.Conn, p part, b record.Batch) (at int64, code int16) {
	t.Helper()
	req := kmsg.NewPtrProduceRequest()
	req.SetVersion(8)
	req.Acks, req.TimeoutMillis = -1, 30000
	rp := kmsg.NewProduceRequestTopicPartition()
	rp.Partition, rp.Records = p.index, b
	rt := kmsg.NewProduceRequestTopic()
	rt.Topic, rt.Partitions = p.topic, []kmsg.ProduceRequestTopicPartition{rp}
	req.Topics = append(req.Topics, rt)
	resp, err := c.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	got := resp.(*kmsg.ProduceResponse).Topics[0].Partitions[0]
	return got.BaseOffset, got.ErrorCode
}
