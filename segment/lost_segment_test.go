package segment

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"testing"

	"ringmain/internal/vfs"
)

// A segment's file is taken away, and the process is killed before a checkpoint says that
// what lies behind was synced. Only the records of that segment are lost, and no offset is
// given again.
func TestSegmentIsMissingAfterAKill(t *testing.T) {
	for name, gone := range map[string][]int{"first": {0}, "middle": {2}, "two together": {2, 3}, "two apart": {1, 3}, "the one before the last": {4}} {
		t.Run(name, func(t *testing.T) {
			mem, _, l := newMemLog(t)
			io := testIO()
			defer io.Close()
			for len(l.segs) < 6 {
				appendAll(t, io, l, 0, batchOf(t0, 1, 500))
			}
			syncLog(t, io, l)
			end := l.EndOffset()
			missing := map[int64]bool{}
			mem = mem.KillClone()
			for _, i := range gone {
				for o := l.segs[i].base; o < l.segs[i+1].base; o++ {
					missing[o] = true
				}
				if err := mem.Remove(l.segs[i].file.Path()); err != nil {
					t.Fatal(err)
				}
			}
			for range 3 { // and later kills change nothing
				l, _ = openLog(t, openDir(t, mem, "/data"), smallConfig())
				if l.EndOffset() != end {
					t.Fatalf("the log ends at %d, want %d", l.EndOffset(), end)
				}
				for o := l.StartOffset(); o < end; o++ {
					r, err := l.Plan(o, end, 1, true)
					if err != nil && !(errors.Is(err, ErrCorrupt) && missing[o]) {
						t.Fatalf("plan at %d: %v", o, err)
					}
					if err != nil {
						continue
					}
					if good, err := r.Warm(); err != nil || missing[o] || bytesOf(t, good)[0].BaseOffset() != o {
						t.Fatalf("read at %d: %v; missing: %v", o, err, missing[o])
					}
					r.Release()
				}
				if base := appendAll(t, io, l, 0, batchOf(t0, 1, 500)); base != end {
					t.Fatalf("append at %d, want %d", base, end)
				}
				end++
				mem = mem.KillClone()
			}
		})
	}
}

// After a kill, before a checkpoint, the last batch of a closed segment is damaged, cut
// short or gone. The segments behind it say that it was whole: only its records are lost,
// no offset is given again, and later kills change nothing.
func TestEndOfAClosedSegmentIsDamagedAfterAKill(t *testing.T) {
	for what, damage := range map[string]func(f vfs.File, last, size int64){
		"a bit":           func(f vfs.File, _, size int64) { flip(t, f, size-10, 3) },
		"a bit of length": func(f vfs.File, last, _ int64) { flip(t, f, last+9, 3) },
		"zeros":           func(f vfs.File, last, size int64) { f.WriteAt(make([]byte, size-last), last) },
		"a byte short":    func(f vfs.File, _, size int64) { f.Truncate(size - 1) },
		"half a header":   func(f vfs.File, last, _ int64) { f.Truncate(last + 30) },
		"the whole batch": func(f vfs.File, last, _ int64) { f.Truncate(last) },
		"longer":          func(f vfs.File, _, size int64) { f.WriteAt(make([]byte, 100), size) },
	} {
		for _, k := range []int{0, 1} {
			t.Run(fmt.Sprintf("%s, segment %d", what, k), func(t *testing.T) {
				mem, _, l := newMemLog(t)
				io := testIO()
				defer io.Close()
				for len(l.segs) < 4 {
					appendAll(t, io, l, 0, batchOf(t0, 1, 500))
				}
				end := l.EndOffset()
				mem = mem.KillClone()
				lost := l.segs[k+1].base - 1
				f, _ := mem.OpenFile(l.segs[k].file.Path(), os.O_RDWR)
				size, _ := f.Size()
				damage(f, size-size/(l.segs[k+1].base-l.segs[k].base), size)
				for range 3 {
					l, rep := openLog(t, openDir(t, mem, "/data"), smallConfig())
					if l.EndOffset() != end || len(rep.SetAside) > 0 || rep.CutBytes > 0 {
						t.Fatalf("the log ends at %d, want %d; %+v", l.EndOffset(), end, rep)
					}
					for o := range end {
						r, err := l.Plan(o, end, 1, true)
						if err == nil {
							var good Range
							good, err = r.Warm()
							if err == nil && good.N == 0 {
								t.Errorf("read at %d passes over what is lost", o)
							}
							for _, b := range bytesOf(t, good) {
								if b.BaseOffset() != o || o == lost && what != "longer" {
									t.Errorf("read at %d gives %d", o, b.BaseOffset())
								}
							}
							r.Release()
						}
						if err != nil && o != lost {
							t.Errorf("read at %d: %v", o, err)
						}
					}
					if base := appendAll(t, io, l, 0, batchOf(t0, 1, 500)); base != end {
						t.Fatalf("append at %d, want %d", base, end)
					}
					end++
					mem = mem.KillClone()
				}
			})
		}
	}
}

// The directory of a partition that is open is removed or renamed. The log goes offline
// when it needs a new segment, and makes no second directory.
func TestDirectoryIsTakenAway(t *testing.T) {
	root := t.TempDir() + "/data"
	d := openDir(t, vfs.OS{}, root)
	l, _ := openLog(t, d, smallConfig())
	io := testIO()
	defer io.Close()
	for range 10 { // some segments
		appendAll(t, io, l, 0, batchOf(t0, 1, 500))
	}
	syncLog(t, io, l)
	end := l.EndOffset()
	aside := t.TempDir() + "/aside"
	if err := os.Rename(l.Path(), aside); err != nil {
		t.Fatal(err)
	}
	var err error
	for range 20 {
		if _, err = l.Stage(batchOf(t0, 1, 500), 0, t0, t0); err != nil {
			break
		}
		if errs := Flush(io, []*Log{l}); errs != nil {
			err = errs[0]
			break
		}
		end++
	}
	if !errors.Is(err, ErrStorage) {
		t.Fatalf("appends go on in another directory: %v", err)
	}
	if _, err := os.Stat(l.Path()); !isNotExist(err) {
		t.Fatalf("there is a directory again: %v", err)
	}
	if err := os.Rename(aside, l.Path()); err != nil {
		t.Fatal(err)
	}
	_ = l.Close() // it has failed
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if l, _ = openLog(t, openDir(t, vfs.OS{}, root), smallConfig()); l.EndOffset() != end {
		t.Errorf("put back, the log ends at %d, want %d", l.EndOffset(), end)
	}
}

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

		mem = mem.RebootClone()
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
