package segment

import (
	"bytes"
	"errors"
	"log/slog"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	"ringmain/internal/vfs"
	"ringmain/record"
)

// logged opens the directory and the log, and gives what a log at level WARN says.
func logged(t *testing.T, fsys vfs.FS) (*Dir, *Log, string) {
	t.Helper()
	var out bytes.Buffer
	d, err := OpenDir(fsys, "/data", testIdent, slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelWarn})))
	if err != nil {
		t.Fatal(err)
	}
	l, _ := openLog(t, d, smallConfig())
	return d, l, out.String()
}

// overwrite puts bytes into a file.
func overwrite(t *testing.T, fsys vfs.FS, path string, at int64, b []byte) {
	t.Helper()
	f, err := fsys.OpenFile(path, os.O_RDWR|os.O_CREATE)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteAt(b, at); err != nil {
		t.Fatal(err)
	}
}

// The notes of newest segments are never synced while logs are open. After a power cut they
// may be torn anywhere, and nobody is told; after a kill they cannot be.
func TestTornNotesOfNewestSegmentsAreNoDamage(t *testing.T) {
	for what, torn := range map[string]func(mem *vfs.Mem, path string){
		"an entry": func(mem *vfs.Mem, path string) { overwrite(t, mem, path, checkpointHead+8, make([]byte, 30)) },
		"all":      func(mem *vfs.Mem, path string) { overwrite(t, mem, path, 0, make([]byte, checkpointHead)) },
		"the file": func(mem *vfs.Mem, path string) { _ = truncate(mem, path, 0) },
	} {
		for _, powerCut := range []bool{true, false} {
			mem, _, l := newMemLog(t)
			io := testIO()
			for range 12 {
				appendAll(t, io, l, 0, batchOf(t0, 1, 900))
			}
			syncLog(t, io, l)
			if mem = mem.KillClone(); powerCut {
				mem = mem.RebootClone()
			}
			torn(mem, "/data/"+newestName)
			if found := verifyAll(t, mem, false); len(found) > 0 == powerCut {
				t.Errorf("%s, power cut %v: %+v", what, powerCut, found)
			}
			d, l, said := logged(t, mem)
			if strings.Contains(said, newestName) == powerCut {
				t.Errorf("%s, power cut %v: the start says %q", what, powerCut, said)
			}
			d.MarkRecovered()
			end := l.EndOffset()
			again := mem.KillClone()
			if err := again.Remove(l.active().file.Path()); err != nil {
				t.Fatal(err)
			}
			if _, l, _ := logged(t, again); powerCut && l.EndOffset() < end {
				t.Errorf("%s: a newest segment that is lost later is not noticed: the log had come to %d and goes on at %d", what, end, l.EndOffset())
			}
			io.Close()
		}
	}
}

// The checkpoints of a new directory are whole after a power cut, though nothing is noted in
// them that would have them synced.
func TestNewCheckpointsSurviveAPowerCut(t *testing.T) {
	mem, d, _ := newMemLog(t)
	if err := d.Checkpoint(); err != nil {
		t.Fatal(err)
	}
	for seed := range uint64(20) {
		cut := mem.CrashClone(rand.New(rand.NewPCG(seed, 1)))
		if _, _, said := logged(t, cut); strings.Contains(said, "checkpoint") {
			t.Fatalf("the start says %q", said)
		}
	}
}

// A full disk on which the newest segment cannot be noted: its log opens, so that something
// can be deleted, and takes no appends.
func TestLogOpensWhereNothingCanBeNoted(t *testing.T) {
	mem, d, l := newMemLog(t)
	io := testIO()
	defer io.Close()
	for range 12 {
		appendAll(t, io, l, 0, batchOf(t0, 1, 900))
	}
	if err := errors.Join(l.Close(), d.MarkClean(), d.Close(), mem.Remove("/data/"+newestName)); err != nil { // as of an earlier version
		t.Fatal(err)
	}
	full := vfs.NewFaulty(mem)
	full.Inject(vfs.Rule{Op: vfs.OpWrite, Pattern: newestName + "*", Err: syscall.ENOSPC})
	d, l, _ = logged(t, full)
	if got := readAll(t, l, 0, 1<<20); len(got) != 12 {
		t.Errorf("%d batches", len(got))
	}
	b := batchOf(t0, 1, 900)
	if _, err := l.Stage(b, 0, t0, t0); err != nil {
		t.Fatal(err)
	}
	if errs := Flush(io, []*Log{l}); errs == nil || !errors.Is(errs[0], ErrNoSpace) {
		t.Errorf("append: %v", errs)
	}
	if err := l.AdvanceStart(l.EndOffset()); err != nil {
		t.Errorf("delete records: %v", err)
	}
	full.Heal()
	if base := appendAll(t, io, l, 0, batchOf(t0, 1, 900)); base != 12 {
		t.Errorf("append at %d", base)
	}
	d.Close()
}

