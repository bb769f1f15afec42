package segment

import (
	"sync"
	"testing"

	"ringmain/internal/vfs"
	"ringmain/model"
)

// A checkpoint, and a cleaning that notes how far it came, run while the partition is
// deleted. Nothing of it is in the checkpoints afterwards.
func TestDeletedPartitionLeavesNoCheckpoint(t *testing.T) {
	mem := vfs.NewMem()
	d := openDir(t, mem, "/data")
	io := NewPwritevIO()
	defer io.Close()
	for round := range 400 {
		l, _, err := d.OpenLog(testTP, model.TopicID{1, byte(round), byte(round >> 8)}, smallConfig())
		if err != nil {
			t.Fatal(err)
		}
		appendAll(t, io, l, 0, batchOf(t0, 1, 10))
		syncLog(t, io, l)
		var begun, done sync.WaitGroup
		for _, run := range []func() error{d.Checkpoint, func() error { return l.saveCleaned(1) }, func() error { return l.savePoint(0) }} {
			begun.Add(1)
			done.Go(func() {
				begun.Done()
				_ = run() // may come too late
			})
		}
		begun.Wait()
		if err := l.Delete(); err != nil {
			t.Fatal(err)
		}
		done.Wait()
		for _, c := range []*checkpoint{d.points, d.starts, d.cleaned} {
			if p, there := c.get(l.key()); there {
				t.Fatalf("round %d: %s has an entry of a deleted partition: %+v", round, c.path, p)
			}
		}
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestDiscardedPartitionLeavesNoCheckpoint(t *testing.T) {
	_, d, l := newMemLog(t)
	io := NewPwritevIO()
	defer io.Close()
	appendAll(t, io, l, 0, batchOf(t0, 1, 10))
	if err := l.AdvanceStart(1); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if err := d.Discard(testTP); err != nil {
		t.Fatal(err)
	}
	for _, c := range []*checkpoint{d.points, d.starts} {
		if p, there := c.get(l.key()); there {
			t.Errorf("%s has an entry of a discarded partition: %+v", c.path, p)
		}
	}
}
