package segment

import (
	"errors"
	"os"
	"strings"
	"testing"

	"ringmain/internal/vfs"
	"ringmain/model"
)

func TestOpenDirFormatsOnceAndKnowsItself(t *testing.T) {
	path := t.TempDir() + "/a/b"
	d, err := OpenDir(vfs.OS{}, path, Ident{NodeID: 4}, quiet)
	if err != nil {
		t.Fatal(err)
	}
	id := d.Ident()
	if len(id.ClusterID) != 22 || id.NodeID != 4 || id.DirectoryID.IsZero() || !d.WasClean() {
		t.Errorf("identity %+v, clean %v", id, d.WasClean())
	}
	if _, err := OpenDir(vfs.OS{}, path, Ident{NodeID: 4}, quiet); !errors.Is(err, ErrLocked) {
		t.Errorf("a second process: %v", err)
	}
	d.Close()
	d, err = OpenDir(vfs.OS{}, path, Ident{NodeID: 4}, quiet) // not marked clean
	if err != nil || d.Ident() != id || d.WasClean() {
		t.Fatalf("again: %+v, clean %v, %v", d.Ident(), d.WasClean(), err)
	}
	if err := d.MarkClean(); err != nil {
		t.Fatal(err)
	}
	d.Close()
	for _, wrong := range []Ident{{NodeID: 5}, {ClusterID: "another", NodeID: 4}} {
		if _, err := OpenDir(vfs.OS{}, path, wrong, quiet); !errors.Is(err, ErrIdentity) {
			t.Errorf("opened as %+v: %v", wrong, err)
		}
	}
	d, err = OpenDir(vfs.OS{}, path, id, quiet)
	if err != nil || !d.WasClean() {
		t.Fatalf("clean %v, %v", d != nil && d.WasClean(), err)
	}
	d.Close()
}

