package segment

import (
	"errors"
	"log/slog"
	"testing"

	"ringmain/internal/vfs"
	"ringmain/model"
	"ringmain/record"
)

// openOne opens a directory on fs and one log in it.
func openOne(t *testing.T, fs vfs.FS) (*Dir, *Log) {
	t.Helper()
	d, err := OpenDir(fs, "/data", Ident{ClusterID: "c", NodeID: 1}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	l, _, err := d.OpenLog(model.TopicPartition{Topic: "t"}, model.NewTopicID(), DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	return d, l
}

func appendOne(t *testing.T, l *Log) {
	t.Helper()
	b := record.NewBuilder().Add(1, []byte("k"), []byte("v")).Build()
	if _, err := l.Stage(b, 0, 1, 1); err != nil {
		t.Fatal(err)
	}
	if errs := Flush(testIO(), []*Log{l}); errs != nil && errs[0] != nil {
		t.Fatal(errs[0])
	}
}

func TestEndSyncWithoutASyncRaisesNothing(t *testing.T) {
	_, l := openOne(t, vfs.NewMem())
	appendOne(t, l)
	_, upTo := l.BeginSync(nil)
	l.EndSync(upTo, false, errors.New("input/output error"))
	_, upTo = l.BeginSync(nil) // failed: hands out nothing
	l.EndSync(upTo, false, nil)
	if got := l.SyncedOffset(); got != 0 {
		t.Fatalf("synced offset %d after a failed sync and a result for none, want 0", got)
	}
}

func TestCloseDuringASyncIsRefused(t *testing.T) {
	_, l := openOne(t, vfs.NewMem())
	appendOne(t, l)
	l.BeginSync(nil)
	if err := l.Close(); err == nil {
		t.Fatal("a log closed while its sync was in flight says that all is on disk")
	}
}

func TestADeletionThatFailsLeavesThePlace(t *testing.T) {
	fs := vfs.NewFaulty(vfs.NewMem())
	d, l := openOne(t, fs)
	appendOne(t, l)
	fs.Inject(vfs.Rule{Op: vfs.OpRename, Times: 1, Err: errors.New("input/output error")})
	if err := l.Delete(); err == nil {
		t.Fatal("the deletion succeeded although its rename failed")
	}
	if err := d.Discard(l.TopicPartition()); err != nil {
		t.Fatalf("discarding what is left: %v", err)
	}
	if _, _, err := d.OpenLog(l.TopicPartition(), model.NewTopicID(), DefaultConfig()); err != nil {
		t.Fatalf("a topic of the same name: %v", err)
	}
}
