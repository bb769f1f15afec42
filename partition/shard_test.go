package partition

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"ringmain/internal/vfs"
	"ringmain/model"
	"ringmain/record"
	"ringmain/segment"
)

// gatedIO is a backend whose syncs wait until the test lets them go, and whose
// writes and syncs can be made to fail.
type gatedIO struct {
	segment.LogIO
	mu       sync.Mutex
	gate     chan struct{} // a sync takes one; nil: open
	syncErr  error
	writeErr error
	syncs    int
}

func (g *gatedIO) Append(round []segment.PartitionWrite) []error {
	g.mu.Lock()
	err := g.writeErr
	g.mu.Unlock()
	if err == nil {
		return g.LogIO.Append(round)
	}
	errs := make([]error, len(round))
	for i := range errs {
		errs[i] = err
	}
	return errs
}

func (g *gatedIO) Sync(files []*segment.File) []error {
	g.mu.Lock()
	gate, err := g.gate, g.syncErr
	g.syncs++
	g.mu.Unlock()
	if gate != nil {
		<-gate
	}
	if err == nil {
		return g.LogIO.Sync(files)
	}
	errs := make([]error, len(files))
	for i := range errs {
		errs[i] = err
	}
	return errs
}

// testIO is pwritev, or the backend that RINGMAIN_TEST_IO names (make test runs both).
func testIO(t *testing.T) segment.LogIO {
	t.Helper()
	engine := os.Getenv("RINGMAIN_TEST_IO")
	if engine == "" {
		engine = "pwritev"
	}
	make, _, _, err := segment.ProbeIO(t.TempDir(), engine)
	if err != nil {
		t.Skip("io_uring is not allowed here: ", err)
	}
	io, err := make()
	if err != nil {
		t.Fatal(err)
	}
	return io
}

type silent struct{}

func (silent) Appended(int, int64, time.Duration) {}
func (silent) AppendFailed()                      {}
func (silent) Synced(int, time.Duration)          {}
func (silent) SyncFailed()                        {}

// fixture is a shard with one replica.
type fixture struct {
	t       *testing.T
	dir     *segment.Dir
	write   *gatedIO
	sync    *gatedIO
	shard   *Shard
	replica *Replica
	stopped bool
}

func newFixture(t *testing.T, change func(*Settings)) *fixture {
	t.Helper()
	return newFixtureAt(t, nil, change)
}

// newFixtureAt is newFixture with a clock of the test's.
func newFixtureAt(t *testing.T, c *clock, change func(*Settings)) *fixture {
	t.Helper()
	sync := &gatedIO{LogIO: testIO(t)}
	f := newFixtureOf(t, c, []segment.LogIO{sync}, change)
	f.sync = sync
	return f
}

// newFixtureOf is newFixture with lanes of the test's.
func newFixtureOf(t *testing.T, c *clock, lanes []segment.LogIO, change func(*Settings)) *fixture {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	dir, err := segment.OpenDir(vfs.OS{}, t.TempDir(), segment.Ident{ClusterID: "c", NodeID: 1}, log)
	if err != nil {
		t.Fatal(err)
	}
	f := &fixture{t: t, dir: dir, write: &gatedIO{LogIO: testIO(t)}}
	f.shard = NewShard(Config{SyncBytes: 1 << 40, SyncAge: time.Hour, Observe: silent{}, clock: c}, f.write, lanes, log)
	set := &Settings{Log: segment.DefaultConfig(), MinInSyncReplicas: 1, FlushMessages: 1 << 62, FlushMs: 1 << 62}
	if change != nil {
		change(set)
	}
	f.replica = f.open("t", set)
	t.Cleanup(func() {
		if !f.stopped {
			f.shard.Stop()
		}
		dir.Close()
	})
	return f
}

func (f *fixture) open(topic string, set *Settings) *Replica {
	f.t.Helper()
	tp := model.TopicPartition{Topic: topic}
	id := model.NewTopicID()
	log, _, err := f.dir.OpenLog(tp, id, set.Log)
	if err != nil {
		f.t.Fatal(err)
	}
	r := NewReplica(tp, id, log, set, Role{Leader: 1, ISR: 1, Replicas: 1, Local: true})
	if err := f.shard.Adopt(r); err != nil {
		f.t.Fatal(err)
	}
	return r
}

// answered receives finished appends.
type answered chan *Append

func (a answered) Appended(x *Append) { a <- x }