// What was lost by right in a power cut leaves nothing that would be believed of the records
// that come in its place: no producer snapshot, and no history of epochs that would have a
// kill look like a loss.
func TestNothingIsLeftOfWhatAPowerCutTook(t *testing.T) {
	mem, _, l := newMemLog(t)
	io := testIO()
	defer io.Close()
	for i := int32(0); len(l.segs) < 3; i++ {
		appendAll(t, io, l, 1, produced(7, 0, 20*i, t0, 20))
	}
	if len(l.snapshots) == 0 {
		t.Fatal("no snapshot")
	}
	snapshot := slices.Max(l.snapshots)
	mem = mem.KillClone().RebootClone()
	for _, s := range l.segs {
		for _, suffix := range []string{logSuffix, indexSuffix} {
			if err := mem.Remove(offsetPath(l.Path(), s.base, suffix)); err != nil && !isNotExist(err) {
				t.Fatal(err)
			}
		}
	}
	d, l, said := logged(t, mem)
	if l.EndOffset() != 0 {
		t.Fatalf("the log ends at %d; %s", l.EndOffset(), said)
	}
	d.MarkRecovered()
	if _, _, said := logged(t, mem.KillClone()); strings.Contains(said, "missing") {
		t.Errorf("after a kill: %s", said)
	}
	appendAll(t, io, l, 2, batchOf(t0, int(snapshot)+1, 0)) // no roll, which would take a newer one
	_, l, _ = logged(t, mem.KillClone())
	if len(l.producers.byID) > 0 {
		t.Errorf("producers of a lost log: %+v", l.producers.list())
	}
}

// After a power cut the index of a segment behind the recovery point may be one of batches
// that are lost. A start makes it again, and verify does not take the file for another's.
func TestIndexOfLostBatchesIsHarmless(t *testing.T) {
	mem, d, l := newMemLog(t)
	io := testIO()
	defer io.Close()
	appendAll(t, io, l, 0, batchOf(t0, 1, 900))
	if err := errors.Join(l.Close(), d.MarkClean(), d.Close()); err != nil {
		t.Fatal(err)
	}
	index := offsetPath(l.Path(), 0, indexSuffix)
	older, err := vfs.ReadFile(mem, index)
	if err != nil {
		t.Fatal(err)
	}
	mem, _, l = newMemLog(t)
	for i := range int64(8) {
		appendAll(t, io, l, 0, batchOf(t0+i+1, 1, 900))
	}
	mem = mem.KillClone().RebootClone()
	_ = mem.Remove(index)
	overwrite(t, mem, index, 0, older)
	found := verifyAll(t, mem, false)
	if i := slices.IndexFunc(found, func(f Finding) bool { return !f.Harmless && strings.HasPrefix(f.File, l.Path()) }); i >= 0 {
		t.Errorf("%+v", found[i])
	}
}

// A power cut tears the end of a log and the index of before the last clean stop. That a
// block is cut says nothing of the records that were synced.
func TestTornIndexBesideATornEndIsHarmless(t *testing.T) {
	mem, d, l := newMemLog(t)
	io := testIO()
	defer io.Close()
	for range 2 {
		appendAll(t, io, l, 0, batchOf(t0, 1, 900))
	}
	if err := errors.Join(l.Close(), d.MarkClean(), d.Close()); err != nil {
		t.Fatal(err)
	}
	l, _ = openLog(t, openDir(t, mem, "/data"), smallConfig())
	appendAll(t, io, l, 0, batchOf(t0, 1, 900))
	seg := l.active()
	mem = mem.KillClone().RebootClone()
	if err := errors.Join(truncate(mem, seg.file.Path(), seg.size-100), truncate(mem, offsetPath(l.Path(), 0, indexSuffix), indexHeaderSize+500)); err != nil {
		t.Fatal(err)
	}
	if found := verifyAll(t, mem, false); slices.ContainsFunc(found, func(f Finding) bool { return !f.Harmless }) {
		t.Errorf("%+v", found)
	}
}

// The recovery point lies at the end of a segment that only waits to be removed, and the log
// start in the one behind it.
func TestVerifyAfterTheStartPassedTheRecoveryPoint(t *testing.T) {
	mem, d, l := newMemLog(t)
	io := testIO()
	defer io.Close()
	for len(l.segs) < 2 {
		appendAll(t, io, l, 0, batchOf(t0, 1, 900))
		if len(l.segs) == 1 {
			syncLog(t, io, l)
			if err := d.Checkpoint(); err != nil {
				t.Fatal(err)
			}
		}
	}
	appendAll(t, io, l, 0, batchOf(t0, 1, 900))
	if err := l.AdvanceStart(l.EndOffset() - 1); err != nil {
		t.Fatal(err)
	}
	if found := verifyAll(t, mem.KillClone(), false); len(found) > 0 {
		t.Errorf("%+v", found)
	}
}