// What is not ours is refused and stays as it is, byte by byte and name by
// name.
func TestForeignDirectoriesAreNotTouched(t *testing.T) {
	for name, x := range map[string]struct {
		files map[string]string
		err   error
		says  string
	}{
		"kafka":          {map[string]string{"meta.properties": "version=1\nnode.id=1\n", "bootstrap.checkpoint": "x"}, ErrForeign, "Apache Kafka"},
		"other":          {map[string]string{"notes.txt": "mine"}, ErrForeign, "notes.txt"},
		"newer":          {map[string]string{identityName: "format=2\nfuture=yes\nchecksum=00000000\n"}, ErrNewer, "format 2"},
		"damaged":        {map[string]string{identityName: "format=1\ncluster.id=x\nnode.id=1\ndirectory.id=AAAAAAAAAAAAAAAAAAAAAA\nchecksum=00000000\n"}, ErrCorrupt, identityName},
		"empty identity": {map[string]string{identityName: ""}, ErrCorrupt, identityName},
	} {
		t.Run(name, func(t *testing.T) {
			path := t.TempDir()
			for f, text := range x.files {
				if err := os.WriteFile(path+"/"+f, []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			_, err := OpenDir(vfs.OS{}, path, testIdent, quiet)
			if !errors.Is(err, x.err) || !strings.Contains(err.Error(), x.says) || !strings.Contains(err.Error(), path) {
				t.Fatalf("got %v, want %v naming %q and the directory", err, x.err, x.says)
			}
			es, _ := os.ReadDir(path)
			for _, e := range es {
				b, _ := os.ReadFile(path + "/" + e.Name())
				if e.Name() != lockName && string(b) != x.files[e.Name()] {
					t.Errorf("%s was changed or made", e.Name())
				}
			}
			if x.err == ErrForeign && len(es) != len(x.files) {
				t.Errorf("%d names, want %d", len(es), len(x.files))
			}
		})
	}
}

func TestInterruptedFormatIsFinished(t *testing.T) {
	path := t.TempDir()
	os.WriteFile(path+"/"+lockName, nil, 0o644)
	os.WriteFile(path+"/"+identityName+tmpSuffix, []byte("for"), 0o644)
	os.Mkdir(path+"/lost+found", 0o755)
	d, err := OpenDir(vfs.OS{}, path, testIdent, quiet)
	if err != nil {
		t.Fatal(err)
	}
	d.Close()
}

func TestAnotherTopicsDirectoryIsRefused(t *testing.T) {
	mem, _, l := newMemLog(t)
	io := testIO()
	defer io.Close()
	appendAll(t, io, l, 0, batchOf(t0, 1, 10))
	mem = mem.KillClone()
	d := openDir(t, mem, "/data")
	newID := model.TopicID{8, 8}
	if _, _, err := d.OpenLog(testTP, newID, smallConfig()); !errors.Is(err, ErrTopicID) {
		t.Fatalf("another id: %v", err)
	}
	if id, err := d.TopicIDOf(testTP); err != nil || id != testTopic {
		t.Errorf("id on disk: %v, %v", id, err)
	}
	if err := d.Discard(testTP); err != nil {
		t.Fatal(err)
	}
	l, _, err := d.OpenLog(testTP, newID, smallConfig())
	if err != nil || l.EndOffset() != 0 {
		t.Fatalf("after Discard: %v", err)
	}
	if err := d.Discard(testTP); err == nil {
		t.Error("an open log was discarded")
	}
	if _, _, err := d.OpenLog(testTP, newID, smallConfig()); err == nil {
		t.Error("opened twice")
	}
}

func TestDeletedPartitionStaysDeletedAfterAKill(t *testing.T) {
	mem, _, l := newMemLog(t)
	io := testIO()
	defer io.Close()
	appendAll(t, io, l, 0, batchOf(t0, 1, 10))
	if err := l.Delete(); err != nil {
		t.Fatal(err)
	}
	d := openDir(t, mem.KillClone(), "/data")
	if tps, err := d.Partitions(); err != nil || len(tps) != 0 {
		t.Fatalf("partitions %v, %v", tps, err)
	}
	l, _ = openLog(t, d, smallConfig())
	if l.EndOffset() != 0 {
		t.Errorf("log end %d", l.EndOffset())
	}
}

// DeleteRecords and the next offset of an emptied partition hold over a kill
// and a power cut.
func TestLogStartHolds(t *testing.T) {
	mem, _, l := newMemLog(t)
	io := testIO()
	defer io.Close()
	for range 30 {
		appendAll(t, io, l, 0, batchOf(t0, 1, 300))
	}
	syncLog(t, io, l)
	if err := l.AdvanceStart(31); !errors.Is(err, ErrOffsetOutOfRange) {
		t.Errorf("start above the end: %v", err)
	}
	if err := l.AdvanceStart(13); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		mem = mem.KillClone()
		d := openDir(t, mem, "/data")
		l, _ = openLog(t, d, smallConfig())
		if l.StartOffset() != 13 || l.EndOffset() != 30 {
			t.Fatalf("offsets %d to %d, want 13 to 30", l.StartOffset(), l.EndOffset())
		}
	}
	if _, err := l.Plan(12, 30, 100, true); !errors.Is(err, ErrOffsetOutOfRange) {
		t.Errorf("plan below the start: %v", err)
	}
	syncLog(t, io, l)
	if err := l.AdvanceStart(30); err != nil {
		t.Fatal(err)
	}
	if n, err := l.Retain(t0); err != nil || n == 0 || l.Size() != 0 {
		t.Fatalf("retain: %d segments, %d bytes left, %v", n, l.Size(), err)
	}
	if _, ok, err := l.MaxTimestamp(30); ok || err != nil {
		t.Errorf("largest timestamp of an empty log: %v, %v", ok, err)
	}
	waitFor(t, "the files to go", func() bool {
		es, _ := mem.ReadDir("/data/orders-3")
		for _, e := range es {
			if strings.HasSuffix(e.Name, logSuffix) {
				return false
			}
		}
		return true
	})
	for range 2 {
		mem = mem.KillClone()
		d := openDir(t, mem, "/data")
		l, _ = openLog(t, d, smallConfig())
		if l.StartOffset() != 30 || l.EndOffset() != 30 {
			t.Fatalf("an emptied log has %d to %d, want 30 to 30", l.StartOffset(), l.EndOffset())
		}
	}
	if base := appendAll(t, io, l, 0, batchOf(t0, 1, 1)); base != 30 {
		t.Errorf("append at %d, want 30", base)
	}
}

func TestRetention(t *testing.T) {
	_, _, l := newMemLog(t)
	io := testIO()
	defer io.Close()
	for i := range 60 {
		appendAll(t, io, l, 0, batchOf(t0+int64(i)*1000, 1, 300))
	}
	segments := l.SegmentCount()
	cfg := smallConfig()
	cfg.RetentionMs = 20_000
	set := func(f func(c *Config)) { f(&cfg); l.SetConfig(cfg) }

	set(func(c *Config) {})
	if n, _ := l.Retain(t0 + 40_000); n != 0 {
		t.Errorf("%d segments went before they were synced", n)
	}
	syncLog(t, io, l)
	set(func(c *Config) { c.DeletePolicy = false })
	if n, _ := l.Retain(t0 + 1e9); n != 0 {
		t.Errorf("%d segments went without the delete policy", n)
	}
	set(func(c *Config) { c.DeletePolicy = true })
	n, err := l.Retain(t0 + 40_000) // all wholly before +20 s
	if err != nil || n == 0 || n >= segments {
		t.Fatalf("by time: %d of %d segments, %v", n, segments, err)
	}
	for _, b := range readAll(t, l, l.StartOffset(), 1<<20)[:12] {
		if b.MaxTimestamp() >= t0+40_000 {
			t.Errorf("the first segment left has nothing that is 20 s old or younger, or too much went")
		}
	}
	if l.StartOffset() > 20 {
		t.Errorf("log start %d: records younger than the retention went", l.StartOffset())
	}
	size := l.Size()
	set(func(c *Config) { c.RetentionMs = -1; c.RetentionBytes = size / 2 })
	if n, err := l.Retain(t0); err != nil || n == 0 || l.Size() < size/2 || l.Size() > size/2+8192 {
		t.Errorf("by size: %d segments, %d bytes left of %d, %v", n, l.Size(), size, err)
	}
	set(func(c *Config) { c.RetentionBytes = 1 })
	if n, err := l.Retain(t0); err != nil || n == 0 || len(l.segs) != 1 || l.Size() == 0 {
		t.Errorf("by size, to one byte: %d segments, %d left with %d bytes, %v", n, len(l.segs), l.Size(), err)
	}
	for _, limit := range []func(*Config){
		func(c *Config) { c.RetentionMs = 0; c.RetentionBytes = -1 },
		func(c *Config) { c.RetentionMs = -1; c.RetentionBytes = 0 },
	} {
		set(limit)
		end := l.EndOffset()
		if n, err := l.Retain(t0 + 1e9); err != nil || n == 0 || l.Size() != 0 || l.StartOffset() != end || l.EndOffset() != end {
			t.Errorf("everything: %d segments, %d bytes, offsets %d to %d, %v", n, l.Size(), l.StartOffset(), l.EndOffset(), err)
		}
		if base := appendAll(t, io, l, 0, batchOf(t0, 1, 1)); base != end {
			t.Errorf("append at %d, want %d", base, end)
		}
		syncLog(t, io, l)
	}
}

func TestRollByTimeAsKafkaDoes(t *testing.T) {
	_, _, l := newMemLog(t)
	io := testIO()
	defer io.Close()
	cfg := smallConfig()
	cfg.SegmentMs = 10_000
	l.SetConfig(cfg)
	for _, x := range []struct {
		ts       int64
		segments int
	}{{t0, 1}, {t0 + 10_000, 1}, {t0 + 10_001, 2}, {t0 + 5_000, 2}, {t0 + 20_002, 3}} {
		appendAll(t, io, l, 0, batchOf(x.ts, 1, 1))
		if n := l.SegmentCount(); n != x.segments {
			t.Errorf("after +%d ms: %d segments, want %d", x.ts-t0, n, x.segments)
		}
	}
	// Without timestamps the wall clock counts.
	_, _, l = newMemLog(t)
	l.SetConfig(cfg)
	for i, now := range []int64{t0, t0 + 10_000, t0 + 10_001} {
		if _, err := l.Stage(batchOf(-1, 1, 1), 0, -1, now); err != nil {
			t.Fatal(err)
		}
		if errs := Flush(io, []*Log{l}); errs != nil {
			t.Fatal(errs)
		}
		if n, want := l.SegmentCount(), 1+i/2; n != want {
			t.Errorf("no timestamps, after %d ms: %d segments, want %d", now-t0, n, want)
		}
	}
}

// Kafka's time index of n bytes is full with n/12-1 entries, and a segment is
// never closed before it has a batch.
func TestRollByIndexSizeAsKafkaDoes(t *testing.T) {
	for limit, perSegment := range map[int32]int64{4: 1, 12: 1, 24: 2, 35: 2, 36: 3, 120: 10} {
		_, _, l := newMemLog(t)
		io := testIO()
		cfg := smallConfig()
		cfg.SegmentBytes, cfg.IndexIntervalBytes, cfg.IndexMaxBytes = 1<<30, 0, limit
		l.SetConfig(cfg)
		for i := range int64(25) {
			if base := appendAll(t, io, l, 0, batchOf(t0+i, 1, 1)); base != i {
				t.Fatalf("limit %d: batch %d at offset %d", limit, i, base)
			}
			if n, want := int64(l.SegmentCount()), 1+i/perSegment; n != want {
				t.Errorf("limit %d, %d batches: %d segments, want %d", limit, i+1, n, want)
			}
		}
		io.Close()
	}
}

func TestEpochAnswers(t *testing.T) {
	_, _, l := newMemLog(t)
	io := testIO()
	defer io.Close()
	if e, o := l.EpochEnd(0); e != -1 || o != -1 {
		t.Errorf("no epoch known: %d, %d", e, o)
	}
	l.StartEpoch(2)
	if e, o := l.EpochEnd(2); e != 2 || o != 0 || l.LatestEpoch() != 2 || l.EpochAt(0) != 2 {
		t.Errorf("a leader without records: %d, %d", e, o)
	}
	appendAll(t, io, l, 2, batchOf(t0, 3, 1))
	l.StartEpoch(5)
	appendAll(t, io, l, 5, batchOf(t0, 2, 1))
	l.StartEpoch(7)
	for _, x := range []struct {
		ask, epoch int32
		end        int64
	}{{0, 0, 0}, {1, 1, 0}, {2, 2, 3}, {3, 2, 3}, {4, 2, 3}, {5, 5, 5}, {6, 5, 5}, {7, 7, 5}, {8, -1, -1}, {-1, -1, -1}} {
		if e, o := l.EpochEnd(x.ask); e != x.epoch || o != x.end {
			t.Errorf("end of epoch %d: %d, %d; want %d, %d", x.ask, e, o, x.epoch, x.end)
		}
	}
	for offset, want := range map[int64]int32{0: 2, 2: 2, 3: 5, 4: 5, 5: 7} {
		if got := l.EpochAt(offset); got != want {
			t.Errorf("epoch at %d: %d, want %d", offset, got, want)
		}
	}
}