func (f *fixture) batch(producer int64, sequence int32, n int) record.Batch {
	b := record.NewBuilder()
	b.ProducerID, b.ProducerEpoch, b.BaseSequence = producer, 0, sequence
	if producer < 0 {
		b.ProducerEpoch = -1
	}
	for range n {
		b.Add(time.Now().UnixMilli(), []byte("key"), []byte("value"))
	}
	return b.Build()
}

func (f *fixture) append(acksAll bool, b record.Batch) answered {
	f.t.Helper()
	done := make(answered, 1)
	a := &Append{Replica: f.replica, Batch: b, MaxTimestamp: b.MaxTimestamp(), AppendTimeMs: -1, AcksAll: acksAll, Done: done}
	if err := f.shard.PostAppends([]*Append{a}); err != nil {
		f.t.Fatal(err)
	}
	return done
}

const patience = 30 * time.Second

// eventually waits until something is so; complaint says that it never was.
func eventually(t testing.TB, complaint string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal(complaint)
		}
	}
}

func wait[T any](t *testing.T, what string, c <-chan T) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(patience):
		t.Fatalf("no %s within %s", what, patience)
		panic("unreachable")
	}
}

// syncing returns when the n-th sync has begun.
func (f *fixture) syncing(n int) {
	f.t.Helper()
	begun := func() bool {
		f.sync.mu.Lock()
		defer f.sync.mu.Unlock()
		return f.sync.syncs >= n
	}
	eventually(f.t, fmt.Sprintf("no %d syncs have begun", n), begun)
}

// settled returns when everything posted before it has been run.
func (f *fixture) settled() {
	f.t.Helper()
	if err := f.replica.do(func(*Shard) error { return nil }); err != nil {
		f.t.Fatal(err)
	}
}

func TestAcksOneDoesNotWaitForASync(t *testing.T) {
	f := newFixture(t, nil)
	f.sync.gate = make(chan struct{})
	all := f.append(true, f.batch(-1, -1, 3)) // its sync hangs
	one := wait(t, "answer of acks=1", f.append(false, f.batch(-1, -1, 2)))
	if one.Err != nil || one.BaseOffset != 3 {
		t.Fatalf("acks=1: offset %d, error %v; want 3 and none", one.BaseOffset, one.Err)
	}
	if hw := f.replica.HighWatermark(); hw != 5 {
		t.Fatalf("high watermark %d while a sync hangs, want 5: a record is readable once written", hw)
	}
	select {
	case a := <-all:
		t.Fatalf("acks=all answered (offset %d, error %v) before its sync", a.BaseOffset, a.Err)
	default:
	}
	close(f.sync.gate)
	if a := wait(t, "answer of acks=all", all); a.Err != nil || a.BaseOffset != 0 || f.replica.Log().SyncedOffset() < 3 {
		t.Fatalf("acks=all: offset %d, error %v, synced to %d; want 0, none, at least 3", a.BaseOffset, a.Err, f.replica.Log().SyncedOffset())
	}
}

// TestAChainEndsWithItsFirstFailure: what builds on an append that failed is not written,
// though the reason may be gone by then.
func TestAChainEndsWithItsFirstFailure(t *testing.T) {
	f := newFixture(t, func(s *Settings) { s.MinInSyncReplicas = 2 })
	if err := f.replica.SetRole(Role{Leader: 1, ISR: 1, Replicas: 2, Local: true}); err != nil {
		t.Fatal(err)
	}
	chain := &Chain{}
	append := func(c *Chain) error {
		done := make(answered, 1)
		b := f.batch(-1, -1, 1)
		if err := f.shard.Post(&Append{Replica: f.replica, Batch: b, MaxTimestamp: b.MaxTimestamp(), AppendTimeMs: -1, AcksAll: true, Chain: c, Done: done}); err != nil {
			t.Fatal(err)
		}
		return wait(t, "answer", done).Err
	}
	if err := append(chain); !errors.Is(err, ErrNotEnoughReplicas) {
		t.Fatalf("the first: %v, want ErrNotEnoughReplicas", err)
	}
	enough := *f.replica.Settings()
	enough.MinInSyncReplicas = 1
	f.replica.Reconfigure(&enough)
	f.settled()
	if err := append(chain); !errors.Is(err, ErrChainBroken) {
		t.Errorf("the second: %v, want ErrChainBroken", err)
	}
	if err := append(&Chain{}); err != nil {
		t.Errorf("one of another chain: %v", err)
	}
	if end := f.replica.HighWatermark(); end != 1 {
		t.Errorf("the log has %d records, want the one of the other chain", end)
	}
}

