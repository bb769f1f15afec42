package crash

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"ringmain/test/harness"
)

// committer is one group, which commits ever larger offsets, the same for each
// partition, with the offset as text beside it.
type committer struct {
	id    string
	tried atomic.Int64      // the largest offset that was sent
	acked atomic.Int64      // the largest that was acknowledged
	read  [partitions]int64 // the last ones that a fetch of offsets gave
}

// TestKillUnderCommits kills the coordinator of many groups, those of its start and of
// the loading of groups among the moments: no commit that was acknowledged is lost, and
// no offset that was read is ever read lower.
func TestKillUnderCommits(t *testing.T) {
	t.Parallel()
	rng := moments(t)
	b := harness.StartOwn(t, harness.Options{Overrides: []string{
		"offsets.topic.segment.bytes=1048576",                                // kills meet rolls
		"log.cleaner.min.cleanable.ratio=0.01", "log.cleaner.backoff.ms=100", // and compaction
		"offsets.topic.num.partitions=3",
	}})
	createTopic(t, b.Addr(), topic, partitions)
	groups := make([]*committer, 12)
	stop := make(chan struct{})
	var running sync.WaitGroup
	for i := range groups {
		groups[i] = &committer{id: fmt.Sprint("group-", i)}
		running.Go(func() { groups[i].commit(t, b.Addr(), stop) })
		running.Go(func() { groups[i].watch(t, b.Addr(), stop) })
	}
	acked := func() (n int64) {
		for _, g := range groups {
			n += g.acked.Load()
		}
		return n
	}
	for r := range *rounds {
		before := acked()
		waitUntil(t, 60*time.Second, "a commit is acknowledged", func() bool { return acked() > before })
		time.Sleep(time.Duration(50+rng.IntN(1000)) * time.Millisecond) // the random moment
		b.Kill()
		for range rng.IntN(3) {
			if err := b.StartAndKill(time.Duration(rng.IntN(400)) * time.Millisecond); err != nil {
				t.Fatal(err)
			}
		}
		if err := b.Restart(); err != nil {
			t.Fatalf("start after kill %d: %v", r+1, err)
		}
	}
	before := acked()
	waitUntil(t, 60*time.Second, "a commit is acknowledged after the last start", func() bool { return acked() > before })
	close(stop)
	running.Wait()
	for _, g := range groups {
		g.check(t, b.Addr())
	}
	if err := b.Stop(); err != nil {
		t.Fatal(err)
	}
	if err := b.Restart(); err != nil {
		t.Fatal(err)
	}
	for _, g := range groups {
		g.check(t, b.Addr())
	}
	t.Logf("%d commits acknowledged", acked())
}

// retryWithin bounds one request over a kill and a start.
const retryWithin = 60 * time.Second

func (g *committer) commit(t *testing.T, addr string, stop <-chan struct{}) {
	cl := client(t, addr)
	defer cl.Close()
	adm := kadm.NewClient(cl)
	for offset := int64(1); ; offset++ {
		select {
		case <-stop:
			return
		case <-time.After(time.Duration(rand.IntN(5)) * time.Millisecond):
		}
		var o kadm.Offsets
		for p := range int32(partitions) {
			o.Add(kadm.Offset{Topic: topic, Partition: p, At: offset, LeaderEpoch: -1, Metadata: fmt.Sprint(offset)})
		}
		g.tried.Store(offset)
		ctx, cancel := context.WithTimeout(context.Background(), retryWithin)
		if adm.CommitAllOffsets(ctx, g.id, o) == nil {
			g.acked.Store(offset)
		}
		cancel()
	}
}

// watch reads the offsets again and again.
func (g *committer) watch(t *testing.T, addr string, stop <-chan struct{}) {
	cl := client(t, addr)
	defer cl.Close()
	adm := kadm.NewClient(cl)
	for {
		select {
		case <-stop:
			return
		case <-time.After(time.Duration(rand.IntN(20)) * time.Millisecond):
			g.look(t, adm)
		}
	}
}

// look fetches the offsets once, if the broker is there.
func (g *committer) look(t *testing.T, adm *kadm.Client) bool {
	acked := g.acked.Load()
	ctx, cancel := context.WithTimeout(context.Background(), retryWithin)
	defer cancel()
	all, err := adm.FetchOffsets(ctx, g.id)
	if err != nil {
		return false
	}
	tried := g.tried.Load()
	for p := range int32(partitions) {
		at, text := int64(0), "0" // nothing committed yet
		if o, ok := all.Lookup(topic, p); ok {
			if o.Err != nil {
				return false
			}
			at, text = o.At, o.Metadata
		}
		if at < acked || at < g.read[p] || at > tried || text != fmt.Sprint(at) {
			t.Errorf("%s, partition %d: offset %d with %q is read after %d was acknowledged and %d was read; %d was sent last", g.id, p, at, text, acked, g.read[p], tried)
		}
		g.read[p] = at
	}
	return true
}

// check reads the offsets when nothing happens any more.
func (g *committer) check(t *testing.T, addr string) {
	cl := client(t, addr)
	defer cl.Close()
	if !g.look(t, kadm.NewClient(cl)) {
		t.Errorf("%s: the offsets cannot be read", g.id)
	}
}
