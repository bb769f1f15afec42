package segment

import (
	"bytes"
	"testing"

	"ringmain/internal/vfs"
	"ringmain/record"
)

func TestAppendReadReopen(t *testing.T) {
	eachBackend(func(be backend) {
		t.Run(be.name, func(t *testing.T) {
			io := be.make()
			defer io.Close()
			path := t.TempDir() + "/data"
			d := openDir(t, vfs.OS{}, path)
			l, _ := openLog(t, d, smallConfig())
			var want []record.Batch
			for i := range 60 {
				b := batchOf(t0+int64(i)*10, 1+i%3, 100+i*7%300)
				want = append(want, b)
				if base := appendAll(t, io, l, int32(i/20), b); base != l.EndOffset()-int64(b.Count()) {
					t.Fatalf("batch %d at %d, log end %d", i, base, l.EndOffset())
				}
			}
			check := func(l *Log) {
				t.Helper()
				for _, piece := range []int{1, 500, 2000, 1 << 20} {
					got := readAll(t, l, 0, piece)
					if len(got) != len(want) {
						t.Fatalf("pieces of %d: %d batches, want %d", piece, len(got), len(want))
					}
					for i := range got {
						if !bytes.Equal(got[i], want[i]) {
							t.Fatalf("batch %d differs", i)
						}
					}
				}
				for o := int64(0); o < l.EndOffset(); o++ {
					r, err := l.Plan(o, l.EndOffset(), 1, true)
					if err != nil {
						t.Fatal(err)
					}
					b := make(record.Batch, r.N)
					r.File.ReadAt(b, r.Off)
					r.Release()
					if b.BaseOffset() > o || b.LastOffset() < o {
						t.Fatalf("plan at %d gave the batch of %d to %d", o, b.BaseOffset(), b.LastOffset())
					}
				}
				for e := range int32(3) {
					at := want[e*20].BaseOffset()
					if got := l.EpochAt(at); got != e {
						t.Errorf("epoch at %d: %d, want %d", at, got, e)
					}
				}
			}
			check(l)
			if l.SegmentCount() < 3 {
				t.Fatalf("%d segments", l.SegmentCount())
			}
			syncLog(t, io, l)
			if l.SyncedOffset() != l.EndOffset() {
				t.Errorf("synced %d of %d", l.SyncedOffset(), l.EndOffset())
			}
			end := l.EndOffset()
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
			if err := d.MarkClean(); err != nil {
				t.Fatal(err)
			}
			d.Close()
			d = openDir(t, vfs.OS{}, path)
			defer d.Close()
			if !d.WasClean() {
				t.Error("not clean")
			}
			l, rep := openLog(t, d, smallConfig())
			if rep.CheckedBytes != 0 || rep.HeaderBytes != 0 {
				t.Errorf("a clean start read %d and %d bytes", rep.CheckedBytes, rep.HeaderBytes)
			}
			if l.EndOffset() != end || l.SyncedOffset() != end {
				t.Errorf("end %d, synced %d, want %d", l.EndOffset(), l.SyncedOffset(), end)
			}
			check(l)
			appendAll(t, io, l, 3, batchOf(t0, 1, 10))
			l.Close()
		})
	})
}
