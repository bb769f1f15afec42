package partition

import (
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"ringmain/internal/vfs"
	"ringmain/model"
	"ringmain/segment"
)

func TestStopSyncsWhatWaitsBehindASync(t *testing.T) {
	f := newFixture(t, nil)
	f.sync.gate = make(chan struct{})
	first, other := f.replica, f.open("other", f.replica.Settings())
	one := f.append(true, f.batch(-1, -1, 1))
	f.syncing(1) // and hangs
	f.replica = other
	two := f.append(true, f.batch(-1, -1, 1)) // queues behind it
	f.settled()
	f.stopped = true
	stopped := make(chan error, 1)
	go func() { stopped <- f.shard.Stop() }()
	close(f.sync.gate)
	if err := wait(t, "stop", stopped); err != nil {
		t.Fatal(err)
	}
	for r, c := range map[*Replica]answered{first: one, other: two} {
		if a := wait(t, "answer", c); a.Err != nil {
			t.Errorf("%s: %v", r.TP, a.Err)
		}
		if synced, end := r.Log().SyncedOffset(), r.Log().EndOffset(); synced != end {
			t.Errorf("%s: synced to %d of %d after a stop that was called clean", r.TP, synced, end)
		}
	}
	if n := f.dir.FileBudget().Open(); n != 0 {
		t.Errorf("%d files are open after the stop", n)
	}
}

func TestAFailedSyncBehindAStopIsReported(t *testing.T) {
	f := newFixture(t, nil)
	f.sync.gate = make(chan struct{})
	f.sync.syncErr = errors.New("input/output error")
	all := f.append(true, f.batch(-1, -1, 1))
	f.syncing(1)
	f.stopped = true
	stopped := make(chan error, 1)
	go func() { stopped <- f.shard.Stop() }()
	close(f.sync.gate)
	if err := wait(t, "stop", stopped); !errors.Is(err, segment.ErrStorage) {
		t.Errorf("stop after a failed sync: %v, want ErrStorage: the directory must not be marked as clean", err)
	}
	if a := wait(t, "answer", all); a.Err == nil {
		t.Error("an append whose sync failed was acknowledged")
	}
}

func TestARepetitionIsNotAcknowledgedAfterAFailedSync(t *testing.T) {
	f := newFixture(t, nil)
	f.sync.syncErr = errors.New("input/output error")
	if a := wait(t, "answer", f.append(true, f.batch(7, 0, 1))); !errors.Is(a.Err, segment.ErrStorage) {
		t.Fatalf("append: %v, want ErrStorage", a.Err)
	}
	if a := wait(t, "answer", f.append(true, f.batch(7, 0, 1))); !errors.Is(a.Err, segment.ErrStorage) {
		t.Errorf("the producer's second try: %v, want ErrStorage: its bytes are on no disk", a.Err)
	}
	if n := f.replica.Log().SyncedOffset(); n != 0 {
		t.Errorf("synced to %d, no sync has succeeded", n)
	}
}

