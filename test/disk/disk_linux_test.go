package disk

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"ringmain/test/harness"
)

// session is a client, and what it was promised.
type session struct {
	t     *testing.T
	c     *kgo.Client
	admin *kadm.Client
	acked map[int32][]string // values of each partition, in order
	sent  int
}

func dial(t *testing.T, b *harness.Broker) *session {
	t.Helper()
	c, err := kgo.NewClient(
		kgo.SeedBrokers(b.Addr()), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.DisableIdempotentWrite(),
		kgo.RecordRetries(0), kgo.ProducerLinger(0), kgo.MaxProduceRequestsInflightPerBroker(1), kgo.UnknownTopicRetries(20),
		kgo.ProduceRequestTimeout(30*time.Second), kgo.RetryTimeout(10*time.Second), kgo.ProducerBatchMaxBytes(900_000), kgo.ProducerBatchCompression(kgo.NoCompression()),
	)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return &session{t: t, c: c, admin: kadm.NewClient(c), acked: map[int32][]string{}}
}

const topic = "t"

func (s *session) create(partitions int32) {
	s.t.Helper()
	r, err := s.admin.CreateTopic(s.t.Context(), partitions, 1, nil, topic)
	if err != nil || r.Err != nil {
		s.t.Fatal(err, r.Err)
	}
}

// produce writes one record of so many bytes.
func (s *session) produce(partition int32, size int) error {
	s.sent++
	value := fmt.Sprintf("%0*d", size, s.sent)
	err := s.c.ProduceSync(s.t.Context(), &kgo.Record{Topic: topic, Partition: partition, Value: []byte(value)}).FirstErr()
	if err == nil {
		s.acked[partition] = append(s.acked[partition], value)
	}
	return err
}

// until repeats f until it is so, and says what was missing.
func until(t *testing.T, what string, f func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !f(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("after 30 s: %s", what)
		}
	}
}

// check reads everything back: what was acknowledged is there, once and in order.
func (s *session) check(b *harness.Broker) {
	s.t.Helper()
	for p, want := range s.acked {
		c, err := kgo.NewClient(kgo.SeedBrokers(b.Addr()), kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: {p: kgo.NewOffset().AtStart()}}))
		if err != nil {
			s.t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(s.t.Context(), 30*time.Second)
		next := 0
		for next < len(want) && ctx.Err() == nil {
			c.PollFetches(ctx).EachRecord(func(r *kgo.Record) {
				if next < len(want) && string(r.Value) == want[next] {
					next++
				}
			})
		}
		cancel()
		c.Close()
		if next < len(want) {
			s.t.Errorf("partition %d: %d of %d acknowledged records can be read in order", p, next, len(want))
		}
	}
}

