package segment

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"ringmain/internal/vfs"
	"ringmain/model"
)

// cuts records what is truncated, indexes aside, which are where they are made.
type cuts struct {
	vfs.FS
	mu    sync.Mutex
	sizes map[string][]int64 // by path, in order
}

type cutsFile struct {
	vfs.File
	cuts *cuts
	name string
}

func (c *cuts) OpenFile(name string, flag int) (vfs.File, error) {
	f, err := c.FS.OpenFile(name, flag)
	if err != nil {
		return nil, err
	}
	return cutsFile{f, c, name}, nil
}

func (f cutsFile) Truncate(size int64) error {
	if !strings.HasSuffix(f.name, indexSuffix) {
		f.cuts.mu.Lock()
		f.cuts.sizes[f.name] = append(f.cuts.sizes[f.name], size)
		f.cuts.mu.Unlock()
	}
	return f.File.Truncate(size)
}

func (c *cuts) count() (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.sizes {
		n += len(s)
	}
	return n
}

// onlyDoomed checks that nothing but what has a doomed name was truncated, and that in
// steps.
func (c *cuts) onlyDoomed(t *testing.T, root string) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	for path, sizes := range c.sizes {
		inside, err := filepath.Rel(root, path)
		if err != nil || !strings.HasSuffix(strings.Split(inside, "/")[0], deletedSuffix) {
			t.Errorf("%s was truncated: %v", path, sizes)
		}
		for i, n := range sizes {
			if n%reapStep != 0 || i > 0 && sizes[i-1]-n != reapStep {
				t.Errorf("%s was truncated to %v, want steps of %d", path, sizes, reapStep)
				break
			}
		}
	}
}

// grownLog is a log of closed segments of one batch each, whose files were made larger, and
// an empty one behind them.
func grownLog(t *testing.T, d *Dir, tp model.TopicPartition, segments int, size int64, delayMs int64) *Log {
	t.Helper()
	cfg := smallConfig()
	cfg.SegmentBytes, cfg.DeleteDelayMs, cfg.RetentionBytes = 64, delayMs, 1
	l, _, err := d.OpenLog(tp, testTopic, cfg)
	if err != nil {
		t.Fatal(err)
	}
	io := testIO()
	defer io.Close()
	for range segments + 1 {
		appendAll(t, io, l, 1, batchOf(t0, 1, 64))
	}
	syncLog(t, io, l)
	for _, s := range l.segs[:segments] {
		if err := os.Truncate(s.file.Path(), size); err != nil { // a hole: it has a size and costs nothing
			t.Fatal(err)
		}
	}
	return l
}

// expire lets everything go but the newest segment.
func expire(t *testing.T, l *Log) {
	t.Helper()
	if n, err := l.Retain(t0); err != nil || n == 0 {
		t.Fatalf("retention: %d segments, %v", n, err)
	}
}

// leftovers lists what is doomed in a log directory.
func leftovers(t *testing.T, root string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(root, "*"+deletedSuffix))
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !is(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within 20 s: %s", what)
		}
	}
}

