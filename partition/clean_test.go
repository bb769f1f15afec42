package partition

import (
	"errors"
	"testing"
	"time"

	"ringmain/segment"
)

func compactedSettings(s *Settings) {
	s.Log.CompactPolicy, s.Log.DeletePolicy, s.Log.SegmentBytes = true, false, 2000
}

func (f *fixture) clean(r *Replica) (segment.Cleaned, error) {
	return r.Log().Clean(segment.CleanOptions{
		Config: r.Settings().Log, Stable: r.LastStableOffset(), NowMs: time.Now().UnixMilli(), MapBytes: 1 << 16, MapLoad: 0.9,
		Pace: func(int) error { return nil }, Replace: r.Replace,
	})
}

// Appends, group commits and replacements of segments go on together; what is
// acknowledged has its offset, and the log shrinks.
func TestCleaningWhileAppending(t *testing.T) {
	f := newFixture(t, compactedSettings)
	stop, stopped := make(chan struct{}), make(chan int)
	go func() {
		replaced := 0
		for {
			got, err := f.clean(f.replica)
			if err != nil {
				t.Errorf("clean: %v", err)
			}
			replaced += got.Segments
			select {
			case <-stop:
				stopped <- replaced
				return
			default:
			}
		}
	}()
	for i := range int64(400) {
		if a := wait(t, "answer", f.append(true, f.batch(-1, -1, 3))); a.Err != nil || a.BaseOffset != 3*i {
			t.Fatalf("offset %d, error %v", a.BaseOffset, a.Err)
		}
	}
	close(stop)
	if replaced := <-stopped; replaced == 0 {
		t.Error("nothing was replaced")
	}
	if _, err := f.clean(f.replica); err != nil {
		t.Error(err)
	}
	if l := f.replica.Log(); l.EndOffset() != 1200 || l.Size() > 3*2000 {
		t.Errorf("log end %d, %d bytes", l.EndOffset(), l.Size())
	}
}

// What waits in the active segment for max.compaction.lag.ms has the segment
// closed and synced.
func TestRollOverdue(t *testing.T) {
	f := newFixture(t, func(s *Settings) { compactedSettings(s); s.Log.MaxCompactionLagMs = 1 })
	wait(t, "answer", f.append(false, f.batch(-1, -1, 2)))
	time.Sleep(3 * time.Millisecond) // the lag
	if err := f.replica.RollOverdue(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the closed segment is not synced", func() bool { return f.replica.Log().SyncedOffset() >= 2 })
	f.settled()
	if got, err := f.clean(f.replica); err != nil || got.End != 2 || got.BytesAfter >= got.BytesBefore {
		t.Errorf("%+v, %v", got, err)
	}
}

// What a journal has made durable becomes durable in the log's own files before it
// is cleaned.
func TestSyncFiles(t *testing.T) {
	f := newFixture(t, compactedSettings)
	f.sync.gate = make(chan struct{}) // no sync of the shard ends
	defer close(f.sync.gate)
	for range 60 {
		wait(t, "answer", f.append(false, f.batch(-1, -1, 3)))
	}
	if got, err := f.clean(f.replica); err != nil || got.Segments != 0 {
		t.Errorf("before: %+v, %v", got, err)
	}
	if err := f.replica.SyncFiles(); err != nil {
		t.Fatal(err)
	}
	what, err := f.replica.Log().Cleanable(f.replica.Settings().Log, f.replica.LastStableOffset(), 0)
	if err != nil || what.End == 0 || what.FileSyncDue {
		t.Errorf("behind: %+v, %v", what, err)
	}
	if err := f.replica.Delete(); err != nil {
		t.Fatal(err)
	}
	if err := f.replica.SyncFiles(); !errors.Is(err, segment.ErrClosed) {
		t.Errorf("of a deleted partition: %v", err)
	}
}

// A partition that is deleted, or whose shard stops, during a pass ends it.
func TestCleaningADeletedPartition(t *testing.T) {
	f := newFixture(t, compactedSettings)
	for range 50 {
		wait(t, "answer", f.append(true, f.batch(-1, -1, 3)))
	}
	if err := f.replica.Delete(); err != nil {
		t.Fatal(err)
	}
	if _, err := f.clean(f.replica); !errors.Is(err, segment.ErrClosed) {
		t.Errorf("after the deletion: %v", err)
	}
	if err := f.replica.RollOverdue(); err != nil {
		t.Errorf("a roll after the deletion: %v", err)
	}
}