func TestTheTickDoesNotRaiseWhatFailedToSync(t *testing.T) {
	f := newFixture(t, nil)
	wait(t, "answer", f.append(false, f.batch(-1, -1, 1))) // unsynced: watched by the tick
	f.sync.syncErr = errors.New("input/output error")
	wait(t, "answer", f.append(true, f.batch(-1, -1, 1)))
	for range 2 { // it may begin a sync, whose result comes with the next round
		if err := f.replica.do(func(s *Shard) error {
			s.nowMs += (2 * time.Hour).Milliseconds()
			tick{}.run(s)
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		for end := time.Now().Add(100 * time.Millisecond); f.replica.Log().SyncedOffset() == 0 && time.Now().Before(end); {
			f.settled()
		}
	}
	if n := f.replica.Log().SyncedOffset(); n != 0 {
		t.Fatalf("synced to %d, no sync has succeeded", n)
	}
}

func TestDeletingDuringASyncGivesTheFilesBack(t *testing.T) {
	f := newFixture(t, nil)
	f.sync.gate = make(chan struct{})
	f.sync.syncErr = errors.New("no such file or directory") // as when the directory has gone
	f.append(true, f.batch(-1, -1, 1))
	f.syncing(1)
	if err := f.replica.Delete(); err != nil {
		t.Fatal(err)
	}
	close(f.sync.gate)
	f.stopped = true
	if err := f.shard.Stop(); err != nil {
		t.Fatal(err)
	}
	if n := f.dir.FileBudget().Open(); n != 0 {
		t.Fatalf("%d files of a deleted partition are still open", n)
	}
	if err := f.replica.Log().Err(); errors.Is(err, segment.ErrStorage) {
		t.Fatalf("a deleted partition's log: %v; it must not alarm anybody", err)
	}
}

func TestWhatAKillLeftUnsyncedIsSynced(t *testing.T) {
	log := slog.New(slog.DiscardHandler)
	path, id := t.TempDir(), model.NewTopicID()
	tp := model.TopicPartition{Topic: "t"}
	open := func() (*segment.Dir, *segment.Log) {
		dir, err := segment.OpenDir(vfs.OS{}, path, segment.Ident{ClusterID: "c", NodeID: 1}, log)
		if err != nil {
			t.Fatal(err)
		}
		l, _, err := dir.OpenLog(tp, id, segment.DefaultConfig())
		if err != nil {
			t.Fatal(err)
		}
		return dir, l
	}
	dir, l := open()
	b := (&fixture{t: t}).batch(-1, -1, 1)
	if _, err := l.Stage(b, 0, b.MaxTimestamp(), time.Now().UnixMilli()); err != nil {
		t.Fatal(err)
	}
	if err := segment.Flush(testIO(t), []*segment.Log{l}); err != nil {
		t.Fatal(err)
	}
	dir.Close() // the log is left as a kill leaves it

	dir, l = open()
	defer dir.Close()
	s := NewShard(Config{SyncBytes: 1 << 40, Observe: silent{}}, testIO(t), []segment.LogIO{testIO(t)}, log)
	defer s.Stop()
	r := NewReplica(tp, id, l, &Settings{Log: segment.DefaultConfig(), FlushMessages: 1 << 62, FlushMs: 1 << 62}, Role{Leader: 1, ISR: 1, Replicas: 1, Local: true})
	if err := s.Adopt(r); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(patience); l.SyncedOffset() != 1; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("synced to %d of %d, and nobody appends", l.SyncedOffset(), l.EndOffset())
		}
	}
}

// TestManyAtOnce has producers, fetchers, retention, reconfiguration, deletions
// and a metrics scrape at work on one shard; every append and every waiter must
// be answered, before and by the stop. Worth most with -race.
func TestManyAtOnce(t *testing.T) {
	var lanes []segment.LogIO
	for range segment.SyncLanes {
		lanes = append(lanes, testIO(t))
	}
	f := newFixtureOf(t, nil, lanes, nil)
	replicas := []*Replica{f.replica}
	for i := range 3 {
		replicas = append(replicas, f.open(fmt.Sprint("t", i), f.replica.Settings()))
	}
	const each = 200
	var work, open sync.WaitGroup
	answers := make(answered, 16)
	acknowledged := map[*Replica]int64{}
	collected := make(chan struct{})
	go func() {
		defer close(collected)
		for a := range answers {
			if a.Err == nil {
				acknowledged[a.Replica] = max(acknowledged[a.Replica], a.BaseOffset+1)
			}
			open.Done()
		}
	}()
	for i, r := range replicas {
		work.Add(4)
		go func() {
			defer work.Done()
			for n := range each {
				b := f.batch(int64(i), int32(n), 1)
				open.Add(1)
				if f.shard.PostAppends([]*Append{{Replica: r, Batch: b, MaxTimestamp: b.MaxTimestamp(), AcksAll: n%2 == 0, Done: answers}}) != nil {
					open.Done()
				}
			}
		}()
		go func() {
			defer work.Done()
			for range each {
				open.Add(1)
				w := NewWaiter(1, open.Done)
				Park(w, []Watch{{Replica: r, Seen: r.HighWatermark()}, {Replica: replicas[0], Seen: replicas[0].HighWatermark()}})
				defer w.Fire() // the deadline
			}
		}()
		go func() {
			defer work.Done()
			for range each / 10 {
				r.Retain()
				r.Reconfigure(r.Settings())
				r.DeleteRecords(-1)
			}
		}()
		go func() {
			defer work.Done()
			for range each {
				_ = r.UnsyncedBytes() + r.Log().Size() + int64(r.Log().SegmentCount())
				if p, err := r.Log().Plan(r.Log().StartOffset(), r.HighWatermark(), 1<<20, true); err == nil {
					p.Release()
				}
			}
		}()
	}
	if err := replicas[3].Delete(); err != nil {
		t.Error(err)
	}
	work.Wait()
	f.stopped = true
	if err := f.shard.Stop(); err != nil {
		t.Error(err)
	}
	done := make(chan struct{})
	go func() { open.Wait(); close(done) }()
	wait(t, "end of all answers and wake-ups", done)
	close(answers)
	<-collected
	for _, r := range replicas[:3] {
		if n := r.Log().SyncedOffset(); n < acknowledged[r] {
			t.Errorf("%s: acknowledged to %d, synced to %d", r.TP, acknowledged[r], n)
		}
	}
}
