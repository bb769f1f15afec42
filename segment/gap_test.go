package segment

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"testing"

	"ringmain/internal/vfs"
)

// sixSegments is a log of one record a batch, all of one size, each a millisecond after the one
// before.
func sixSegments(t *testing.T, clean bool) (mem *vfs.Mem, bases []int64, end int64) {
	t.Helper()
	mem, d, l := newMemLog(t)
	io := testIO()
	defer io.Close()
	for len(l.segs) < 6 {
		appendAll(t, io, l, 0, batchOf(t0+l.EndOffset(), 1, 500))
	}
	syncLog(t, io, l)
	for _, s := range l.segs {
		bases = append(bases, s.base)
	}
	end = l.EndOffset()
	if !clean {
		return mem.KillClone(), bases, end
	}
	if err := errors.Join(l.Close(), d.MarkClean(), d.Close()); err != nil {
		t.Fatal(err)
	}
	return mem, bases, end
}

// takesAway is how records go that leave no trace inside of a segment: at its boundary.
var takesAway = map[string]struct {
	first, to int // segments that are gone, or the one whose last batch is
	do        func(t *testing.T, mem *vfs.Mem, bases []int64)
	named     string
}{
	"a segment and its index": {2, 3, func(t *testing.T, mem *vfs.Mem, bases []int64) {
		removeSegmentFiles(mem, bases[2], logSuffix, indexSuffix, snapshotSuffix)
	}, "1"},
	"two segments and their indexes, and the index before": {2, 4, func(t *testing.T, mem *vfs.Mem, bases []int64) {
		removeSegmentFiles(mem, bases[1], indexSuffix)
		removeSegmentFiles(mem, bases[2], logSuffix, indexSuffix)
		removeSegmentFiles(mem, bases[3], logSuffix, indexSuffix)
	}, "1"},
	"a segment": {2, 3, func(t *testing.T, mem *vfs.Mem, bases []int64) {
		removeSegmentFiles(mem, bases[2], logSuffix)
	}, "2"},
	"the first segments and their indexes": {0, 2, func(t *testing.T, mem *vfs.Mem, bases []int64) {
		removeSegmentFiles(mem, bases[0], logSuffix, indexSuffix)
		removeSegmentFiles(mem, bases[1], logSuffix, indexSuffix)
	}, ""},
	"the last segment and its index": {5, 6, func(t *testing.T, mem *vfs.Mem, bases []int64) {
		removeSegmentFiles(mem, bases[5], logSuffix, indexSuffix, snapshotSuffix)
	}, "4"},
	"the last batches and the index": {-2, 2, func(t *testing.T, mem *vfs.Mem, bases []int64) {
		removeSegmentFiles(mem, bases[1], indexSuffix)
		cutBatches(t, mem, bases[1], bases[2])
	}, "1"},
	"the last batches": {-2, 2, func(t *testing.T, mem *vfs.Mem, bases []int64) {
		cutBatches(t, mem, bases[1], bases[2])
	}, "1"},
}

func removeSegmentFiles(mem *vfs.Mem, base int64, suffixes ...string) {
	for _, suffix := range suffixes {
		mem.Remove(offsetPath("/data/orders-3", base, suffix))
	}
}

// cutBatches takes the last two batches off a segment of batches of one size.
func cutBatches(t *testing.T, mem *vfs.Mem, base, next int64) {
	t.Helper()
	f, err := mem.OpenFile(offsetPath("/data/orders-3", base, logSuffix), os.O_RDWR)
	if err != nil {
		t.Fatal(err)
	}
	size, _ := f.Size()
	f.Truncate(size - size/(next-base)*2)
}

