package segment

import (
	"errors"
	"os"
	"testing"

	"ringmain/internal/vfs"
	"ringmain/model"
	"ringmain/record"
)

// swappedLogs are two partitions with three segments each, all of one size: those of the
// first have four batches, of one record each, those of the second two, of three.
func swappedLogs(t *testing.T, root string) (tps [2]model.TopicPartition, bases [2][]int64) {
	t.Helper()
	d := openDir(t, vfs.OS{}, root)
	io := testIO()
	defer io.Close()
	small, large := batchOf(t0, 1, 200), batchOf(t0, 3, 100)
	for pad := 100; len(large) != 2*len(small); pad++ {
		if large = batchOf(t0, 3, pad); len(large) > 2*len(small) {
			small, pad = batchOf(t0, 1, len(small)+1), 100
		}
	}
	one := len(small)
	for n, batch := range []record.Batch{small, large} {
		tps[n] = model.TopicPartition{Topic: "orders", Partition: int32(n)}
		cfg := smallConfig()
		cfg.SegmentBytes = int32(4 * one)
		l, _, err := d.OpenLog(tps[n], testTopic, cfg)
		if err != nil {
			t.Fatal(err)
		}
		for range 3 * 4 * one / len(batch) {
			appendAll(t, io, l, 1, append(record.Batch(nil), batch...))
		}
		for _, s := range l.segs {
			if s.size != int64(4*one) {
				t.Fatalf("a segment of %d bytes, want %d", s.size, 4*one)
			}
			bases[n] = append(bases[n], s.base)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(d.MarkClean(), d.Close()); err != nil {
		t.Fatal(err)
	}
	return tps, bases
}

// Files of exactly one size that change places: no batch is served that is not of its
// partition and offset.
func TestSwappedSegmentsAreNotServed(t *testing.T) {
	type place struct{ log, seg int }
	for _, c := range [][2]place{{{0, 0}, {0, 1}}, {{0, 1}, {0, 2}}, {{0, 0}, {0, 2}}, {{1, 0}, {1, 1}}, {{0, 0}, {1, 0}}, {{0, 1}, {1, 1}}, {{0, 2}, {1, 2}}} {
		root := t.TempDir() + "/data"
		tps, bases := swappedLogs(t, root)
		var paths [2]string
		var bs [2][]byte
		for i, p := range c {
			paths[i] = offsetPath(root+"/"+tps[p.log].String(), bases[p.log][p.seg], logSuffix)
			var err error
			if bs[i], err = os.ReadFile(paths[i]); err != nil {
				t.Fatal(err)
			}
		}
		for i := range paths {
			if err := os.WriteFile(paths[i], bs[1-i], 0o644); err != nil {
				t.Fatal(err)
			}
		}
		d := openDir(t, vfs.OS{}, root)
		for n, tp := range tps {
			l, _, err := d.OpenLog(tp, testTopic, smallConfig())
			if err != nil {
				if errors.Is(err, ErrCorrupt) {
					continue // offline
				}
				t.Fatal(err)
			}
			for o := range l.EndOffset() {
				swapped := false
				for _, p := range c {
					end := l.EndOffset()
					if p.seg < 2 {
						end = bases[n][p.seg+1]
					}
					swapped = swapped || p.log == n && o >= bases[n][p.seg] && o < end
				}
				r, err := l.Plan(o, o+2, 1<<20, true)
				if err == nil && r.N > 0 && !r.Ready() {
					var good Range
					good, err = r.Warm()
					if swapped && good.N > 0 {
						t.Errorf("%v: offset %d of %v is served from another file", c, o, tp)
					}
				}
				if swapped != errors.Is(err, ErrCorrupt) {
					t.Errorf("%v: offset %d of %v: %v", c, o, tp, err)
				}
				r.Release()
			}
			if err := l.Close(); err != nil {
				t.Error(err)
			}
		}
		d.Close()
	}
}