// A full disk: produce gets an error, reads go on, writes go on once there is room, and
// nothing that was acknowledged is lost, also over a restart.
func TestDiskFull(t *testing.T) {
	t.Parallel()
	v := newVolume(t, 96)
	b := harness.StartOwn(t, harness.Options{DataDir: v.dir("data")})
	s := dial(t, b)
	s.create(2)
	for p := range int32(2) {
		if err := s.produce(p, 1000); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 { // full, and room, and full again
		free := v.full()
		var refused error
		until(t, "a produce to a full disk is refused", func() bool {
			refused = s.produce(0, 500_000)
			return refused != nil
		})
		if !errors.Is(refused, kerr.KafkaStorageError) {
			t.Errorf("a produce to a full disk gets %v", refused)
		}
		s.check(b)
		if !b.Alive() {
			t.Fatal("the broker has ended")
		}
		free()
		until(t, "writes go on once there is room", func() bool { return s.produce(0, 1000) == nil })
		if err := s.produce(1, 1000); err != nil {
			t.Errorf("the other partition: %v", err)
		}
	}
	s.check(b)
	b.Kill()
	if err := b.Restart(); err != nil {
		t.Fatal(err)
	}
	s.check(b)
	until(t, "writes go on after a restart", func() bool { return s.produce(0, 10) == nil })
}

// A full disk is freed by what operators try first: DeleteRecords and a shorter retention,
// also where neither was ever used before, and over a kill.
func TestFullDiskIsFreed(t *testing.T) {
	t.Parallel()
	v := newVolume(t, 96)
	b := harness.StartOwn(t, harness.Options{DataDir: v.dir("data"), Overrides: []string{
		"log.retention.check.interval.ms=100", "log.segment.delete.delay.ms=0", "log.segment.bytes=1048576"}})
	s := dial(t, b)
	s.create(2)
	freed := func() int64 {
		var fs syscall.Statfs_t
		if err := syscall.Statfs(v.path, &fs); err != nil {
			t.Fatal(err)
		}
		return int64(fs.Bavail) * fs.Bsize
	}
	fill := func(partition int32) (free func()) {
		for range 20 {
			until(t, "records are written", func() bool { return s.produce(partition, 500_000) == nil })
		}
		free = v.full()
		until(t, "a produce to a full disk is refused", func() bool { return s.produce(partition, 1000) != nil })
		return free
	}
	start := func(partition int32) int64 {
		o, err := s.admin.ListStartOffsets(t.Context(), topic)
		if err != nil {
			t.Fatal(err)
		}
		x, _ := o.Lookup(topic, partition)
		return x.Offset
	}
	free := fill(0)
	const half = 10
	offsets := make(kadm.Offsets)
	offsets.AddOffset(topic, 0, half, -1)
	r, err := s.admin.DeleteRecords(t.Context(), offsets)
	if err == nil {
		err = r.Error()
	}
	if err != nil {
		t.Fatalf("DeleteRecords on a full disk: %v", err)
	}
	until(t, "DeleteRecords frees room", func() bool { return freed() > 4<<20 })
	b.Kill()
	if err := b.Restart(); err != nil {
		t.Fatal(err)
	}
	if at := start(0); at != half {
		t.Errorf("after a kill the log begins at %d, want %d", at, half)
	}

	free()
	fill(1)
	b.Kill()
	if err := b.Restart(); err != nil {
		t.Fatal(err)
	}
	limit := "1048576"
	alter, err := s.admin.AlterTopicConfigs(t.Context(), []kadm.AlterConfig{{Op: kadm.SetConfig, Name: "retention.bytes", Value: &limit}}, topic)
	if err != nil || alter[0].Err != nil {
		t.Fatal(err, alter)
	}
	until(t, "retention frees room", func() bool { return start(1) > 0 && freed() > 4<<20 })
	until(t, "writes go on", func() bool { return s.produce(1, 1000) == nil })
}

// A disk that becomes read-only takes its own partitions offline and nothing else:
// reads go on, and so do the partitions of the other directory.
func TestDiskBecomesReadOnly(t *testing.T) {
	t.Parallel()
	v := newVolume(t, 96)
	other := t.TempDir()
	b := harness.StartOwn(t, harness.Options{DataDir: other + "/logs," + v.dir("logs")})
	s := dial(t, b)
	s.create(6)
	for p := range int32(6) {
		if err := s.produce(p, 1000); err != nil {
			t.Fatal(err)
		}
	}
	v.readOnly()
	refused, served := 0, 0
	for range 2 {
		refused, served = 0, 0
		for p := range int32(6) {
			switch err := s.produce(p, 1000); {
			case err == nil:
				served++
			case errors.Is(err, kerr.KafkaStorageError):
				refused++
			default:
				t.Errorf("partition %d: %v", p, err)
			}
		}
	}
	if refused == 0 || served == 0 {
		t.Errorf("%d partitions are refused and %d served, of two directories one of which is read-only", refused, served)
	}
	s.check(b)
	if !b.Alive() {
		t.Fatal("the broker has ended")
	}
}

// A disk that hangs: what needs it waits, everything else goes on; when it goes on,
// what waited is answered, once.
func TestDiskHangs(t *testing.T) {
	t.Parallel()
	v := newVolume(t, 96)
	b := harness.StartOwn(t, harness.Options{DataDir: v.dir("data")})
	s := dial(t, b)
	s.create(1)
	if err := s.produce(0, 1000); err != nil {
		t.Fatal(err)
	}
	thaw := v.freeze()
	answered := make(chan error, 1)
	go func() { answered <- s.produce(0, 1000) }()
	second := dial(t, b)
	for range 5 { // reads and metadata on another connection, while the write hangs
		if _, err := second.admin.ListEndOffsets(t.Context(), topic); err != nil {
			t.Error(err)
		}
		if _, err := second.admin.Metadata(t.Context(), topic); err != nil {
			t.Error(err)
		}
	}
	second.acked[0] = s.acked[0][:1:1]
	second.check(b)
	select {
	case err := <-answered:
		t.Errorf("a produce to a frozen disk was answered: %v", err)
	default:
	}
	thaw()
	select {
	case err := <-answered:
		if err != nil {
			t.Errorf("after the thaw: %v", err)
		}
	case <-time.After(30 * time.Second):
		t.Fatal("30 s after the thaw the produce is not answered")
	}
	b.Kill()
	if err := b.Restart(); err != nil {
		t.Fatal(err)
	}
	s.check(b)
}
