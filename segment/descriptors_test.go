package segment

import (
	"errors"
	"syscall"
	"testing"

	"ringmain/internal/vfs"
	"ringmain/model"
)

// Files with unsynced bytes are bounded: more are refused as a full disk is, and taken
// once the others are synced.
func TestUnsyncedFilesAreBounded(t *testing.T) {
	d := openDir(t, vfs.OS{}, t.TempDir()+"/data")
	defer d.Close()
	budget := NewFileBudget(16)
	budget.BoundUnsynced(20)
	d.UseFileBudget(budget)
	io := testIO()
	defer io.Close()
	var logs []*Log
	for p := range int32(30) {
		l, _, err := d.OpenLog(model.TopicPartition{Topic: "bounded", Partition: p}, testTopic, smallConfig())
		if err != nil {
			t.Fatal(err)
		}
		logs = append(logs, l)
	}
	write := func(logs []*Log) (refused []*Log) {
		t.Helper()
		for _, l := range logs {
			if _, err := l.Stage(batchOf(t0, 1, 1), 0, t0, t0); err != nil {
				t.Fatal(err)
			}
		}
		for i, err := range Flush(io, logs) {
			if err != nil && !errors.Is(err, ErrNoSpace) {
				t.Fatalf("%v, want ErrNoSpace", err)
			} else if err != nil {
				refused = append(refused, logs[i])
			}
		}
		return refused
	}
	refused := write(logs)
	if len(refused) != 10 || budget.Open() > 20 || !budget.Pressed() {
		t.Fatalf("%d of 30 logs were refused with %d files open; want 10 and at most 20", len(refused), budget.Open())
	}
	for _, l := range logs {
		if l.EndOffset() > 0 {
			syncLog(t, io, l)
		}
	}
	if budget.Open() > 16 {
		t.Errorf("%d files are open after their sync, want at most 16", budget.Open())
	}
	if again := write(refused); len(again) != 0 {
		t.Errorf("%d logs are refused after the others were synced", len(again))
	}
	for _, l := range logs {
		if l.EndOffset() != 1 {
			t.Errorf("%s ends at %d, want 1", l.TopicPartition(), l.EndOffset())
		}
		l.Close()
	}
}

// A sync that finds no descriptor for a directory has not begun: it waits for one.
func TestSyncWaitsForADescriptor(t *testing.T) {
	fault := vfs.NewFaulty(vfs.NewMem())
	d := openDir(t, fault, "/data")
	l, _ := openLog(t, d, smallConfig())
	io := testIO()
	defer io.Close()
	appendAll(t, io, l, 0, batchOf(t0, 1, 1))
	fault.Inject(vfs.Rule{Op: vfs.OpSyncDir, Err: syscall.EMFILE, Times: 3})
	syncLog(t, io, l)
	if l.Err() != nil || l.SyncedOffset() != 1 {
		t.Errorf("synced up to %d, %v; want 1", l.SyncedOffset(), l.Err())
	}
}

// However a log is found, each of its files is open once at most afterwards: what a start or a
// first read has looked into, and does not use, is closed.
func TestNoFileIsOpenTwice(t *testing.T) {
	for what, change := range map[string]func(t *testing.T, mem *vfs.Mem, bases []int64){
		"as it was": func(*testing.T, *vfs.Mem, []int64) {},
		"more bytes than the index knows": func(t *testing.T, mem *vfs.Mem, bases []int64) {
			path := offsetPath("/data/orders-3", bases[1], logSuffix)
			b, err := vfs.ReadFile(mem, path)
			if err != nil {
				t.Fatal(err)
			}
			if err := vfs.WriteFile(mem, path, append(b, make([]byte, 100)...), false); err != nil {
				t.Fatal(err)
			}
		},
		"a segment is missing": func(_ *testing.T, mem *vfs.Mem, bases []int64) {
			removeSegmentFiles(mem, bases[1], logSuffix)
		},
	} {
		for _, synced := range []int{1, 3} { // the segment in which the recovery point lies
			mem, d, l := newMemLog(t)
			io := testIO()
			for len(l.segs) < 5 {
				appendAll(t, io, l, 0, batchOf(t0, 1, 500))
				if size := l.active().size; len(l.segs) == synced && 2000 < size && size < 3000 {
					syncLog(t, io, l)
					if err := d.Checkpoint(); err != nil {
						t.Fatal(err)
					}
				}
			}
			var bases []int64
			for _, s := range l.segs {
				bases = append(bases, s.base)
			}
			io.Close()
			mem = mem.KillClone()
			change(t, mem, bases)
			d = openDir(t, mem, "/data")
			l, _ = openLog(t, d, smallConfig())
			for _, s := range l.segs {
				if r, err := l.Plan(s.base, l.EndOffset(), 1<<20, true); err == nil {
					r.Release()
				}
			}
			if path := openTwice(d); path != "" {
				t.Errorf("%s, synced in segment %d: %s is open twice", what, synced, path)
			}
		}
	}
}

func openTwice(d *Dir) (path string) {
	open := map[string]bool{}
	for _, f := range d.budget.files {
		if open[f.Path()] {
			return f.Path()
		}
		open[f.Path()] = true
	}
	return ""
}

// An index for which there is no room is tried again, with each roll and with each append.
func TestAnIndexThatCannotBeWrittenIsClosed(t *testing.T) {
	fault := vfs.NewFaulty(vfs.NewMem())
	d := openDir(t, fault, "/data")
	cfg := smallConfig()
	cfg.SegmentBytes, cfg.IndexIntervalBytes = 1<<20, 0
	l, _ := openLog(t, d, cfg)
	io := testIO()
	defer io.Close()
	fault.Inject(vfs.Rule{Op: vfs.OpWrite, Pattern: "*.index", Err: syscall.ENOSPC})
	for len(l.active().tail) < indexBlockMax+10 {
		appendAll(t, io, l, 0, batchOf(t0, 1, 1))
	}
	if path := openTwice(d); path != "" {
		t.Errorf("%s is open twice", path)
	}
	fault.Heal()
	appendAll(t, io, l, 0, batchOf(t0, 1, 1))
	if s := l.active(); s.idx == nil || s.idx.blocks != 1 {
		t.Errorf("it is not written when there is room again: %+v", s.idx)
	}
}