// Records are gone at the boundary of two segments, so that what is left reads as if there
// had never been any. At every start, after a clean stop or a kill, they are refused to
// readers and named in the log with a file; verify names them; what repair has accepted is
// gone round, and named no more.
func TestGapAtABoundaryIsNeverPassedOver(t *testing.T) {
	for name, c := range takesAway {
		for _, stopped := range []string{"cleanly", "by a kill"} {
			if stopped != "cleanly" && c.to == 6 {
				continue // how far it had come is known less exactly: TestNewestSegmentIsMissingAfterAKill
			}
			t.Run(name+", stopped "+stopped, func(t *testing.T) {
				mem, bases, end := sixSegments(t, stopped == "cleanly")
				bases = append(bases, end)
				from, to := bases[max(c.first, 0)], bases[c.to]
				if c.first < 0 {
					from = to - 2
				}
				c.do(t, mem, bases)
				lost := 0
				for _, f := range wrong(verifiedAndClosed(t, mem)) {
					if f.From <= from && to <= f.To {
						lost++
					}
				}
				if lost != 1 {
					t.Errorf("verify names offsets %d to %d in %d findings", from, to, lost)
				}
				for start := range 4 {
					end = servesAllBut(t, mem, from, to, end, c.named, bases)
					if start == 1 { // and after a kill
						mem = mem.KillClone()
					}
				}
				v := verified(t, mem)
				if err := errors.Join(v.Repair(), v.Close()); err != nil {
					t.Fatal(err)
				}
				if v := verifiedAndClosed(t, mem); len(v.Findings) > 0 {
					t.Errorf("after the repair: %+v", v.Findings)
				}
				for range 2 {
					accepts(t, mem, from, to, end)
				}
			})
		}
	}
}

func verifiedAndClosed(t *testing.T, mem *vfs.Mem) *Verifier {
	t.Helper()
	v := verified(t, mem)
	v.Close()
	return v
}

// servesAllBut opens the log, reads at every offset twice, goes on and stops cleanly.
func servesAllBut(t *testing.T, mem *vfs.Mem, from, to, end int64, named string, bases []int64) int64 {
	t.Helper()
	var said strings.Builder
	d, err := OpenDir(mem, "/data", testIdent, slog.New(slog.NewTextHandler(&said, nil)))
	if err != nil {
		t.Fatal(err)
	}
	l, _ := openLog(t, d, smallConfig())
	for again := range 2 {
		for o := range end {
			r, err := l.Plan(o, end, 1, true)
			lost := from <= o && o < to
			if refused := errors.Is(err, ErrCorrupt) || from == 0 && errors.Is(err, ErrOffsetOutOfRange); err != nil && !refused || refused != lost {
				t.Errorf("read %d at %d: %v; lost: %v", again, o, err, lost)
			}
			if err == nil {
				if bs := bytesOf(t, r); len(bs) != 1 || bs[0].BaseOffset() != o {
					t.Errorf("read %d at %d gives %d batches", again, o, len(bs))
				}
				r.Release()
			}
		}
	}
	if base := appendAll(t, testIO(), l, 0, batchOf(t0, 1, 500)); base != end {
		t.Fatalf("append at %d, want %d", base, end)
	}
	if err := errors.Join(l.Close(), d.MarkClean(), d.Close()); err != nil {
		t.Fatal(err)
	}
	file := "/data/orders-3"
	if named != "" {
		file = offsetPath(file, bases[named[0]-'0'], logSuffix)
	}
	if want := fmt.Sprintf("lost_from=%d lost_to=%d", from, to); strings.Count(said.String(), want) != 1 || !strings.Contains(said.String(), "file="+file) {
		t.Errorf("the log does not say once that %s of %s:\n%s", want, file, said.String())
	}
	return end + 1
}

// accepts opens a repaired log, of which reads are refused nowhere.
func accepts(t *testing.T, mem *vfs.Mem, from, to, end int64) {
	t.Helper()
	var said strings.Builder
	d, err := OpenDir(mem, "/data", testIdent, slog.New(slog.NewTextHandler(&said, nil)))
	if err != nil {
		t.Fatal(err)
	}
	l, _ := openLog(t, d, smallConfig())
	got := map[int64]bool{}
	for o := l.StartOffset(); o < end; o++ {
		r, err := l.Plan(o, end, 1<<20, true)
		if err != nil {
			t.Fatalf("after the repair, read at %d: %v", o, err)
		}
		good, err := r.Warm()
		if err != nil {
			t.Errorf("after the repair, read at %d: %v", o, err)
		}
		for _, b := range bytesOf(t, good) {
			if b.Count() > 0 {
				got[b.BaseOffset()] = true
			}
		}
		r.Release()
	}
	for o := range end {
		if lost := from <= o && o < to; got[o] == lost {
			t.Errorf("after the repair, the record at %d is read: %v", o, got[o])
		}
	}
	if err := errors.Join(l.Close(), d.MarkClean(), d.Close()); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(said.String(), "lost_from") {
		t.Errorf("after the repair the log says\n%s", said.String())
	}
}