func TestPageCacheDurabilityDoesNotWait(t *testing.T) {
	f := newFixture(t, func(s *Settings) { s.PageCache = true })
	f.sync.gate = make(chan struct{})
	defer close(f.sync.gate)
	if a := wait(t, "answer", f.append(true, f.batch(-1, -1, 1))); a.Err != nil {
		t.Fatal(a.Err)
	}
}

func TestWhatQueuesDuringASyncIsOneGroup(t *testing.T) {
	f := newFixture(t, nil)
	f.sync.gate = make(chan struct{})
	first := f.append(true, f.batch(-1, -1, 1))
	f.syncing(1)
	var rest []answered
	for range 20 {
		rest = append(rest, f.append(true, f.batch(-1, -1, 1)))
	}
	f.settled()
	close(f.sync.gate)
	wait(t, "first answer", first)
	for i, r := range rest {
		if a := wait(t, "answer", r); a.Err != nil || a.BaseOffset != int64(i+1) {
			t.Fatalf("append %d: offset %d, error %v", i, a.BaseOffset, a.Err)
		}
	}
	f.sync.mu.Lock()
	defer f.sync.mu.Unlock()
	if f.sync.syncs != 2 {
		t.Fatalf("%d syncs for one append and 20 that queued behind it, want 2", f.sync.syncs)
	}
}

func TestARepeatedBatchWaitsForTheSyncOfTheFirst(t *testing.T) {
	f := newFixture(t, nil)
	f.sync.gate = make(chan struct{})
	first := f.append(true, f.batch(7, 0, 2))
	again := f.append(true, f.batch(7, 0, 2))
	f.settled()
	select {
	case a := <-again:
		t.Fatalf("the repetition was answered (error %v) before the first was on disk", a.Err)
	default:
	}
	close(f.sync.gate)
	a, b := wait(t, "first", first), wait(t, "repetition", again)
	if a.Err != nil || b.Err != nil || a.BaseOffset != 0 || b.BaseOffset != 0 {
		t.Fatalf("offsets %d and %d, errors %v and %v; want 0, 0, none", a.BaseOffset, b.BaseOffset, a.Err, b.Err)
	}
	if end := f.replica.Log().EndOffset(); end != 2 {
		t.Fatalf("log end %d after a batch of 2 and its repetition, want 2", end)
	}
}

func TestARepeatedBatchIsAnsweredWithTheFirstOnesTime(t *testing.T) {
	f := newFixture(t, nil)
	at := func(ms int64) record.Batch {
		b := record.NewBuilder()
		b.ProducerID, b.ProducerEpoch, b.BaseSequence = 7, 0, 0
		return b.Add(ms, nil, []byte("value")).Build()
	}
	now := time.Now().UnixMilli()
	a, b := wait(t, "first", f.append(true, at(now))), wait(t, "repetition", f.append(true, at(now+1000)))
	if b.Err != nil || b.BaseOffset != a.BaseOffset || b.AppendTimeMs != a.MaxTimestamp {
		t.Fatalf("offset %d, time %d, error %v; want %d, %d, none", b.BaseOffset, b.AppendTimeMs, b.Err, a.BaseOffset, a.MaxTimestamp)
	}
}

func TestAFailedSyncIsFinal(t *testing.T) {
	f := newFixture(t, nil)
	f.sync.syncErr = errors.New("input/output error")
	if a := wait(t, "answer", f.append(true, f.batch(-1, -1, 1))); !errors.Is(a.Err, segment.ErrStorage) {
		t.Fatalf("acks=all after a failed sync: %v, want ErrStorage", a.Err)
	}
	f.sync.mu.Lock()
	f.sync.syncErr = nil
	syncs := f.sync.syncs
	f.sync.mu.Unlock()
	if a := wait(t, "answer", f.append(false, f.batch(-1, -1, 1))); !errors.Is(a.Err, segment.ErrStorage) {
		t.Fatalf("the next append: %v, want ErrStorage for ever", a.Err)
	}
	f.settled()
	f.sync.mu.Lock()
	defer f.sync.mu.Unlock()
	if f.sync.syncs != syncs {
		t.Fatal("a failed sync was tried again")
	}
}