// Expired segments lose their names at once and their bytes in steps, and so do the files
// of a deleted partition.
func TestFilesAreFreedInSteps(t *testing.T) {
	root := t.TempDir() + "/data"
	fsys := &cuts{FS: vfs.OS{}, sizes: map[string][]int64{}}
	d := openDir(t, fsys, root)
	defer d.Close()
	const size = 40<<20 + 5
	l := grownLog(t, d, testTP, 4, size, 0)
	expire(t, l)
	eventually(t, "the expired segments have lost their names", func() bool {
		found, _ := filepath.Glob(l.Path() + "/*.log")
		return len(found) == 1
	})
	eventually(t, "they are removed", func() bool { return len(leftovers(t, root)) == 0 })
	if n := fsys.count(); n != 4*(size/reapStep) {
		t.Errorf("%d steps, want %d", n, 4*(size/reapStep))
	}
	if got := readAll(t, l, l.StartOffset(), 1<<20); len(got) != 1 {
		t.Errorf("%d batches are left, want 1", len(got))
	}
	for _, s := range l.segs {
		if err := os.Truncate(s.file.Path(), size); err != nil {
			t.Fatal(err)
		}
	}
	before := fsys.count()
	if err := l.Delete(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the partition is removed", func() bool { return len(leftovers(t, root)) == 0 })
	if n := fsys.count() - before; n != size/reapStep {
		t.Errorf("the partition went in %d steps, want %d", n, size/reapStep)
	}
	fsys.onlyDoomed(t, root)
}

// However much waits, it goes within a time that hardly depends on it.
func TestPauseShrinksWithTheBacklog(t *testing.T) {
	if p := pauseAfter(0); p != reapPause {
		t.Errorf("pause with nothing behind: %v", p)
	}
	if p := pauseAfter(5 * reapCalm); p != reapPause/5 {
		t.Errorf("pause with %d bytes behind: %v", int64(5*reapCalm), p)
	}
	for _, backlog := range []int64{1 << 30, 16 << 30, 1 << 40, 1 << 44} {
		total := time.Duration(0)
		half := backlog
		for ; half > backlog/2; half -= reapStep {
			total += pauseAfter(half)
		}
		if total > 5*time.Second {
			t.Errorf("half of %d bytes takes %v of pauses", backlog, total)
		}
	}
}

// A stop does not wait for what is to be removed; the next start goes on, in steps too.
func TestRemovalGoesOnAfterAStop(t *testing.T) {
	root := t.TempDir() + "/data"
	fsys := &cuts{FS: vfs.OS{}, sizes: map[string][]int64{}}
	d := openDir(t, fsys, root)
	const size = 100 << 30
	l := grownLog(t, d, testTP, 3, size, 0)
	expire(t, l)
	eventually(t, "a step was done", func() bool { return fsys.count() > 0 })
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(begin); took > 2*time.Second {
		t.Errorf("the stop took %v", took)
	}
	found := leftovers(t, root)
	if len(found) != 3 {
		t.Fatalf("left over: %v", found)
	}
	for _, path := range found { // the rest of this test in less time
		if err := os.Truncate(path, 30<<20); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(filepath.Join(root, "77"+deletedSuffix), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "77"+deletedSuffix, "half.log"), make([]byte, 6<<20), 0o644); err != nil {
		t.Fatal(err)
	}
	fsys.onlyDoomed(t, root)
	fsys.sizes = map[string][]int64{}
	d = openDir(t, fsys, root)
	defer d.Close()
	if _, rep := openLog(t, d, smallConfig()); rep.Damaged() || rep.CutBytes > 0 {
		t.Errorf("something was found wrong: %+v", rep)
	}
	eventually(t, "the rest is removed", func() bool { return len(leftovers(t, root)) == 0 })
	if n := fsys.count(); n != 3*7+1 {
		t.Errorf("%d steps, want %d", n, 3*7+1)
	}
	fsys.onlyDoomed(t, root)
}

// Who holds a range reads on: nothing is cut from its file, while others go.
func TestFilesOfReadersStayWhole(t *testing.T) {
	for _, way := range []string{"expired", "deleted", "opened again"} {
		t.Run(way, func(t *testing.T) {
			root := t.TempDir() + "/data"
			fsys := &cuts{FS: vfs.OS{}, sizes: map[string][]int64{}}
			d := openDir(t, fsys, root)
			defer d.Close()
			const size = 20 << 20
			delay := int64(0)
			if way == "opened again" {
				delay = 3600_000
			}
			l := grownLog(t, d, testTP, 3, size, delay)
			r, err := l.Plan(1, 2, 1<<20, true)
			if err != nil || r.N == 0 {
				t.Fatalf("%+v, %v", r, err)
			}
			switch way {
			case "expired":
				expire(t, l)
			case "deleted":
				if err := l.Delete(); err != nil {
					t.Fatal(err)
				}
			case "opened again": // which removes what is below the log start
				expire(t, l)
				if err := l.Close(); err != nil {
					t.Fatal(err)
				}
				openLog(t, d, smallConfig())
			}
			other := grownLog(t, d, model.TopicPartition{Topic: "other"}, 2, size, 0)
			expire(t, other)
			want := 2 * (size/reapStep - 1)
			if way != "deleted" { // all of it waits for the reader then
				want *= 2
			}
			eventually(t, "others are removed", func() bool {
				return fsys.count() == want && len(leftovers(t, root)) == 1
			})
			if st, err := os.Stat(leftovers(t, root)[0]); err != nil || !st.IsDir() && st.Size() != size {
				t.Errorf("the file that is read has %d bytes, want %d, %v", st.Size(), size, err)
			}
			if n, err := r.File.f.Size(); err != nil || n != size {
				t.Errorf("the reader's file has %d bytes, %v", n, err)
			}
			if _, err := r.Warm(); err != nil {
				t.Errorf("the range: %v", err)
			}
			r.Release()
			eventually(t, "it is removed too", func() bool { return len(leftovers(t, root)) == 0 })
			fsys.onlyDoomed(t, root)
		})
	}
}

// A backup of hard links keeps its bytes.
func TestFilesWithAnotherNameStayWhole(t *testing.T) {
	root := t.TempDir() + "/data"
	fsys := &cuts{FS: vfs.OS{}, sizes: map[string][]int64{}}
	d := openDir(t, fsys, root)
	defer d.Close()
	l := grownLog(t, d, testTP, 1, 20<<20, 0)
	copied := t.TempDir() + "/backup"
	if err := os.Link(l.segs[0].file.Path(), copied); err != nil {
		t.Fatal(err)
	}
	expire(t, l)
	eventually(t, "it is removed", func() bool {
		_, err := os.Stat(offsetPath(l.Path(), 0, logSuffix))
		return os.IsNotExist(err) && len(leftovers(t, root)) == 0
	})
	if st, err := os.Stat(copied); err != nil || st.Size() != 20<<20 || fsys.count() > 0 {
		t.Errorf("the copy: %+v, %v, %d truncations", st, err, fsys.count())
	}
}

// compactable is a log of two synced segments, each of so many batches of 1 MiB, that may be
// joined to one.
func compactable(t *testing.T, d *Dir, each int) (*Log, Config) {
	t.Helper()
	cfg := smallConfig()
	cfg.SegmentBytes, cfg.CompactPolicy, cfg.DeletePolicy = 64<<20, true, false
	l, _ := openLog(t, d, cfg)
	io := testIO()
	defer io.Close()
	for range 2 {
		for range each {
			appendAll(t, io, l, 0, batchOf(t0, 1, 1<<20))
		}
		l.roll()
	}
	syncLog(t, io, l)
	l.raisePoint(l.pointNow())
	return l, cfg
}

// It keeps those of what compaction replaces as well.
func TestReplacedFilesWithAnotherNameStayWhole(t *testing.T) {
	root := t.TempDir() + "/data"
	fsys := &cuts{FS: vfs.OS{}, sizes: map[string][]int64{}}
	d := openDir(t, fsys, root)
	defer d.Close()
	l, cfg := compactable(t, d, 9)
	sizes := map[string]int64{}
	for _, s := range l.segs[:2] {
		copied := filepath.Join(t.TempDir(), offsetName(s.base, logSuffix))
		if err := os.Link(s.file.Path(), copied); err != nil {
			t.Fatal(err)
		}
		sizes[copied] = s.size
	}
	got, err := l.Clean(CleanOptions{Config: cfg, Stable: l.EndOffset(), NowMs: t0, MapBytes: 1 << 20, MapLoad: 0.9,
		Pace: func(int) error { return nil }, Replace: l.Replace})
	if err != nil || got.Segments != 2 {
		t.Fatalf("%+v, %v", got, err)
	}
	other := grownLog(t, d, model.TopicPartition{Topic: "other"}, 1, 1000, 0)
	expire(t, other)
	eventually(t, "what expired later is removed", func() bool {
		_, err := os.Stat(offsetPath(other.Path(), 0, logSuffix))
		return os.IsNotExist(err) && len(leftovers(t, root)) == 0
	})
	for copied, size := range sizes {
		if st, err := os.Stat(copied); err != nil || st.Size() != size {
			t.Errorf("the copy of %d bytes: %+v, %v", size, st, err)
		}
	}
}

// An expired segment whose topic is deleted and made again meanwhile does not take the new
// topic's segment of its name with it.
func TestANewTopicKeepsItsSegments(t *testing.T) {
	root := t.TempDir() + "/data"
	d := openDir(t, vfs.OS{}, root)
	defer d.Close()
	l := grownLog(t, d, testTP, 1, 1000, 200)
	expire(t, l)
	if err := l.Delete(); err != nil {
		t.Fatal(err)
	}
	again, _, err := d.OpenLog(testTP, model.TopicID{9}, smallConfig())
	if err != nil {
		t.Fatal(err)
	}
	io := testIO()
	defer io.Close()
	appendAll(t, io, again, 1, batchOf(t0, 1, 64))
	other := grownLog(t, d, model.TopicPartition{Topic: "other"}, 1, 1000, 200)
	expire(t, other)
	eventually(t, "a segment that expired later is removed", func() bool {
		_, err := os.Stat(offsetPath(other.Path(), 0, logSuffix))
		return os.IsNotExist(err)
	})
	if _, err := os.Stat(offsetPath(again.Path(), 0, logSuffix)); err != nil {
		t.Errorf("the new topic's segment: %v", err)
	}
}

// What compaction replaces is freed in steps as well: the file whose name the cleaned one has
// taken, while who reads it keeps it whole, and those that were joined to it.
func TestReplacedFilesAreFreedInSteps(t *testing.T) {
	root := t.TempDir() + "/data"
	fsys := &cuts{FS: vfs.OS{}, sizes: map[string][]int64{}}
	d := openDir(t, fsys, root)
	defer d.Close()
	l, cfg := compactable(t, d, 13)
	held, err := l.Plan(0, l.EndOffset(), 1<<20, true)
	if err != nil || held.N == 0 {
		t.Fatalf("%+v, %v", held, err)
	}
	got, err := l.Clean(CleanOptions{Config: cfg, Stable: l.EndOffset(), NowMs: t0, MapBytes: 1 << 20, MapLoad: 0.9,
		Pace: func(int) error { return nil }, Replace: l.Replace})
	if err != nil || got.Segments != 2 {
		t.Fatalf("%+v, %v", got, err)
	}
	eventually(t, "the joined one is freed in 3 steps", func() bool { return fsys.count() == 3 })
	if good, err := held.Warm(); err != nil || len(bytesOf(t, good)) != 1 {
		t.Errorf("who read the old file reads %d bytes: %v", good.N, err)
	}
	held.Release()
	eventually(t, "the replaced one is freed in 3 steps", func() bool { return fsys.count() == 6 })
	eventually(t, "nothing is left", func() bool { return len(leftovers(t, root)) == 0 })
	if got := readAll(t, l, 0, 1<<20); len(got) != 2 || got[1].LastOffset() != 25 {
		t.Errorf("%d batches are left, want the newest record and the end of the first segment", len(got))
	}
}

// TestReaperPausesForAppendsOnly: with nobody to hold up, one step follows the other.
func TestReaperPausesForAppendsOnly(t *testing.T) {
	fsys := vfs.NewMem()
	d := openDir(t, fsys, "/data")
	defer d.Close()
	const path = "/data/1.deleted"
	if err := vfs.WriteFile(fsys, path, make([]byte, 5*reapStep), false); err != nil {
		t.Fatal(err)
	}
	r := newReaper(d)
	r.doomed = []*doomed{{path: path, files: []doomedFile{{path: path, size: 5 * reapStep}}}}
	for i, appended := range []bool{false, true, false, true} {
		want := time.Duration(0)
		if appended {
			d.appends.Add(1)
			want = reapPause
		}
		if wait, worked := r.step(); !worked || wait != want {
			t.Errorf("step %d, appended meanwhile: %v: pause %v (worked: %v), want %v", i, appended, wait, worked, want)
		}
	}
}
