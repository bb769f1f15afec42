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
