package segment

import (
	"errors"
	"os"
	"slices"
	"testing"

	"ringmain/internal/vfs"
)

// withSnapshots is a log of one producer whose process is dead: several segments, and a
// snapshot at the beginning of each but the first.
func withSnapshots(t *testing.T, start int) (mem *vfs.Mem, snapshots []string, segs []*segment) {
	t.Helper()
	mem, _, l := newMemLog(t)
	io := testIO()
	defer io.Close()
	for i := int32(0); len(l.segs) < 5; i++ {
		appendAll(t, io, l, 0, produced(7, 0, 20*i, t0, 20))
	}
	syncLog(t, io, l)
	if err := l.AdvanceStart(l.segs[start].base); err != nil {
		t.Fatal(err)
	}
	for _, o := range l.snapshots {
		snapshots = append(snapshots, offsetPath(l.Path(), o, snapshotSuffix))
	}
	return mem, snapshots, l.segs
}

// Producer snapshots are never synced. Those that a power cut has torn are harmless, however
// old they are, and the next start removes them; after a kill none can be torn.
func TestTornSnapshotsAreHarmless(t *testing.T) {
	for _, powerCut := range []bool{true, false} {
		mem, snapshots, _ := withSnapshots(t, 0)
		if mem = mem.KillClone(); powerCut {
			mem = mem.RebootClone()
		}
		if found := verifyAll(t, mem, false); len(found) > 0 {
			t.Fatalf("power cut %v, before: %+v", powerCut, found)
		}
		for i, path := range snapshots {
			if err := truncate(mem, path, int64(i%2*30)); err != nil {
				t.Fatal(err)
			}
		}
		found := verifyAll(t, mem, false)
		for _, path := range snapshots {
			if !slices.ContainsFunc(found, func(f Finding) bool { return f.File == path && f.Harmless == powerCut }) {
				t.Errorf("power cut %v: %s: %+v", powerCut, path, found)
			}
		}
		if !powerCut {
			continue
		}
		d := openDir(t, mem, "/data")
		l, _ := openLog(t, d, smallConfig())
		if err := errors.Join(l.Close(), d.MarkClean(), d.Close()); err != nil {
			t.Fatal(err)
		}
		if found := verifyAll(t, mem, false); len(found) > 0 {
			t.Errorf("after a start and a clean stop: %+v", found)
		}
	}
}

// What lies in segments below the log start is only waiting to be removed: no start checks
// it, and verify says nothing of it. The segment that holds the start is read.
func TestTornBytesBelowTheStartAreNoDamage(t *testing.T) {
	mem, _, segs := withSnapshots(t, 3)
	mem = mem.KillClone().RebootClone()
	for i, s := range segs[:3] {
		if err := truncate(mem, s.file.Path(), s.size-100*int64(i+1)); err != nil {
			t.Fatal(err)
		}
	}
	f, _ := mem.OpenFile(segs[2].file.Path(), os.O_RDWR)
	flip(t, f, 200, 3)
	if found := verifyAll(t, mem, false); len(found) > 0 {
		t.Errorf("below the start: %+v", found)
	}
	l, rep := openLog(t, openDir(t, mem.KillClone(), "/data"), smallConfig())
	if rep.CutBytes > 0 || rep.Damaged() || l.StartOffset() != segs[3].base {
		t.Errorf("the start: %+v", rep)
	}
	f, _ = mem.OpenFile(segs[3].file.Path(), os.O_RDWR)
	flip(t, f, 200, 3)
	if found := verifyAll(t, mem, false); len(found) == 0 {
		t.Error("at the start: nothing is found")
	}
}

// Whatever bit of ringmain.properties is flipped, and wherever the file is cut: it is refused,
// or says the same. Its last byte is the newline behind the checksum, and does not matter.
func TestIdentityIsWhatWasWrittenOrRefused(t *testing.T) {
	id := Ident{ClusterID: "6OrsXMpnRmWEyxB5y4yEVw", NodeID: 1<<31 - 1, DirectoryID: testTopic}
	b := encodeIdentity(id)
	taken := 0
	check := func(changed []byte) {
		t.Helper()
		if got, err := decodeIdentity("f", changed); err == nil {
			if taken++; got != id {
				t.Errorf("%q is read as %+v", changed, got)
			}
		}
	}
	for at := range b {
		for bit := range 8 {
			changed := slices.Clone(b)
			changed[at] ^= 1 << bit
			check(changed)
		}
		check(b[:at])
	}
	if taken != 2 { // without the newline, and with a vertical tab for it
		t.Errorf("%d changes are not refused", taken)
	}
}
