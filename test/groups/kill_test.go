package groups

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"ringmain/test/harness"
	"ringmain/test/peer"
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
	committers = 24 // each with a group of its own, spread over the coordinators
	partitions = 5
)

// committer is one client: it commits a rising offset to each partition of the topic, one request at a time.
type committer struct {
	group        string
	asked, acked atomic.Int64 // the highest offset sent, and acknowledged
	seen         [partitions]int64
}

// run commits until stop, over a new connection when one has ended.
func (m *committer) run(t *testing.T, addr string, stop <-chan struct{}) {
	var c *peer.Conn
	for {
		select {
		case <-stop:
			if c != nil {
				c.Close()
			}
			return
		default:
		}
		if c == nil {
			var err error
			if c, err = peer.Dial(addr); err != nil {
				time.Sleep(10 * time.Millisecond)
				continue
			}
		}
		offset := m.asked.Add(1)
		req := commitRequest(m.group, "t", partitions, offset)
		resp, err := do[*kmsg.OffsetCommitResponse](c, 9, req)
		if err != nil {
			c.Close()
			c = nil
			continue
		}
		switch err := commitError(resp); {
		case err == nil:
			m.acked.Store(offset)
		case kerr.IsRetriable(err): // it loads, or stops
			time.Sleep(time.Millisecond)
		default:
			t.Errorf("%s: commit of %d: %v", m.group, offset, err)
			return
		}
	}
}

// check compares what is committed with what was acknowledged before it was asked.
func (m *committer) check(t *testing.T, c *peer.Conn) {
	t.Helper()
	acked := m.acked.Load()
	got, err := fetchOffsets(c, m.group, "t")
	if err != nil {
		t.Fatalf("%s: %v", m.group, err)
	}
	asked := m.asked.Load()
	for p := range int32(partitions) {
		o, ok := got[p]
		if !ok {
			o.Offset = 0
		}
		switch {
		case o.Offset < acked:
			t.Errorf("%s, partition %d: %d is committed, %d was acknowledged", m.group, p, o.Offset, acked)
		case o.Offset < m.seen[p]:
			t.Errorf("%s, partition %d: went back from %d to %d", m.group, p, m.seen[p], o.Offset)
		case o.Offset > asked:
			t.Errorf("%s, partition %d: %d is committed, %d was the highest sent", m.group, p, o.Offset, asked)
		case ok && (o.Metadata == nil || *o.Metadata != fmt.Sprint(o.Offset)):
			t.Errorf("%s, partition %d: offset %d has the metadata %v", m.group, p, o.Offset, o.Metadata)
		}
		m.seen[p] = o.Offset
	}
}

func TestKillWhileCommitting(t *testing.T) {
	s := *seed
	if s == 0 {
		s = uint64(time.Now().UnixNano())
	}
	t.Logf("seed %d, %d kills", s, *rounds)
	rng := rand.New(rand.NewPCG(s, 0))
	// Small segments make kills meet rolls of the offsets topic.
	b := harness.StartOwn(t, harness.Options{Overrides: []string{"offsets.topic.segment.bytes=1048576"}})
	createTopic(t, b.Addr(), "t", partitions)

	stop := make(chan struct{})
	var all []*committer
	var running sync.WaitGroup
	for i := range committers {
		m := &committer{group: fmt.Sprintf("group-%d", i)}
		findCoordinator(t, dial(t, b.Addr()), m.group)
		all = append(all, m)
		running.Go(func() { m.run(t, b.Addr(), stop) })
	}
	acknowledged := func() (sum int64) {
		for _, m := range all {
			sum += m.acked.Load()
		}
		return sum
	}
	progress := func(what string) {
		before := acknowledged()
		for deadline := time.Now().Add(60 * time.Second); acknowledged() < before+10; time.Sleep(2 * time.Millisecond) {
			if t.Failed() || time.Now().After(deadline) {
				t.Fatalf("no commits are acknowledged %s", what)
			}
		}
	}
	checkAll := func() {
		c := dial(t, b.Addr())
		for _, m := range all {
			m.check(t, c)
		}
	}
	for r := range *rounds {
		progress(fmt.Sprintf("before kill %d", r+1))
		time.Sleep(time.Duration(20+rng.IntN(800)) * time.Millisecond) // the random moment
		b.Kill()
		for range rng.IntN(3) { // and moments of its start, the loading of groups among them
			if err := b.StartAndKill(time.Duration(rng.IntN(400)) * time.Millisecond); err != nil {
				t.Fatal(err)
			}
		}
		if err := b.Restart(); err != nil {
			t.Fatalf("start after kill %d: %v", r+1, err)
		}
		checkAll()
	}
	progress("after the last start")
	checkAll()
	close(stop)
	running.Wait()
	checkAll()
	t.Logf("%d commits of %d partitions acknowledged", acknowledged(), partitions)
	// And once more from a process that was stopped cleanly.
	if err := b.Stop(); err != nil {
		t.Fatal(err)
	}
	if err := b.Restart(); err != nil {
		t.Fatal(err)
	}
	checkAll()
}