// Segments below the log start are on their way out, in any order where the disk refuses to
// let one go: what is missing among them is missed by nobody.
func TestGapBelowTheLogStartIsNone(t *testing.T) {
	mem, bases, end := sixSegments(t, true)
	d := openDir(t, mem, "/data")
	l, _ := openLog(t, d, smallConfig())
	if err := errors.Join(l.AdvanceStart(bases[3]), l.Close(), d.MarkClean(), d.Close()); err != nil {
		t.Fatal(err)
	}
	removeSegmentFiles(mem, bases[1], logSuffix, indexSuffix, snapshotSuffix)
	if v := verifiedAndClosed(t, mem); len(v.Findings) > 0 || v.Repairs() > 0 {
		t.Errorf("verify: %+v", v.Findings)
	}
	l, _ = openLog(t, openDir(t, mem, "/data"), smallConfig())
	if got := readAll(t, l, bases[3], 1<<20); len(got) != int(end-bases[3]) {
		t.Errorf("%d batches, want %d", len(got), end-bases[3])
	}
}

// Compaction joins small neighbours to one segment, but not over a gap: behind it readers
// would not be told any more. What is left of the first one still ends where it did.
func TestCleaningLeavesAGapBetweenSegments(t *testing.T) {
	c := newCompacted(t)
	for _, key := range []string{"a", "b", "c", "a"} {
		c.put(t0, key, []byte("1"))
		c.put(t0, "always", []byte("1"))
		c.roll()
	}
	c.put(t0, "end", nil)
	if err := errors.Join(c.l.Close(), c.d.MarkClean(), c.d.Close()); err != nil {
		t.Fatal(err)
	}
	removeSegmentFiles(c.mem, 2, logSuffix, indexSuffix, snapshotSuffix)
	for start := range 3 {
		c.open()
		if got := c.clean(t0); start == 0 && got.Segments == 0 {
			t.Fatal("nothing was cleaned")
		}
		for o := range int64(9) {
			if _, err := c.l.Plan(o, 9, 1<<20, true); errors.Is(err, ErrCorrupt) != (o == 2 || o == 3) {
				t.Errorf("start %d: read at %d: %v", start, o, err)
			}
		}
		if err := errors.Join(c.l.Close(), c.d.MarkClean(), c.d.Close()); err != nil {
			t.Fatal(err)
		}
	}
}

// A kill comes before a first checkpoint, and the only segment is gone. That batches were
// there the history of epochs tells, which is written behind the first of them.
func TestOnlySegmentIsMissingAfterAKill(t *testing.T) {
	for _, written := range []bool{true, false} {
		mem, _, l := newMemLog(t)
		if written {
			appendAll(t, testIO(), l, 0, batchOf(t0, 1, 500))
			mem.Remove(offsetPath("/data/orders-3", 0, logSuffix))
		}
		var said strings.Builder
		again, err := OpenDir(mem.KillClone(), "/data", testIdent, slog.New(slog.NewTextHandler(&said, nil)))
		if err != nil {
			t.Fatal(err)
		}
		openLog(t, again, smallConfig())
		if named := strings.Contains(said.String(), "file="+offsetPath("/data/orders-3", 0, logSuffix)); named != written {
			t.Errorf("written %v: the log says\n%s", written, said.String())
		}
	}
}

