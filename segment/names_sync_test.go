package segment

import (
	"errors"
	"sync"
	"syscall"
	"testing"

	"ringmain/internal/vfs"
	"ringmain/model"
)

// dirSyncs counts the syncs of directories. While it watches, that of one fails, and none
// but that of the root ends before two are under way.
type dirSyncs struct {
	vfs.FS
	root, broken string
	mu           sync.Mutex
	begun        map[string]int // nil: it does not watch
	inside       int
	two          chan struct{} // closed once two are under way
}

func (d *dirSyncs) SyncDir(name string) error {
	d.mu.Lock()
	watched := d.begun != nil
	if watched {
		d.begun[name]++
		if name != d.root {
			if d.inside++; d.inside == 2 {
				close(d.two)
			}
		}
	}
	d.mu.Unlock()
	if watched && name != d.root {
		<-d.two
		if name == d.broken {
			return syscall.EIO
		}
	}
	return d.FS.SyncDir(name)
}

// Of many new partitions each directory is synced once, several at a time, and one that
// fails takes none of the others with it.
func TestNamesOfManyNewFilesAreSyncedTogether(t *testing.T) {
	fsys := &dirSyncs{FS: vfs.OS{}, root: t.TempDir() + "/data", two: make(chan struct{})}
	d := openDir(t, fsys, fsys.root)
	defer d.Close()
	io := testIO()
	defer io.Close()
	var logs []*Log
	var ds []Dirty
	for i := range int32(40) {
		l, _, err := d.OpenLog(model.TopicPartition{Topic: "new", Partition: i}, testTopic, DefaultConfig())
		if err != nil {
			t.Fatal(err)
		}
		appendAll(t, io, l, 1, batchOf(t0, 1, 1))
		ds, _ = l.BeginSync(ds)
		logs = append(logs, l)
	}
	const broken = 7
	fsys.mu.Lock()
	fsys.begun, fsys.broken = map[string]int{}, logs[broken].Path()
	fsys.mu.Unlock()
	errs := io.Sync(filesOf(nil, ds))
	if len(errs) != len(logs) || !errors.Is(errs[broken], syscall.EIO) {
		t.Fatalf("errors %v, want EIO of %s", errs, logs[broken].Path())
	}
	for i, l := range logs {
		if i != broken && errs[i] != nil {
			t.Errorf("%s: %v", l.Path(), errs[i])
		}
		if n := fsys.begun[l.Path()]; n != 1 {
			t.Errorf("%s was synced %d times", l.Path(), n)
		}
		if fresh := l.segs[0].file.fresh.Load(); fresh != (i == broken) {
			t.Errorf("%s: its name counts as durable: %v", l.Path(), !fresh)
		}
		l.EndSync(1, false, errs[i])
		if err := l.Close(); (err != nil) != (i == broken) {
			t.Errorf("close %s: %v", l.Path(), err)
		}
	}
	if n := fsys.begun[fsys.root]; n != 1 {
		t.Errorf("the root was synced %d times", n)
	}
}
