package segment

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"slices"
	"testing"

	"ringmain/internal/vfs"
)

// A bit of the offset of the last batch is flipped after a kill, in the newest segment and in a
// closed one: no checksum covers it, and no batch behind it contradicts it. The log ends where
// it ended, only the batch is refused, verify names it, and a repair brings it back.
func TestLastOffsetIsFlippedAfterAKill(t *testing.T) {
	for bit := range 40 {
		for _, closed := range []bool{false, true} {
			for _, checkpoint := range []bool{false, true} {
				t.Run(fmt.Sprintf("bit %d, closed segment %v, checkpoint %v", bit, closed, checkpoint), func(t *testing.T) {
					lastOffsetFlipped(t, bit, closed, checkpoint)
				})
			}
		}
	}
}

func lastOffsetFlipped(t *testing.T, bit int, closed, checkpoint bool) {
	mem, d, l := newMemLog(t)
	io := testIO()
	defer io.Close()
	if checkpoint {
		appendAll(t, io, l, 0, batchOf(t0, 2, 500))
		syncLog(t, io, l)
		if err := d.Checkpoint(); err != nil {
			t.Fatal(err)
		}
	}
	for len(l.segs) < 3 || len(readAll(t, l, l.active().base, 1<<20)) < 2 {
		appendAll(t, io, l, 0, batchOf(t0+l.EndOffset(), 2, 500))
	}
	end, seg := l.EndOffset(), l.active()
	if closed {
		seg = l.segs[1]
	}
	lost := seg.next - 2
	whole := len(readAll(t, l, 0, 1<<20))
	mem = mem.KillClone()
	f, _ := mem.OpenFile(seg.file.Path(), os.O_RDWR)
	flip(t, f, lastBatchAt(t, l, seg)+7-int64(bit/8), bit%8)

	verified := mem.KillClone()
	found := verifyAll(t, verified, true)
	if !slices.ContainsFunc(found, func(f Finding) bool { return f.File == seg.file.Path() && !f.Harmless }) {
		t.Errorf("verify: %+v", found)
	}
	if left := verifyAll(t, verified, false); len(left) > 0 {
		t.Errorf("verify after the repair: %+v", left)
	}
	again, _ := openLog(t, openDir(t, verified, "/data"), smallConfig())
	if got := len(readAll(t, again, 0, 1<<20)); got != whole || again.EndOffset() != end {
		t.Errorf("after the repair: %d batches of %d, end %d of %d", got, whole, again.EndOffset(), end)
	}

	for range 3 {
		l, rep := openLog(t, openDir(t, mem, "/data"), smallConfig())
		if l.EndOffset() != end || rep.CutBytes > 0 || len(rep.SetAside) > 0 {
			t.Fatalf("the log ends at %d, want %d; %+v", l.EndOffset(), end, rep)
		}
		for o := range end {
			r, err := l.Plan(o, end, 1, true)
			var got []int64
			if err == nil {
				var good Range
				if good, err = r.Warm(); err == nil {
					for _, b := range bytesOf(t, good) {
						got = append(got, b.BaseOffset())
					}
				}
				r.Release()
			}
			if want := o &^ 1; o >= lost && o < lost+2 {
				if !errors.Is(err, ErrCorrupt) || len(got) > 0 {
					t.Errorf("read at %d of the batch with a wrong offset: %v, %v", o, got, err)
				}
			} else if lost&(1<<bit) != 0 && want == lost-2 && errors.Is(err, ErrCorrupt) {
				continue // it says an offset of this one, and of the two either may be the wrong one
			} else if err != nil || len(got) == 0 || got[0] != want {
				t.Errorf("read at %d: %v, %v", o, got, err)
			}
		}
		if _, _, err := l.OffsetForTimestamp(t0+1000, end); !errors.Is(err, ErrCorrupt) {
			t.Errorf("a lookup by time passes over it: %v", err)
		}
		if base := appendAll(t, io, l, 0, batchOf(t0, 2, 500)); base != end {
			t.Fatalf("append at %d, want %d", base, end)
		}
		end += 2
		mem = mem.KillClone()
	}
}

// lastBatchAt is where the last batch of a segment begins.
func lastBatchAt(t *testing.T, l *Log, seg *segment) (at int64) {
	t.Helper()
	var head [12]byte
	f, err := l.home.fs.OpenFile(seg.file.Path(), os.O_RDONLY)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for pos := int64(0); pos < seg.size; {
		if _, err := f.ReadAt(head[:], pos); err != nil {
			t.Fatal(err)
		}
		at, pos = pos, pos+12+int64(binary.BigEndian.Uint32(head[8:]))
	}
	return at
}

// What a torn end may hold is a batch that the place held once, one of those before it: that is
// no wrong offset, however few bits it is away from the right one, but cut, and a repair does
// not make a record of it.
func TestOldBatchBehindTheEnd(t *testing.T) {
	for n := 1; n <= 9; n++ {
		for old := range n {
			mem, _, l := newMemLog(t)
			io := testIO()
			for o := range n {
				appendAll(t, io, l, 0, batchOf(t0+int64(o), 1, 10))
			}
			io.Close()
			mem = mem.KillClone()
			f, err := mem.OpenFile(l.active().file.Path(), os.O_RDWR)
			if err != nil {
				t.Fatal(err)
			}
			size := l.active().size / int64(n)
			b := make([]byte, size)
			if _, err := f.ReadAt(b, int64(old)*size); err != nil {
				t.Fatal(err)
			}
			if _, err := f.WriteAt(b, int64(n)*size); err != nil {
				t.Fatal(err)
			}
			repaired := mem.KillClone()
			verifyAll(t, repaired, true)
			for _, fsys := range []*vfs.Mem{mem, repaired} {
				l, rep := openLog(t, openDir(t, fsys, "/data"), smallConfig())
				if got := len(readAll(t, l, 0, 1<<20)); got != n || l.EndOffset() != int64(n) {
					t.Errorf("%d batches and the one of offset %d again: %d batches, end %d; %+v", n, old, got, l.EndOffset(), rep)
				}
			}
		}
	}
}