// What was put behind the newest segment after a clean stop is nobody's acknowledged record,
// even if it is a batch that goes on with the offsets: it is cut, and kept in a file.
func TestForeignBatchesBehindACleanStop(t *testing.T) {
	mem, _, end := sixSegments(t, true)
	path := "/data/orders-3"
	es, _ := mem.ReadDir(path)
	for _, e := range es {
		if strings.HasSuffix(e.Name, logSuffix) {
			path = "/data/orders-3/" + e.Name
		}
	}
	f, err := mem.OpenFile(path, os.O_RDWR)
	if err != nil {
		t.Fatal(err)
	}
	size, _ := f.Size()
	foreign := batchOf(t0, 3, 100)
	foreign.Stamp(end, 0)
	f.WriteAt(foreign, size)
	repaired := mem.KillClone()
	vfs.WriteFile(repaired, "/data/"+cleanName, []byte("1\n"), true)
	v := verified(t, repaired)
	if w := wrong(v); len(w) != 1 || w[0].File != path || w[0].Position != size || w[0].Bytes != int64(len(foreign)) {
		t.Errorf("verify: %+v", v.Findings)
	}
	if err := errors.Join(v.Repair(), v.Close()); err != nil {
		t.Fatal(err)
	}
	if v := verifiedAndClosed(t, repaired); len(v.Findings) > 0 {
		t.Errorf("after the repair: %+v", v.Findings)
	}
	if f, err := repaired.OpenFile(path, os.O_RDWR); err != nil {
		t.Fatal(err)
	} else if n, _ := f.Size(); n != size {
		t.Errorf("after the repair the file has %d bytes, it had %d", n, size)
	}
	l, rep := openLog(t, openDir(t, mem, "/data"), smallConfig())
	if l.EndOffset() != end || rep.CutBytes != int64(len(foreign)) || len(rep.SetAside) != 1 {
		t.Errorf("the log ends at %d, want %d; %+v", l.EndOffset(), end, rep)
	}
	if got := readAll(t, l, 0, 1<<20); len(got) != int(end) {
		t.Errorf("%d batches, want %d", len(got), end)
	}
}

// A power cut takes the end of a segment that had been closed, and all behind it, but not its
// index. The log goes on in that segment, and the index does not speak against it, whether the
// recovery point lay in the segment or before it.
func TestPowerCutReopensAClosedSegment(t *testing.T) {
	for name, c := range map[string]struct {
		segmentBytes int32
		synced       int // batches of the segment, and the recovery point is noted behind them
	}{"noted in the segment": {4096, 1}, "noted behind whole blocks of the index": {512 << 10, 400}, "not noted": {4096, 0}} {
		t.Run(name, func(t *testing.T) {
			cfg := smallConfig()
			cfg.SegmentBytes = c.segmentBytes
			mem := vfs.NewMem()
			d := openDir(t, mem, "/data")
			l, _ := openLog(t, d, cfg)
			io := testIO()
			defer io.Close()
			for len(l.segs) < 3 || l.EndOffset() < l.active().base+int64(c.synced) {
				appendAll(t, io, l, 0, batchOf(t0, 1, 500))
			}
			if c.synced > 0 {
				syncLog(t, io, l)
				if err := d.Checkpoint(); err != nil {
					t.Fatal(err)
				}
			}
			for len(l.segs) < 4 {
				appendAll(t, io, l, 0, batchOf(t0, 1, 500))
			}
			cut, gone := l.segs[2].base, l.segs[3].base
			mem = mem.RebootClone()
			removeSegmentFiles(mem, gone, logSuffix, indexSuffix, snapshotSuffix)
			cutBatches(t, mem, cut, gone)
			l, _ = openLog(t, openDir(t, mem, "/data"), cfg)
			if l.EndOffset() != gone-2 {
				t.Fatalf("the log ends at %d, want %d", l.EndOffset(), gone-2)
			}
			for _, grow := range []bool{false, true} {
				if grow {
					appendAll(t, io, l, 0, batchOf(t0+5000, 1, 700))
				}
				if v := verifiedAndClosed(t, mem.KillClone()); len(wrong(v)) > 0 {
					t.Errorf("grown %v: %+v", grow, v.Findings)
				}
			}
		})
	}
}
