package segment

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"ringmain/record"
)

// No checksum covers a batch's offset. Whichever bit of it is flipped down, wherever the
// batch lies between index entries: no batch is read under an offset that is not its own,
// and no reader passes over a damaged one unseen.
func TestNoBatchIsReadUnderAnotherOffset(t *testing.T) {
	for bit := range 8 {
		for _, after := range []string{"a kill", "a clean stop", "a clean stop without an index"} {
			t.Run(fmt.Sprintf("bit %d, after %s", bit, after), func(t *testing.T) {
				for damaged := 10; damaged < 50; damaged++ {
					if damaged^1<<bit < damaged { // upwards: TestReadersGoRoundADamagedHeader
						readsOwnOffsets(t, damaged, bit, after)
					}
				}
			})
		}
	}
}

func readsOwnOffsets(t *testing.T, damaged, bit int, after string) {
	mem, d, l := newMemLog(t)
	io := NewPwritevIO()
	cfg := smallConfig()
	cfg.SegmentBytes = 1 << 20
	l.SetConfig(cfg)
	var at int64
	for i := range 60 {
		if i == damaged {
			at = l.active().size
		}
		appendAll(t, io, l, 0, batchOf(t0+int64(i), 1, 100)) // its time tells which one it is
	}
	syncLog(t, io, l)
	if after == "a kill" {
		mem = mem.KillClone()
	} else if err := errors.Join(l.Close(), d.MarkClean(), d.Close()); err != nil {
		t.Fatal(err)
	}
	io.Close()
	f, _ := mem.OpenFile("/data/orders-3/00000000000000000000.log", os.O_RDWR)
	flip(t, f, at+7, bit)
	if strings.HasSuffix(after, "index") {
		mem.Remove("/data/orders-3/00000000000000000000.index")
	}
	l, _ = openLog(t, openDir(t, mem, "/data"), cfg)
	defer l.Close()
	for k := range int64(120) { // backwards, by the index; then on, where a reader comes back
		o := 59 - k
		if o < 0 {
			o = k - 60
		}
		r, err := l.Plan(o, 60, 1, true)
		if err != nil {
			if near := o - int64(damaged); !errors.Is(err, ErrCorrupt) || near < -1 || near > 1 {
				t.Errorf("batch %d says %d: read at %d: %v", damaged, damaged^1<<bit, o, err)
			}
			continue
		}
		good, _ := r.Warm()
		for _, b := range bytesOf(t, good) {
			if was := b.MaxTimestamp() - t0; was != o || b.BaseOffset() != o {
				t.Errorf("batch %d says %d: read at %d gives batch %d under offset %d", damaged, damaged^1<<bit, o, was, b.BaseOffset())
			}
		}
		r.Release()
	}
}

// A value may hold a whole batch, at any offset. Whatever bit of a header behind it or of
// its own is flipped, with an index or without: it is never read as one of the log.
func TestBatchInAValueIsNeverRead(t *testing.T) {
	for damaged := range 3 { // 0 is the batch that holds one
		for at := range int64(61) {
			for _, claimed := range []int64{4, 5, 6, 9} {
				inner := batchOf(t0, 1, 10)
				inner.Stamp(claimed, 0)
				readsNoInner(t, inner, damaged, at, int(at+claimed)%8)
			}
		}
	}
}

