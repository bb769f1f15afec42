package segment

import (
	"errors"
	"math/rand/v2"
	"sync"
	"syscall"
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

// A checkpoint is written anew while descriptors run out, before or after the new file has
// its name. What is put afterwards is in the file that a restart reads.
func TestCheckpointIsWrittenAnewWithoutDescriptors(t *testing.T) {
	const path = "/data/" + startsName
	for what, rule := range map[string]vfs.Rule{
		"for the new file":      {Op: vfs.OpOpen, Pattern: startsName + ".tmp"},
		"for its name":          {Op: vfs.OpSyncDir, Pattern: "data"},
		"to open the new file":  {Op: vfs.OpOpen, Pattern: startsName},
		"for anything any more": {Op: vfs.OpOpen},
	} {
		for _, again := range []int{1, 3} { // so many times they are not there
			mem := vfs.NewMem()
			if err := errors.Join(mem.MkdirAll("/data"), mem.SyncDir("/")); err != nil {
				t.Fatal(err)
			}
			fault := vfs.NewFaulty(mem)
			c, err := openCheckpoint(fault, path, 2, quiet)
			if err != nil {
				t.Fatal(err)
			}
			key := pointKey{testTopic, 3}
			put := func(offset int64) {
				t.Helper()
				if err := c.put([]pointKey{key}, []point{{offset: offset}}); err != nil {
					t.Fatalf("%s, %d times: %v", what, again, err)
				}
			}
			offset := int64(0)
			for ; !c.mostlyOld(); offset++ {
				put(offset)
			}
			rule.Err, rule.Times = syscall.EMFILE, again
			fault.Inject(rule)
			for range again {
				_ = c.sync() // says so, or does without
			}
			fault.Heal()
			put(offset)
			for _, synced := range []bool{false, true} {
				if synced {
					if err := c.sync(); err != nil {
						t.Errorf("%s, %d times: sync: %v", what, again, err)
					}
				}
				found, err := openCheckpoint(mem.KillClone(), path, 2, quiet)
				if err != nil {
					t.Fatal(err)
				}
				if p, _ := found.get(key); p.offset != offset {
					t.Errorf("%s, %d times, synced %v: a restart finds offset %d, want %d", what, again, synced, p.offset, offset)
				}
			}
			rng := rand.New(rand.NewPCG(1, 2))
			for range 20 {
				found, err := openCheckpoint(mem.CrashClone(rng), path, 2, quiet)
				if err != nil {
					t.Fatal(err)
				}
				if p, _ := found.get(key); p.offset != offset {
					t.Errorf("%s, %d times: a start after a power cut finds offset %d, want %d", what, again, p.offset, offset)
				}
			}
		}
	}
}