func TestAFailedWriteFailsItsAppendsOnly(t *testing.T) {
	f := newFixture(t, nil)
	other := f.open("other", f.replica.Settings())
	f.write.mu.Lock()
	f.write.writeErr = errors.New("input/output error")
	f.write.mu.Unlock()
	if a := wait(t, "answer", f.append(true, f.batch(-1, -1, 1))); !errors.Is(a.Err, segment.ErrStorage) {
		t.Fatalf("append with a failing write: %v, want ErrStorage", a.Err)
	}
	f.write.mu.Lock()
	f.write.writeErr = nil
	f.write.mu.Unlock()
	f.replica = other
	if a := wait(t, "answer", f.append(true, f.batch(-1, -1, 1))); a.Err != nil {
		t.Fatalf("another log of the shard: %v, want no error", a.Err)
	}
}

// min.insync.replicas never asks for more replicas than there are: with one
// replica it may say anything.
func TestNotEnoughReplicas(t *testing.T) {
	f := newFixture(t, func(s *Settings) { s.MinInSyncReplicas = 2 })
	if a := wait(t, "answer", f.append(true, f.batch(-1, -1, 1))); a.Err != nil {
		t.Fatalf("acks=all with one replica: %v, want no error", a.Err)
	}
	if err := f.replica.SetRole(Role{Leader: 1, ISR: 1, Replicas: 3, Local: true}); err != nil {
		t.Fatal(err)
	}
	if a := wait(t, "answer", f.append(true, f.batch(-1, -1, 1))); !errors.Is(a.Err, ErrNotEnoughReplicas) {
		t.Fatalf("acks=all with one of three in sync: %v, want ErrNotEnoughReplicas", a.Err)
	}
	if a := wait(t, "answer", f.append(false, f.batch(-1, -1, 1))); a.Err != nil {
		t.Fatalf("acks=1: %v, want no error", a.Err)
	}
}

func TestWaiterWakesWhenEnoughHasCome(t *testing.T) {
	f := newFixture(t, nil)
	size := int64(f.batch(-1, -1, 1).Size())
	woken := make(chan struct{}, 1)
	w := NewWaiter(2*size, func() { woken <- struct{}{} })
	Park(w, []Watch{{Replica: f.replica}})
	wait(t, "answer", f.append(false, f.batch(-1, -1, 1)))
	f.settled()
	select {
	case <-woken:
		t.Fatal("woken by half of the bytes it waits for")
	default:
	}
	wait(t, "answer", f.append(false, f.batch(-1, -1, 1)))
	wait(t, "wake-up", woken)
	w.Fire() // the deadline comes too late: nothing happens
	select {
	case <-woken:
		t.Fatal("woken twice")
	default:
	}
}

func TestParkingLooksAgain(t *testing.T) {
	f := newFixture(t, nil)
	wait(t, "answer", f.append(false, f.batch(-1, -1, 1)))
	woken := make(chan struct{}, 1)
	Park(NewWaiter(1<<40, func() { woken <- struct{}{} }), []Watch{{Replica: f.replica, Seen: 0}})
	wait(t, "wake-up for what came between looking and parking", woken)
}

func TestTimedOutWaitersDoNotPileUp(t *testing.T) {
	f := newFixture(t, nil)
	for range 10_000 {
		w := NewWaiter(1, func() {})
		Park(w, []Watch{{Replica: f.replica}})
		w.Fire()
	}
	f.settled()
	if n := len(f.replica.waiters); n > 1000 {
		t.Fatalf("%d waiters are kept of 10000 that have fired", n)
	}
}

func TestDeletingWakesAndAnswersEverybody(t *testing.T) {
	f := newFixture(t, nil)
	f.sync.gate = make(chan struct{})
	waiting := f.append(true, f.batch(-1, -1, 1))
	f.syncing(1)
	woken := make(chan struct{}, 1)
	Park(NewWaiter(1, func() { woken <- struct{}{} }), []Watch{{Replica: f.replica, Seen: 1}})
	f.settled()
	if err := f.replica.Delete(); err != nil {
		t.Fatal(err)
	}
	wait(t, "wake-up", woken)
	if a := wait(t, "answer", waiting); !errors.Is(a.Err, ErrDeleted) {
		t.Fatalf("append on a deleted partition: %v, want ErrDeleted", a.Err)
	}
	close(f.sync.gate)
	if a := wait(t, "answer", f.append(false, f.batch(-1, -1, 1))); !errors.Is(a.Err, ErrDeleted) {
		t.Fatalf("append after the deletion: %v, want ErrDeleted", a.Err)
	}
	if err := f.replica.CheckLeader(model.NoEpoch); !errors.Is(err, ErrDeleted) {
		t.Errorf("a request after the deletion: %v, want ErrDeleted", err)
	}
}