func readsNoInner(t *testing.T, inner record.Batch, damaged int, byteAt int64, bit int) {
	mem, d, l := newMemLog(t)
	io := NewPwritevIO()
	cfg := smallConfig()
	cfg.SegmentBytes, cfg.IndexIntervalBytes = 1<<20, 1<<20
	l.SetConfig(cfg)
	var at int64
	for i := range 10 {
		if i == 4+damaged {
			at = l.active().size
		}
		b := batchOf(t0, 1, 100)
		if i == 4 {
			b = holding(inner, 0)
		}
		appendAll(t, io, l, 0, b)
	}
	syncLog(t, io, l)
	if err := errors.Join(l.Close(), d.MarkClean(), d.Close()); err != nil {
		t.Fatal(err)
	}
	io.Close()
	f, _ := mem.OpenFile("/data/orders-3/00000000000000000000.log", os.O_RDWR)
	flip(t, f, at+byteAt, bit)
	l, _ = openLog(t, openDir(t, mem, "/data"), cfg)
	defer l.Close()
	for o := range l.EndOffset() {
		r, err := l.Plan(o, l.EndOffset(), 1, true)
		if err != nil {
			continue
		}
		good, _ := r.Warm()
		for _, b := range bytesOf(t, good) {
			if len(b) == len(inner) {
				t.Errorf("bit %d of byte %d of batch %d: read at %d gives a batch in a value, which says %d", bit, byteAt, 4+damaged, o, b.BaseOffset())
			}
		}
		r.Release()
	}
}

// In a cleaned log a batch may pass over offsets, and no neighbour says which of two whose
// offsets contradict each other is the wrong one. What lies behind the gap is flipped down
// and up, into the gap and into the batch before: nothing is read under an offset that is
// not its own where that can be told.
func TestNoBatchOfACleanedLogIsReadUnderAnotherOffset(t *testing.T) {
	for _, n := range []int{1, 3, 10} { // records in the batch behind the gap
		for bit := range 12 {
			for _, killed := range []bool{false, true} {
				t.Run(fmt.Sprintf("%d records, bit %d, killed %v", n, bit, killed), func(t *testing.T) { readsCleaned(t, n, bit, killed) })
			}
		}
	}
}

func readsCleaned(t *testing.T, n, bit int, killed bool) {
	const gap = 11 // offsets, taken out behind the first batch
	mem, d, l := newMemLog(t)
	io := NewPwritevIO()
	cfg := smallConfig()
	cfg.SegmentBytes, cfg.IndexIntervalBytes = 1<<20, 1<<20
	l.SetConfig(cfg)
	var at, bases []int64
	for i, records := range []int{10, gap, n, 10, 10, 10} {
		at = append(at, l.active().size)
		bases = append(bases, appendAll(t, io, l, 0, batchOf(t0+int64(1000*i), records, 10)))
	}
	syncLog(t, io, l)
	size, end := l.active().size, l.EndOffset()
	if err := errors.Join(l.Close(), d.MarkClean(), d.Close()); err != nil {
		t.Fatal(err)
	}
	io.Close()
	const path = "/data/orders-3/00000000000000000000.log"
	f, _ := mem.OpenFile(path, os.O_RDWR)
	rest := make([]byte, size-at[2])
	f.ReadAt(rest, at[2])
	f.WriteAt(rest, at[1])
	f.Truncate(at[1] + int64(len(rest)))
	gone := at[2] - at[1]
	flip(t, f, at[3]-gone+7-int64(bit/8), bit%8)
	mem.Remove("/data/orders-3/00000000000000000000.index")
	mem.Remove("/data/" + pointsName)
	if killed {
		mem.Remove("/data/" + cleanName)
		mem = mem.KillClone()
	}
	l, _ = openLog(t, openDir(t, mem, "/data"), cfg)
	defer l.Close()
	flipped := bases[3] ^ 1<<bit
	if told := flipped >= bases[0]+10 && flipped < bases[2]+int64(n) && flipped != bases[0]+10+int64(n) || flipped > bases[3]; !told {
		return
	}
	for o := end - 1; o >= 0; o-- {
		r, err := l.Plan(o, l.EndOffset(), 1, true)
		if err != nil {
			continue
		}
		good, _ := r.Warm()
		for _, b := range bytesOf(t, good) {
			if was := bases[(b.MaxTimestamp()-t0)/1000]; b.BaseOffset() != was {
				t.Errorf("read at %d gives what was at %d as %d", o, was, b.BaseOffset())
			}
		}
		r.Release()
	}
}
