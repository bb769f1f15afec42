package partition

import (
	"errors"
	"log/slog"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"ringmain/internal/vfs"
	"ringmain/segment"
)

// crowd is a shard with several replicas, whose durable appends go through a journal.
type crowd struct {
	*fixture
	mem      *vfs.Mem
	fault    *vfs.Faulty
	replicas []*Replica
}

func newCrowd(t *testing.T, replicas int) *crowd {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	c := &crowd{mem: vfs.NewMem()}
	c.fault = vfs.NewFaulty(c.mem)
	dir, err := segment.OpenDir(c.fault, "/data", segment.Ident{ClusterID: "c", NodeID: 1}, log)
	if err != nil {
		t.Fatal(err)
	}
	c.fixture = &fixture{t: t, dir: dir, write: &gatedIO{LogIO: segment.NewPwritevIO()}, sync: &gatedIO{LogIO: segment.NewPwritevIO()}}
	c.shard = NewShard(Config{SyncBytes: 1 << 40, SyncAge: time.Hour, JournalBytes: 256 << 10, Observe: silent{}}, c.write, []segment.LogIO{c.sync}, log)
	set := &Settings{Log: segment.DefaultConfig(), MinInSyncReplicas: 1, FlushMessages: 1 << 62, FlushMs: 1 << 62}
	for i := range replicas {
		c.replicas = append(c.replicas, c.open("t"+strconv.Itoa(i), set))
	}
	return c
}

// round appends to every replica with acks=all, in one request, and waits.
func (c *crowd) round() (errs int) {
	c.t.Helper()
	done := make(answered, len(c.replicas))
	var as []*Append
	for _, r := range c.replicas {
		b := c.batch(-1, -1, 3)
		as = append(as, &Append{Replica: r, Batch: b, MaxTimestamp: b.MaxTimestamp(), AppendTimeMs: -1, AcksAll: true, Done: done})
	}
	if err := c.shard.PostAppends(as); err != nil {
		c.t.Fatal(err)
	}
	for range as {
		if a := <-done; a.Err != nil {
			errs++
		}
	}
	return errs
}

// journaled makes rounds until the journal is there and in use.
func (c *crowd) journaled() {
	c.t.Helper()
	for deadline := time.Now().Add(patience); ; {
		if n := c.round(); n > 0 {
			c.t.Fatalf("%d appends failed", n)
		}
		if b, err := vfs.ReadFile(c.mem, filepath.Join("/data", "ringmain-journal-0")); err == nil && len(b) > 4100 && string(b[4096:4100]) == "RMJC" {
			return
		}
		if time.Now().After(deadline) {
			c.t.Fatal("no journal is used")
		}
	}
}

// TestDurableThroughTheJournal: appends to many replicas are answered by the journal's
// sync; a clean stop has synced the files, and says so.
func TestDurableThroughTheJournal(t *testing.T) {
	c := newCrowd(t, 8)
	c.journaled()
	c.round()
	if err := c.shard.Stop(); err != nil {
		t.Fatal(err)
	}
	for _, r := range c.replicas {
		if r.log.SyncedOffset() != r.log.EndOffset() {
			t.Errorf("%s: synced %d of %d", r.TP, r.log.SyncedOffset(), r.log.EndOffset())
		}
	}
}

// TestFailedSyncBehindTheJournal, while the shard runs or as it stops: the log is
// offline, and the stop is not a clean one.
func TestFailedSyncBehindTheJournal(t *testing.T) {
	for _, stopping := range []bool{false, true} {
		t.Run(strconv.FormatBool(stopping), func(t *testing.T) {
			c := newCrowd(t, 8)
			c.journaled()
			c.fault.Inject(vfs.Rule{Op: vfs.OpSync, Pattern: "0*.log", Times: 1, Err: syscall.EIO})
			if !stopping {
				for deadline := time.Now().Add(patience); c.round() == 0; {
					if time.Now().After(deadline) {
						t.Fatal("no append is refused although a sync has failed")
					}
				}
			}
			if err := c.shard.Stop(); !errors.Is(err, syscall.EIO) && !errors.Is(err, segment.ErrStorage) {
				t.Errorf("the stop says %v", err)
			}
			failed := 0
			for _, r := range c.replicas {
				if r.log.Err() != nil && !errors.Is(r.log.Err(), segment.ErrClosed) {
					failed++
				}
			}
			if failed != 1 {
				t.Errorf("%d logs are offline, want 1", failed)
			}
		})
	}
}

// TestJournalHoldsNothingThatIsRemoved: what a deleted replica, or retention, leaves is removed,
// although the journal has its files open for as long as it is not full.
func TestJournalHoldsNothingThatIsRemoved(t *testing.T) {
	for what, remove := range map[string]func(r *Replica) error{
		"deleted": (*Replica).Delete,
		"expired": func(r *Replica) error {
			set := *r.settings.Load()
			set.Log.RetentionBytes, set.Log.DeleteDelayMs = 0, 0
			if err := r.Reconfigure(&set); err != nil {
				return err
			}
			_, err := r.Retain()
			return err
		},
	} {
		t.Run(what, func(t *testing.T) {
			c := newCrowd(t, 8)
			c.journaled()
			if err := remove(c.replicas[0]); err != nil {
				t.Fatal(err)
			}
			first := filepath.Join("/data", c.replicas[0].TP.String(), "00000000000000000000.log")
			for deadline := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
				_, err := c.mem.Stat(first)
				left := err == nil
				entries, err := c.mem.ReadDir("/data")
				if err != nil {
					t.Fatal(err)
				}
				for _, e := range entries {
					left = left || strings.HasSuffix(e.Name, ".deleted")
				}
				if !left {
					break
				}
				if time.Now().After(deadline) {
					t.Fatalf("it is still there: %v", entries)
				}
				if _, err := c.replicas[1].Retain(); err != nil { // as it is done for all of them, again and again
					t.Fatal(err)
				}
			}
			if n := c.round(); n != 0 && what == "expired" || n > 1 {
				t.Errorf("%d of the next appends failed", n)
			}
			if err := c.shard.Stop(); err != nil {
				t.Error(err)
			}
		})
	}
}