func TestStopSyncsAndAnswers(t *testing.T) {
	f := newFixture(t, nil)
	var all []answered
	for range 50 {
		all = append(all, f.append(true, f.batch(-1, -1, 1)))
	}
	f.stopped = true
	if err := f.shard.Stop(); err != nil {
		t.Fatal(err)
	}
	for _, c := range all {
		if a := wait(t, "answer", c); a.Err != nil {
			t.Fatalf("offset %d: %v; what was posted before the stop is written and synced", a.BaseOffset, a.Err)
		}
	}
	if err := f.shard.PostAppends([]*Append{{}}); !errors.Is(err, ErrClosed) {
		t.Fatalf("posting to a stopped shard: %v, want ErrClosed", err)
	}
}

func TestStopSyncsAllLogsTogether(t *testing.T) {
	f := newFixture(t, nil)
	var replicas []*Replica
	for i := range 20 {
		f.replica = f.open(fmt.Sprintf("t%d", i), f.replica.Settings())
		replicas = append(replicas, f.replica)
		wait(t, "answer", f.append(false, f.batch(-1, -1, 1)))
	}
	f.stopped = true
	if err := f.shard.Stop(); err != nil {
		t.Fatal(err)
	}
	for _, r := range replicas {
		if synced := r.Log().SyncedOffset(); synced != 1 {
			t.Errorf("%s is synced up to %d of 1", r.TP, synced)
		}
	}
	if f.sync.syncs != 1 {
		t.Errorf("%d syncs, want one for all", f.sync.syncs)
	}
}

func TestPressureSyncsBeforeItIsDue(t *testing.T) {
	f := newFixture(t, nil)
	var pressed atomic.Bool
	f.replica.do(func(s *Shard) error { s.cfg.Pressed = pressed.Load; return nil })
	wait(t, "answer", f.append(false, f.batch(-1, -1, 1)))
	one := f.replica
	f.replica = f.open("other", f.replica.Settings())
	f.settled()
	if one.Log().SyncedOffset() != 0 {
		t.Fatal("synced although nothing was due")
	}
	pressed.Store(true)
	wait(t, "answer", f.append(false, f.batch(-1, -1, 1)))
	for _, r := range []*Replica{one, f.replica} {
		eventually(t, fmt.Sprintf("%s was not synced when files were short", r.TP), func() bool { return r.Log().SyncedOffset() == 1 })
	}
}

func TestEpochChecks(t *testing.T) {
	f := newFixture(t, nil)
	if err := f.replica.SetRole(Role{Leader: 1, LeaderEpoch: 5, ISR: 1, Replicas: 1, Local: true}); err != nil {
		t.Fatal(err)
	}
	for epoch, want := range map[int32]error{-1: nil, 5: nil, 4: ErrFencedEpoch, 6: ErrUnknownEpoch} {
		if err := f.replica.CheckLeader(epoch); !errors.Is(err, want) {
			t.Errorf("epoch %d: %v, want %v", epoch, err, want)
		}
	}
	a := wait(t, "answer", f.append(false, f.batch(-1, -1, 1)))
	if got := a.Batch.LeaderEpoch(); got != 5 {
		t.Errorf("batch is stamped with leader epoch %d, want 5", got)
	}
}

func TestDeleteRecords(t *testing.T) {
	f := newFixture(t, nil)
	wait(t, "answer", f.append(false, f.batch(-1, -1, 10)))
	for _, c := range []struct {
		offset, low int64
		err         error
	}{{4, 4, nil}, {2, 4, nil}, {11, 0, segment.ErrOffsetOutOfRange}, {-2, 0, segment.ErrOffsetOutOfRange}, {-1, 10, nil}} {
		low, err := f.replica.DeleteRecords(c.offset)
		if !errors.Is(err, c.err) || err == nil && low != c.low {
			t.Errorf("delete records before %d: low watermark %d, error %v; want %d, %v", c.offset, low, err, c.low, c.err)
		}
	}
}
