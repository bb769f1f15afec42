package segment

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"ringmain/internal/vfs"
	"ringmain/record"
)

// lostNewest is a log that was killed, and whose newest segments are gone.
type lostNewest struct {
	mem  *vfs.Mem
	from int64 // the first lost offset
	end  int64 // of the log before it was killed
}

func loseNewest(t *testing.T, segments, gone int, checkpoint, producer bool) lostNewest {
	t.Helper()
	mem, d, l := newMemLog(t)
	io := testIO()
	defer io.Close()
	sequence := int32(0)
	for i := 0; len(l.segs) < segments || i < 3; i++ {
		b := batchOf(t0, 1, 500)
		if producer {
			b, sequence = produced(7, 0, sequence, t0, 2), sequence+2
		}
		appendAll(t, io, l, 0, b)
		if i == 1 && checkpoint {
			syncLog(t, io, l)
			if err := d.Checkpoint(); err != nil {
				t.Fatal(err)
			}
		}
	}
	syncLog(t, io, l)
	out := lostNewest{mem: mem.KillClone(), from: l.segs[len(l.segs)-gone].base, end: l.EndOffset()}
	for _, s := range l.segs[len(l.segs)-gone:] {
		if err := out.mem.Remove(s.file.Path()); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

func eachLostNewest(t *testing.T, test func(t *testing.T, k lostNewest)) {
	for name, n := range map[string][2]int{"the only segment": {1, 1}, "the newest": {4, 1}, "the newest two": {4, 2}, "all": {3, 3}} {
		for _, checkpoint := range []bool{false, true} {
			for _, producer := range []bool{false, true} {
				if producer && n[0] > 1 {
					continue // its batches are small
				}
				t.Run(fmt.Sprintf("%s, checkpoint %v, producer %v", name, checkpoint, producer), func(t *testing.T) {
					test(t, loseNewest(t, n[0], n[1], checkpoint, producer))
				})
			}
		}
	}
}

// The newest segment's file is taken away after a kill, and nothing lies behind it. No offset
// that a record had is given again, reads of the lost ones are refused, and later kills
// change nothing.
func TestNewestSegmentIsMissingAfterAKill(t *testing.T) {
	eachLostNewest(t, func(t *testing.T, k lostNewest) {
		io := testIO()
		defer io.Close()
		mem, end := k.mem, int64(-1)
		for round := range 3 {
			l, rep := openLog(t, openDir(t, mem, "/data"), smallConfig())
			if end < 0 {
				if end = l.EndOffset(); !rep.Damaged() || rep.LostTo != end {
					t.Errorf("it is not reported: %+v", rep)
				}
			}
			if l.EndOffset() != end || end < k.end || end > k.end+newestStep+int64(round) {
				t.Fatalf("start %d: the log ends at %d, want %d; it had come to %d", round, l.EndOffset(), end, k.end)
			}
			for o := range k.end {
				r, err := l.Plan(o, l.EndOffset(), 1, true)
				if lost := o >= k.from; lost != (errors.Is(err, ErrCorrupt) || errors.Is(err, ErrOffsetOutOfRange)) || !lost && err != nil {
					t.Fatalf("start %d: read at %d, lost %v: %v", round, o, lost, err)
				}
				if k.from > 0 && errors.Is(err, ErrOffsetOutOfRange) {
					t.Fatalf("read at %d: %v", o, err)
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

// log verify finds that the newest segment is missing, and a repair accepts it: the offsets
// stay unused.
func TestVerifyFindsTheMissingNewestSegment(t *testing.T) {
	eachLostNewest(t, func(t *testing.T, k lostNewest) {
		found := verifyAll(t, k.mem, true)
		if !slices.ContainsFunc(found, func(f Finding) bool { return !f.Harmless && f.From <= k.from && f.To >= k.end }) {
			t.Fatalf("%+v", found)
		}
		if left := verifyAll(t, k.mem, false); len(left) > 0 {
			t.Errorf("after the repair: %+v", left)
		}
		l, _ := openLog(t, openDir(t, k.mem.KillClone(), "/data"), smallConfig())
		if l.EndOffset() < k.end {
			t.Errorf("after the repair the log ends at %d, it had come to %d", l.EndOffset(), k.end)
		}
		for o := l.StartOffset(); o < k.end; o++ {
			r, err := l.Plan(o, l.EndOffset(), 1, true)
			if err != nil {
				t.Fatalf("after the repair, read at %d: %v", o, err)
			}
			r.Release()
		}
	})
}

// verifyAll reads the partition, and repairs it if told to.
func verifyAll(t *testing.T, fsys vfs.FS, repair bool) []Finding {
	t.Helper()
	v, err := OpenVerifier(fsys, "/data")
	if err == nil {
		err = v.VerifyPartition(testTP, testTopic)
	}
	if err == nil && repair {
		err = v.Repair()
	}
	if err = errors.Join(err, v.Close()); err != nil {
		t.Fatal(err)
	}
	return v.Findings
}

// A log that comes to the offset that it noted notes another one.
func TestNewestIsNotedAgainInOneSegment(t *testing.T) {
	mem, _, l := newMemLog(t)
	io := testIO()
	defer io.Close()
	cfg := smallConfig()
	cfg.SegmentBytes = 64 << 20
	l.SetConfig(cfg)
	for range 5 {
		b := record.NewBuilder()
		for range newestStep / 2 {
			b.Add(t0, nil, nil)
		}
		appendAll(t, io, l, 0, b.Build())
		killed := mem.KillClone()
		if err := killed.Remove(l.active().file.Path()); err != nil {
			t.Fatal(err)
		}
		again, _ := openLog(t, openDir(t, killed, "/data"), cfg)
		if end := l.EndOffset(); again.EndOffset() < end || again.EndOffset() > end+newestStep {
			t.Errorf("the log had come to %d and goes on at %d", end, again.EndOffset())
		}
	}
}

// A kill at whatever step of appends, rolls, retention and truncation: no segment is taken
// for lost that was removed on purpose, or was not there yet.
func TestNoSegmentIsTakenForLost(t *testing.T) {
	mem := vfs.NewMem()
	var images []image
	var ends []int64
	var end atomic.Int64
	step := &stepFS{FS: mem}
	var noting sync.Mutex // several files are synced side by side, and removed beside that
	step.after = func(what string) {
		noting.Lock()
		defer noting.Unlock()
		images, ends = append(images, image{what, mem.KillClone()}), append(ends, end.Load())
	}
	d := openDir(t, step, "/data")
	defer d.Close()
	cfg := smallConfig()
	cfg.SegmentBytes, cfg.DeletePolicy = 2000, true
	cfg.DeleteDelayMs = 60_000 // the reaper stays out of it
	l, _ := openLog(t, d, cfg)
	io := NewPwritevIO()
	defer io.Close()
	fill := func(n int) {
		for range n {
			appendAll(t, io, l, 0, batchOf(t0, 1, 700))
			end.Store(l.EndOffset())
		}
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		fill(5)
		syncLog(t, io, l)
		must(d.Checkpoint())
		fill(3)
		syncLog(t, io, l)
		must(l.AdvanceStart(l.EndOffset())) // and all segments go
		_, err := l.Retain(t0)
		must(err)
		if len(l.segs) != 1 || l.segs[0].onDisk {
			t.Fatalf("%d segments are left", len(l.segs))
		}
		fill(4)
		syncLog(t, io, l)
		must(l.TruncateTo(end.Add(-3)))
		end.Store(l.EndOffset())
		fill(1)
	}
	noting.Lock()
	taken, want := images, ends
	noting.Unlock()
	for i, img := range taken {
		again, rep := openLog(t, openDir(t, img.mem, "/data"), cfg)
		if rep.Damaged() || again.EndOffset() < want[i] || again.EndOffset() > want[i]+4 {
			t.Errorf("step %d, killed after %s: the log ends at %d, want %d; %+v", i, img.what, again.EndOffset(), want[i], rep)
		}
	}
	if len(taken) < 50 {
		t.Errorf("%d steps", len(taken))
	}
}
