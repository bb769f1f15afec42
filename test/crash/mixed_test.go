package crash

import (
	"context"
	"errors"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"ringmain/test/harness"
)

// mixedOverrides make everything that a kill could meet happen all the time:
// segments roll by time, many small partitions are made durable by the journal, whose
// halves turn, and what lies below the log start is removed at once.
var mixedOverrides = []string{
	"log.roll.ms=150",
	"ringmain.journal.bytes=4194304",
	"log.retention.check.interval.ms=50",
	"log.segment.delete.delay.ms=0",
}

// A broker under mixed load is killed at random moments: while it serves, and in the
// first milliseconds of starts, while it recovers what the kill before left.
func TestKillUnderMixedLoad(t *testing.T) {
	t.Parallel()
	rng := moments(t)
	b := harness.StartOwn(t, harness.Options{Overrides: mixedOverrides})

	const many, few = 16, 3
	loads := []struct {
		topic      string
		partitions int32
		run        func(t *testing.T, addr, topic string, p int32, l *ledger, stop <-chan struct{})
		l          *ledger
	}{
		{topic: "idempotent", partitions: many, run: load},
		{topic: "acks-all", partitions: few, run: func(t *testing.T, addr, topic string, p int32, l *ledger, stop <-chan struct{}) {
			loadOnce(t, addr, topic, p, l, stop, kgo.AllISRAcks())
		}},
		// A kill takes nothing back from the kernel: what acks=1 acknowledged was given to it.
		{topic: "acks-one", partitions: few, run: func(t *testing.T, addr, topic string, p int32, l *ledger, stop <-chan struct{}) {
			loadOnce(t, addr, topic, p, l, stop, kgo.LeaderAck())
		}},
	}
	stop := make(chan struct{})
	var running sync.WaitGroup
	for i := range loads {
		ld := &loads[i]
		ld.l = newLedger(int(ld.partitions))
		createTopic(t, b.Addr(), ld.topic, ld.partitions)
		for p := range ld.partitions {
			running.Go(func() { ld.run(t, b.Addr(), ld.topic, p, ld.l, stop) })
		}
	}
	var deletions, lives atomic.Int64
	running.Go(func() { deleteRecords(t, b.Addr(), loads[0].topic, loads[0].l, &deletions, stop) })
	running.Go(func() { comeAndGo(t, b.Addr(), &lives, stop) })
	acknowledged := func() (least int) {
		for _, ld := range loads {
			if n := ld.l.acknowledged(); least == 0 || n < least {
				least = n
			}
		}
		return least
	}

	journals := 0
	for r := range *rounds {
		before := acknowledged()
		waitUntil(t, 60*time.Second, "every load has an acknowledgement", func() bool { return acknowledged() > before })
		if r == 0 {
			waitUntil(t, 60*time.Second, "the journal is made", func() bool { return hasJournal(t, b.DataDir()) })
		}
		if r%8 == 1 { // a kill around the time at which the checkpoints are written
			time.Sleep(time.Duration(4950+rng.IntN(100)) * time.Millisecond)
		} else {
			time.Sleep(time.Duration(rng.IntN(800)) * time.Millisecond) // the random moment
		}
		b.Kill()
		if hasJournal(t, b.DataDir()) {
			journals++
		}
		for range rng.IntN(4) {
			if err := b.StartAndKill(time.Duration(rng.IntN(60_000)) * time.Microsecond); err != nil {
				t.Fatal(err)
			}
		}
		if err := b.Restart(); err != nil {
			t.Fatalf("start after kill %d: %v", r+1, err)
		}
	}
	before := acknowledged()
	waitUntil(t, 60*time.Second, "every load has an acknowledgement after the last start", func() bool { return acknowledged() > before })
	waitUntil(t, 60*time.Second, "DeleteRecords was acknowledged, and a topic has come and gone", func() bool {
		return deletions.Load() > 0 && (lives.Load() > 0 || t.Failed())
	})
	close(stop)
	running.Wait()
	if journals == 0 {
		t.Error("no kill found a journal: the load does not use it")
	}
	if f := loads[0].l.failed; len(f) > 0 { // the others do not try again
		t.Errorf("%d records of idempotent producers failed, the first with: %v", len(f), f[0])
	}
	judge := func(when string) (total int) {
		for _, ld := range loads {
			l := ld.l.again()
			readBack(t, b.Addr(), ld.topic, l)
			for _, c := range append(ld.l.complaints, l.verdict()...) {
				t.Errorf("%s: %s: %s", ld.topic, when, c)
			}
			total += l.total
		}
		return total
	}
	total := judge("after the last kill")
	if err := b.Stop(); err != nil {
		t.Fatal(err)
	}
	if err := b.Restart(); err != nil {
		t.Fatal(err)
	}
	judge("after a clean stop")
	t.Logf("%d records, %d DeleteRecords, %d lives of a topic; %d kills found a journal", total, deletions.Load(), lives.Load(), journals)
}

func hasJournal(t *testing.T, dataDir string) bool {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dataDir, "ringmain-journal-*"))
	if err != nil {
		t.Fatal(err)
	}
	return len(found) > 0
}

