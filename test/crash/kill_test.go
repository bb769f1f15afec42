package crash

import (
	"context"
	"flag"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"ringmain/test/harness"
)

var (
	rounds = flag.Int("rounds", envInt("CRASH_ROUNDS", 4), "how often the broker is killed (also CRASH_ROUNDS)")
	seed   = flag.Uint64("seed", 0, "of the moments of the kills; 0 takes one from the clock")
)

func envInt(name string, otherwise int) int {
	if n, err := strconv.Atoi(os.Getenv(name)); err == nil {
		return n
	}
	return otherwise
}

const (
	topic      = "crash"
	partitions = 6
)

// moments are the random times of a test's kills.
func moments(t *testing.T) *rand.Rand {
	s := *seed
	if s == 0 {
		s = uint64(time.Now().UnixNano())
	}
	t.Logf("seed %d, %d kills", s, *rounds)
	return rand.New(rand.NewPCG(s, 0))
}

func TestKillUnderLoad(t *testing.T) {
	t.Parallel()
	rng := moments(t)
	// A small segment size makes kills meet rolls.
	b := harness.StartOwn(t, harness.Options{Overrides: []string{"log.segment.bytes=1048576"}})
	createTopic(t, b.Addr(), topic, partitions)

	l := newLedger(partitions)
	stop := make(chan struct{})
	var producers sync.WaitGroup
	for p := range int32(partitions) {
		producers.Go(func() { load(t, b.Addr(), topic, p, l, stop) })
	}
	for r := range *rounds {
		before := l.acknowledged()
		// At least one acknowledgement falls into each life, and the kill into load.
		waitUntil(t, 60*time.Second, "a record is acknowledged", func() bool { return l.acknowledged() > before })
		time.Sleep(time.Duration(50+rng.IntN(1000)) * time.Millisecond) // the random moment
		b.Kill()
		if err := b.Restart(); err != nil {
			t.Fatalf("start after kill %d: %v", r+1, err)
		}
	}
	before := l.acknowledged()
	waitUntil(t, 60*time.Second, "a record is acknowledged after the last start", func() bool { return l.acknowledged() > before })
	close(stop)
	producers.Wait()
	if len(l.failed) > 0 {
		t.Errorf("%d records failed for their producers, the first with: %v", len(l.failed), l.failed[0])
	}
	readBack(t, b.Addr(), topic, l)
	for _, c := range l.verdict() {
		t.Error(c)
	}
	t.Logf("%d records acknowledged", l.total)
	// And once more from a process that was stopped cleanly.
	if t.Failed() {
		return
	}
	if err := b.Stop(); err != nil {
		t.Fatal(err)
	}
	if err := b.Restart(); err != nil {
		t.Fatal(err)
	}
	again := l.again()
	readBack(t, b.Addr(), topic, again)
	for _, c := range again.verdict() {
		t.Error("after a clean stop: ", c)
	}
}

func client(t *testing.T, addr string, opts ...kgo.Opt) *kgo.Client {
	t.Helper()
	cl, err := kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(addr)}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	return cl
}

func createTopic(t *testing.T, addr, topic string, partitions int32) {
	t.Helper()
	cl := client(t, addr)
	defer cl.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	if _, err := kadm.NewClient(cl).CreateTopic(ctx, partitions, 1, nil, topic); err != nil {
		t.Fatal(err)
	}
}

// load produces with acks=all and idempotence to one partition until stop, then waits
// for the answers.
func load(t *testing.T, addr, topic string, p int32, l *ledger, stop <-chan struct{}) {
	cl := client(t, addr,
		kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.RequiredAcks(kgo.AllISRAcks()),
		kgo.ProducerLinger(time.Millisecond), kgo.MaxBufferedRecords(500), kgo.ProducerBatchMaxBytes(32<<10),
		kgo.RecordRetries(1<<30), kgo.RequestRetries(1<<30), kgo.RetryBackoffFn(func(int) time.Duration { return 20 * time.Millisecond }))
	defer cl.Close()
	// The buffer's bound slows Produce to what the broker takes.
	for rank := 0; ; rank++ {
		select {
		case <-stop:
			ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
			defer cancel()
			if err := cl.Flush(ctx); err != nil {
				t.Errorf("partition %d: answers are missing: %v", p, err)
			}
			return
		default:
		}
		cl.Produce(context.Background(), &kgo.Record{Topic: topic, Partition: p, Value: value(p, rank)}, func(r *kgo.Record, err error) { l.ack(p, rank, r.Offset, err) })
	}
}

// readBack reads every partition from its start to its end.
func readBack(t *testing.T, addr, topic string, l *ledger) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 120*time.Second)
	defer cancel()
	admin := client(t, addr)
	defer admin.Close()
	ends, err := kadm.NewClient(admin).ListEndOffsets(ctx, topic)
	if err == nil {
		err = ends.Error()
	}
	if err != nil {
		t.Fatal(err)
	}
	starts, err := kadm.NewClient(admin).ListStartOffsets(ctx, topic)
	if err == nil {
		err = starts.Error()
	}
	if err != nil {
		t.Fatal(err)
	}
	from, left := map[int32]kgo.Offset{}, map[int32]int64{}
	ends.Each(func(o kadm.ListedOffset) {
		start := starts[topic][o.Partition].Offset
		l.foundStart(o.Partition, start)
		if o.Offset > start {
			from[o.Partition] = kgo.NewOffset().At(start)
			left[o.Partition] = o.Offset - 1
		}
	})
	if len(left) == 0 {
		return
	}
	cl := client(t, addr, kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: from}))
	defer cl.Close()
	for len(left) > 0 {
		fetches := cl.PollFetches(ctx)
		if ctx.Err() != nil {
			t.Fatalf("reading back took too long; the last offsets of %v were not reached", left)
		}
		fetches.EachError(func(_ string, p int32, err error) { t.Fatalf("reading back partition %d: %v", p, err) })
		fetches.EachRecord(func(r *kgo.Record) {
			l.found(r.Partition, r.Offset, r.Value)
			if r.Offset == left[r.Partition] {
				delete(left, r.Partition)
			}
		})
	}
}

func waitUntil(t *testing.T, within time.Duration, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(within); !done(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("within %v not seen: %s", within, what)
		}
	}
}
