package segment

import (
	"math/rand/v2"
	"testing"

	"ringmain/internal/vfs"
)

// The recovery point may name a segment whose file a power cut took, name and all. The
// log then goes on in the segment before it, and what it is given from then on is there
// after a kill, and after another power cut once it was synced.
func TestGoesOnBehindALostSegment(t *testing.T) {
	for _, cut := range []bool{false, true} {
		mem := vfs.NewMem()
		io := NewPwritevIO()
		d := openDir(t, mem, "/data")
		l, _ := openLog(t, d, smallConfig())
		appendAll(t, io, l, 0, batchOf(t0, 1, 500), batchOf(t0, 1, 500))
		syncLog(t, io, l)
		l.roll()
		lost := l.EndOffset()
		if err := d.Checkpoint(); err != nil {
			t.Fatal(err)
		}
		for range 20 { // fills the segment that will be lost, and goes on in the next
			appendAll(t, io, l, 0, batchOf(t0, 1, 500))
		}
		if len(l.segs) < 3 || l.segs[1].base != lost {
			t.Fatalf("%d segments", len(l.segs))
		}

		mem = mem.KillClone()
		for _, suffix := range []string{logSuffix, indexSuffix} {
			if err := mem.Remove(offsetPath(l.Path(), lost, suffix)); err != nil && !isNotExist(err) {
				t.Fatal(err)
			}
		}
		d = openDir(t, mem, "/data")
		l, _ = openLog(t, d, smallConfig())
		if l.EndOffset() != lost {
			t.Fatalf("the log ends at %d, want %d", l.EndOffset(), lost)
		}
		appendAll(t, io, l, 1, batchOf(t0, 3, 100), batchOf(t0, 2, 100))
		end := l.EndOffset()
		if cut {
			syncLog(t, io, l)
			mem = mem.CrashClone(rand.New(rand.NewPCG(7, 7)))
		} else {
			mem = mem.KillClone()
		}
		l, _ = openLog(t, openDir(t, mem, "/data"), smallConfig())
		if l.EndOffset() != end || len(readAll(t, l, 0, 1<<20)) != 4 {
			t.Errorf("cut %v: the log ends at %d, want %d", cut, l.EndOffset(), end)
		}
	}
}