// loadOnce produces without idempotence, so it sends nothing twice: a record without
// an answer may be there or not.
func loadOnce(t *testing.T, addr, topic string, p int32, l *ledger, stop <-chan struct{}, acks kgo.Acks) {
	cl := client(t, addr,
		kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.RequiredAcks(acks), kgo.DisableIdempotentWrite(),
		kgo.MaxProduceRequestsInflightPerBroker(1), kgo.RecordRetries(0), kgo.ProducerLinger(0), kgo.ProducerBatchMaxBytes(32<<10))
	defer cl.Close()
	for rank := 0; ; {
		select {
		case <-stop:
			return
		default:
		}
		var rs []*kgo.Record
		for range 1 + rank%7 {
			rs = append(rs, &kgo.Record{Topic: topic, Partition: p, Value: value(p, rank)})
			rank++
		}
		ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
		failed := false
		for _, res := range cl.ProduceSync(ctx, rs...) {
			own, _ := rankOf(p, res.Record.Value)
			l.ack(p, own, res.Record.Offset, res.Err)
			failed = failed || res.Err != nil
		}
		cancel()
		if failed {
			time.Sleep(20 * time.Millisecond) // the broker is down: its place is not to be stormed
		}
	}
}

// deleteRecords raises the log starts of a topic's first partitions, and counts how
// often that was acknowledged.
func deleteRecords(t *testing.T, addr, topic string, l *ledger, acknowledged *atomic.Int64, stop <-chan struct{}) {
	cl := client(t, addr)
	defer cl.Close()
	adm := kadm.NewClient(cl)
	for i := 0; ; i++ {
		select {
		case <-stop:
			return
		case <-time.After(10 * time.Millisecond):
		}
		p := int32(i % 4)
		upTo := l.newest(p) * 9 / 10
		if upTo <= 0 {
			continue
		}
		l.askStart(p, upTo)
		var offsets kadm.Offsets
		offsets.AddOffset(topic, p, upTo, -1)
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		rs, err := adm.DeleteRecords(ctx, offsets)
		cancel()
		if r, ok := rs.Lookup(topic, p); err == nil && ok && r.Err == nil {
			l.ackStart(p, upTo)
			acknowledged.Add(1)
		}
	}
}

// comeAndGo creates a topic, writes to it, reads it back and deletes it, always under
// the same name: a new topic begins at offset 0 and holds nothing of the one before.
func comeAndGo(t *testing.T, addr string, lives *atomic.Int64, stop <-chan struct{}) {
	const topic, partitions, records = "comes-and-goes", 5, 20
	admin := client(t, addr)
	defer admin.Close()
	adm := kadm.NewClient(admin)
	// until repeats a step that a kill may have cut off; false: the test is over.
	until := func(step func(ctx context.Context) error) bool {
		for {
			ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
			err := step(ctx)
			cancel()
			if err == nil {
				return true
			}
			select {
			case <-stop:
				return false
			case <-time.After(20 * time.Millisecond):
			}
		}
	}
	for life := 0; ; life++ {
		select {
		case <-stop:
			return
		default:
		}
		if !until(func(ctx context.Context) error {
			_, err := adm.CreateTopic(ctx, partitions, 1, nil, topic)
			if errors.Is(err, kerr.TopicAlreadyExists) { // the answer was lost
				return nil
			}
			return err
		}) {
			return
		}
		ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
		var cl *kgo.Client
		var results kgo.ProduceResults
		for {
			cl = client(t, addr, kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.RetryBackoffFn(func(int) time.Duration { return 20 * time.Millisecond }))
			var rs []*kgo.Record
			for i := range partitions * records {
				rs = append(rs, &kgo.Record{Topic: topic, Partition: int32(i % partitions), Value: []byte(strconv.Itoa(life))})
			}
			if results = cl.ProduceSync(ctx, rs...); !neverBegan(results) {
				break
			}
			cl.Close()
		}
		next := map[int32]int64{}
		for _, res := range results {
			if res.Err != nil {
				t.Errorf("life %d of %s: %v", life, topic, res.Err)
			} else if want := next[res.Record.Partition]; res.Record.Offset != want {
				t.Errorf("life %d of %s, partition %d: a record is at offset %d, want %d", life, topic, res.Record.Partition, res.Record.Offset, want)
			}
			next[res.Record.Partition]++
		}
		cl.Close()
		ok := until(func(ctx context.Context) error {
			ends, err := adm.ListEndOffsets(ctx, topic)
			if err == nil {
				err = ends.Error()
			}
			ends.Each(func(o kadm.ListedOffset) {
				if o.Err == nil && o.Offset != records {
					t.Errorf("life %d of %s: partition %d ends at %d, want %d", life, topic, o.Partition, o.Offset, records)
				}
			})
			return err
		})
		ok = ok && until(func(ctx context.Context) error {
			_, err := adm.DeleteTopic(ctx, topic)
			if errors.Is(err, kerr.UnknownTopicOrPartition) { // the answer was lost
				return nil
			}
			return err
		})
		cancel()
		if !ok || t.Failed() {
			return
		}
		lives.Add(1)
	}
}

// neverBegan reports whether a client gave up before it sent any record: it does not try
// again when a kill cuts its very first exchange, without which it has no producer id.
func neverBegan(results kgo.ProduceResults) bool {
	for _, r := range results {
		var cut *kgo.ErrFirstReadEOF
		if !errors.As(r.Err, &cut) {
			return false
		}
	}
	return true
}
