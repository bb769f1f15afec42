package segment

import (
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"ringmain/internal/vfs"
	"ringmain/record"
)

// epochsWritten is the epochs of the batches of one record that a test writes.
var epochsWritten = []int32{1, 1, 1, 4, 4, 4, 4, 9, 9, 9}

// writtenEpochs is a log of them, in segments of about four batches, stopped or killed,
// with a recovery point behind the fifth.
func writtenEpochs(t *testing.T, root string, clean bool) {
	t.Helper()
	d := openDir(t, vfs.OS{}, root)
	cfg := smallConfig()
	cfg.SegmentBytes = 4 * 150
	l, _ := openLog(t, d, cfg)
	io := testIO()
	defer io.Close()
	for i, e := range epochsWritten {
		appendAll(t, io, l, e, batchOf(t0+int64(i), 1, 64))
		if i == 4 {
			syncLog(t, io, l)
			if err := d.Checkpoint(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if clean {
		if err := errors.Join(l.Close(), d.MarkClean()); err != nil {
			t.Fatal(err)
		}
	} else {
		l.detach()
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
}

// setEpoch writes an epoch into the batch of an offset.
func setEpoch(t *testing.T, root string, offset int64, epoch int32) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, testTP.String(), "*.log"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range files {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for pos := 0; pos < len(b); pos += record.Batch(b[pos:]).Size() {
			if record.Batch(b[pos:]).BaseOffset() == offset {
				binary.BigEndian.PutUint32(b[pos+12:], uint32(epoch))
				if err := os.WriteFile(path, b, 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
		}
	}
	t.Fatalf("no batch of offset %d", offset)
}

// refusedAt reads every offset and lists those that are refused.
func refusedAt(t *testing.T, l *Log) (refused []int64) {
	t.Helper()
	for o := range l.EndOffset() {
		r, err := l.Plan(o, o+1, 1<<20, true)
		if err == nil && !r.Ready() {
			_, err = r.Warm()
		}
		var d *DamageError
		if errors.As(err, &d) {
			if d.Offset != o || filepath.Ext(d.File) != logSuffix {
				t.Errorf("the damage at offset %d is %+v", o, d)
			}
			refused = append(refused, o)
		} else if err != nil {
			t.Errorf("offset %d: %v", o, err)
		}
		r.Release()
	}
	return refused
}

// A leader epoch that is not what was written is found and refused, and no other batch with
// it; with or without the history in its file, before and behind the recovery point.
func TestWrongEpochIsRefused(t *testing.T) {
	for _, clean := range []bool{true, false} {
		for _, history := range []bool{true, false} {
			for offset, was := range epochsWritten {
				for _, epoch := range []int32{was ^ 1<<20, was ^ 1<<1, was &^ 1, was ^ 8} {
					root := t.TempDir() + "/data"
					writtenEpochs(t, root, clean)
					if !history {
						if err := os.Remove(filepath.Join(root, testTP.String(), epochsName)); err != nil {
							t.Fatal(err)
						}
					}
					setEpoch(t, root, int64(offset), epoch)
					d := openDir(t, vfs.OS{}, root)
					l, rep := openLog(t, d, smallConfig())
					if rep.CutBytes > 0 || l.EndOffset() != int64(len(epochsWritten)) {
						t.Fatalf("the log was cut: %+v", rep)
					}
					refused := refusedAt(t, l)
					seen := len(refused) == 1 && refused[0] == int64(offset)
					// Where an epoch begins or ends, another may, if nothing says that it does
					// not, and one of two neighbours is in doubt.
					first := offset == 0 || epochsWritten[offset-1] != was
					next := min(offset+1, len(epochsWritten)-1)
					second := offset > 0 && (offset == 1 || epochsWritten[offset-2] != epochsWritten[offset-1])
					doubt := (first || second || next == offset || epochsWritten[next] != was) && (!history || !clean && offset > 4)
					if epoch == was {
						seen, doubt = len(refused) == 0, false
					}
					if !seen && (!doubt || len(refused) > 1 || len(refused) == 1 && refused[0] < int64(offset-1)) {
						t.Errorf("clean %v, with history %v: epoch %d instead of %d at offset %d: refused %v, history %v", clean, history, epoch, was, offset, refused, l.history())
					}
					l.detach()
					d.Close()
				}
			}
		}
	}
}

// Metadata that is older than the log gives lower epochs: nothing is refused for it, also
// not after a power cut.
func TestLowerEpochsOfALeaderAreBelieved(t *testing.T) {
	for seed := range uint64(40) {
		m := vfs.NewMem()
		d := openDir(t, m, "/data")
		l, _ := openLog(t, d, smallConfig())
		io := testIO()
		for i, e := range []int32{5, 5, 7, 2, 2, 3, 3, 1} {
			appendAll(t, io, l, e, batchOf(t0+int64(i), 1, 64))
			syncLog(t, io, l)
		}
		crashed := m.CrashClone(rand.New(rand.NewPCG(seed, 0)))
		d2 := openDir(t, crashed, "/data")
		again, rep := openLog(t, d2, smallConfig())
		if rep.CutBytes > 0 || again.EndOffset() != 8 {
			t.Fatalf("the log was cut: %+v", rep)
		}
		if refused := refusedAt(t, again); len(refused) > 0 {
			t.Errorf("refused: %v, history %v", refused, again.history())
		}
		io.Close()
	}
}

// There is no room for the history when an epoch begins, and there is later. What is in the log
// is read all the same, after a truncation too, and a clean start finds the history whole.
func TestNoRoomForTheHistory(t *testing.T) {
	for _, truncated := range []bool{false, true} {
		mem := vfs.NewMem()
		fault := vfs.NewFaulty(mem)
		d := openDir(t, fault, "/data")
		l, _ := openLog(t, d, smallConfig())
		io := testIO()
		defer io.Close()
		appendAll(t, io, l, 1, batchOf(t0, 1, 500))
		fault.Inject(vfs.Rule{Op: vfs.OpWrite, Pattern: epochsName + "*", Err: syscall.ENOSPC})
		for len(l.segs) < 3 {
			appendAll(t, io, l, 2, batchOf(t0, 1, 500))
		}
		fault.Heal()
		syncLog(t, io, l)
		if truncated {
			if err := l.TruncateTo(l.segs[1].base + 2); err != nil {
				t.Fatal(err)
			}
			for o := range l.EndOffset() {
				if want := min(int32(o)+1, 2); l.EpochAt(o) != want {
					t.Errorf("epoch of offset %d is %d, want %d", o, l.EpochAt(o), want)
				}
			}
			if got := len(readAll(t, l, 0, 1<<20)); got != int(l.EndOffset()) {
				t.Errorf("%d batches of %d", got, l.EndOffset())
			}
		}
		if err := errors.Join(l.Close(), d.MarkClean(), d.Close()); err != nil {
			t.Fatal(err)
		}
		if _, rep := openLog(t, openDir(t, mem, "/data"), smallConfig()); rep.EpochsRebuilt {
			t.Errorf("truncated %v: after a clean stop the epochs are read from the log: %+v", truncated, rep)
		}
	}
}
