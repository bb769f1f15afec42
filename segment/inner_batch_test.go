package segment

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"ringmain/internal/vfs"
	"ringmain/record"
)

// A value that holds a whole batch, as a producer that ships log files sends. Whatever
// happens to the batch that it is in: no start, read, verify or repair takes it for one of
// the log.
func TestBatchInAValueIsNeverTakenForOneOfTheLog(t *testing.T) {
	for _, place := range []int{4, 6, 9} { // in the middle, last of a closed segment, last of the log
		for _, killed := range []bool{false, true} {
			for _, claimed := range []int64{-1, 0, 1, 2, 1000} { // an offset, counted from its holder's
				t.Run(fmt.Sprintf("batch %d, killed %v, offset %d", place, killed, claimed), func(t *testing.T) {
					inner := batchOf(t0, 1, 10)
					inner.Stamp(int64(place)+claimed, 0)
					size := len(holding(inner, 100))
					for at := 0; at < size; at += 1 + at/61*3 {
						for _, change := range []string{"flip", "cut", "fill"} {
							damagesHolder(t, inner, place, killed, change, int64(at))
						}
					}
				})
			}
		}
	}
}

// damagesHolder changes the batch that holds another one: the bit, everything from there to
// its end, or the end of the file.
func damagesHolder(t *testing.T, inner record.Batch, place int, killed bool, change string, at int64) {
	t.Helper()
	mem, d, l := newMemLog(t)
	io := NewPwritevIO()
	defer io.Close()
	var from int64
	var file string
	holder := holding(inner, 100)
	for i := range 10 {
		b := batchOf(t0, 1, 100)
		if i == 7 {
			l.roll()
		}
		if i == place {
			b, from, file = holder, l.active().size, l.active().file.Path()
			if l.active().base != 0 && l.active().size == 0 {
				t.Fatal("the holder begins a segment")
			}
		}
		b.Stamp(int64(i), 0)
		appendAll(t, io, l, 0, b)
		if i == place && len(holder) != len(b) {
			t.Fatal("another size")
		}
	}
	end := l.EndOffset()
	syncLog(t, io, l)
	if killed {
		mem = mem.KillClone()
	} else if err := errors.Join(l.Close(), d.MarkClean(), d.Close()); err != nil {
		t.Fatal(err)
	}
	f, _ := mem.OpenFile(file, os.O_RDWR)
	switch change {
	case "flip":
		flip(t, f, from+at, int(at)%8)
	case "cut":
		f.Truncate(from + at)
	case "fill":
		f.WriteAt(bytes.Repeat([]byte{0x5a}, len(holder)-int(at)), from+at)
	}
	what := fmt.Sprintf("%s at %d", change, at)
	started := mem.KillClone()
	if !killed {
		vfs.WriteFile(started, "/data/"+cleanName, []byte("1\n"), true)
	}
	servesNoInner(t, started, inner, end, what+", before the repair")
	v := verified(t, mem)
	if len(v.Findings) == 0 {
		t.Errorf("%s: verify finds nothing", what)
	}
	if err := errors.Join(v.Repair(), v.Close()); err != nil {
		t.Fatal(err)
	}
	if v := verifiedAndClosed(t, mem); len(v.Findings) > 0 {
		t.Errorf("%s: after the repair: %+v", what, v.Findings)
	}
	servesNoInner(t, mem, inner, end, what+", after the repair")
}

func servesNoInner(t *testing.T, mem *vfs.Mem, inner record.Batch, end int64, what string) {
	t.Helper()
	l, _ := openLog(t, openDir(t, mem, "/data"), smallConfig())
	for o := l.StartOffset(); o < min(l.EndOffset(), end+1100); o++ {
		r, err := l.Plan(o, l.EndOffset(), 1, true)
		if err != nil {
			continue
		}
		good, _ := r.Warm()
		for _, b := range bytesOf(t, good) {
			if len(b) == len(inner) {
				t.Errorf("%s: read at %d gives the batch in a value, as offset %d", what, o, b.BaseOffset())
			}
		}
		r.Release()
	}
	// No checksum covers an offset, and no neighbour tells that of the last batch.
	if lastOffset := strings.HasPrefix(what, "flip at ") && what[8] < '8' && what[9] == ','; l.EndOffset() > end && !lastOffset {
		t.Errorf("%s: the log ends at %d, it ended at %d", what, l.EndOffset(), end)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}
