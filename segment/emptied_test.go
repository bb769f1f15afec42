package segment

import (
	"testing"
	"time"

	"ringmain/internal/vfs"
)

// A log that retention has emptied knows its producers, whatever the recovery point that
// was saved last says of an earlier time.
func TestEmptiedLogKnowsItsProducers(t *testing.T) {
	for _, checkpointed := range []bool{false, true} {
		mem := vfs.NewMem()
		io := NewPwritevIO()
		d := openDir(t, mem, "/data")
		cfg := smallConfig()
		cfg.RetentionMs = 1000
		l, _ := openLog(t, d, cfg)
		appendAll(t, io, l, 0, batchOf(t0, 3, 10))
		syncLog(t, io, l)
		if checkpointed {
			if err := d.Checkpoint(); err != nil {
				t.Fatal(err)
			}
		}
		appendAll(t, io, l, 0, produced(7, 0, 0, t0, 2), produced(7, 0, 2, t0, 2))
		syncLog(t, io, l)
		end := l.EndOffset()
		if _, err := l.Retain(t0 + 1_000_000); err != nil {
			t.Fatal(err)
		}
		if l.StartOffset() != end {
			t.Fatalf("the log begins at %d, want %d", l.StartOffset(), end)
		}
		for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
			if there, _ := vfs.Exists(mem, offsetPath(l.Path(), 0, logSuffix)); !there {
				break // the segment is removed in the background
			}
			if time.Now().After(deadline) {
				t.Fatal("the segment is still there")
			}
		}
		l, _ = openLog(t, openDir(t, mem.KillClone(), "/data"), cfg)
		if l.EndOffset() != end || len(l.Producers()) != 1 {
			t.Errorf("checkpointed %v: the log ends at %d, want %d, and knows %d producers", checkpointed, l.EndOffset(), end, len(l.Producers()))
		}
	}
}