// The index of an earlier life of a segment's name is gone for good before a batch is written
// under that name: no power cut brings it back beside others.
func TestIndexOfAnEarlierLifeDoesNotComeBack(t *testing.T) {
	mem, _, l := newMemLog(t)
	index := offsetPath(l.Path(), 0, indexSuffix)
	if err := errors.Join(mem.MkdirAll(l.Path()), mem.SyncDir("/data")); err != nil {
		t.Fatal(err)
	}
	overwrite(t, mem, index, 0, make([]byte, indexHeaderSize))
	if err := mem.SyncDir(l.Path()); err != nil {
		t.Fatal(err)
	}
	io := testIO()
	defer io.Close()
	appendAll(t, io, l, 0, batchOf(t0, 1, 100))
	for seed := range uint64(20) {
		cut := mem.CrashClone(rand.New(rand.NewPCG(seed, 1)))
		if there, err := vfs.Exists(cut, index); there || err != nil {
			t.Fatalf("it is there: %v, %v", there, err)
		}
	}
}

// A kill at whatever step of a truncation, then other batches, and another kill: the index of
// before is not held against them.
func TestKilledTruncationLeavesNoIndex(t *testing.T) {
	mem, d, l := newMemLog(t)
	io := NewPwritevIO()
	defer io.Close()
	for range 3 {
		appendAll(t, io, l, 0, batchOf(t0, 1, 900))
	}
	if err := errors.Join(l.Close(), d.MarkClean(), d.Close()); err != nil {
		t.Fatal(err)
	}
	var images []image
	step := &stepFS{FS: mem}
	step.after = func(what string) { images = append(images, image{what, mem.KillClone()}) }
	l, _ = openLog(t, openDir(t, step, "/data"), smallConfig())
	if err := l.TruncateTo(1); err != nil {
		t.Fatal(err)
	}
	for _, img := range images {
		d, err := OpenDir(img.mem, "/data", testIdent, quiet)
		if err != nil {
			continue // before the directory had its lock
		}
		l, _ := openLog(t, d, smallConfig())
		for range 3 {
			appendAll(t, io, l, 1, batchOf(t0+5, 1, 900))
		}
		end := l.EndOffset()
		l, _, err = openDir(t, img.mem.KillClone(), "/data").OpenLog(testTP, testTopic, smallConfig())
		if err != nil {
			t.Errorf("killed after %s: %v", img.what, err)
			continue
		}
		if got := len(readAll(t, l, 0, 1<<20)); int64(got) != end {
			t.Errorf("killed after %s: %d batches of %d", img.what, got, end)
		}
	}
}

// Cleaning leaves gaps. One before the last batch of a log whose recovery point is lost says
// nothing against that batch, though its offset has one bit more than the next one.
func TestGapOfACleaningIsNoWrongOffset(t *testing.T) {
	mem, d, l := newMemLog(t)
	io := testIO()
	defer io.Close()
	last := batchAt(3) // one bit from 1, which is the next
	appendAll(t, io, l, 0, batchOf(t0, 2, 100))
	if err := d.cleaned.put([]pointKey{l.key()}, []point{{offset: 4, epoch: -1}}); err != nil {
		t.Fatal(err)
	}
	appendAll(t, io, l, 0, batchOf(t0, 1, 100))
	seg := l.active()
	mem = mem.KillClone()
	overwrite(t, mem, seg.file.Path(), 0, batchAt(0)) // what is left of the first two
	overwrite(t, mem, seg.file.Path(), int64(len(batchAt(0))), last)
	if err := truncate(mem, seg.file.Path(), int64(len(batchAt(0))+len(last))); err != nil {
		t.Fatal(err)
	}
	if err := mem.Remove("/data/" + pointsName); err != nil && !isNotExist(err) {
		t.Fatal(err)
	}
	l, _ = openLog(t, openDir(t, mem.KillClone(), "/data"), smallConfig())
	if got := readAll(t, l, 0, 1<<20); len(got) != 2 {
		t.Errorf("%d batches", len(got))
	}
	if found := verifyAll(t, mem, false); slices.ContainsFunc(found, func(f Finding) bool { return strings.Contains(f.Reason, "is the next") }) {
		t.Errorf("%+v", found)
	}
}

// batchAt is a batch of one record at an offset.
func batchAt(offset int64) record.Batch {
	b := batchOf(t0, 1, 100)
	b.Stamp(offset, 0)
	return b
}
