package segment

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"ringmain/internal/vfs"
	"ringmain/record"
)

// verified reads the test's partition and gives the verifier.
func verified(t testing.TB, mem vfs.FS) *Verifier {
	t.Helper()
	v, err := OpenVerifier(mem, "/data")
	if err != nil {
		t.Fatal(err)
	}
	ps, err := v.Partitions()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range ps {
		if err := v.VerifyPartition(p.TopicPartition, testTopic); err != nil {
			t.Fatal(err)
		}
	}
	if len(ps) == 0 {
		v.Missing(testTP, testTopic)
	}
	return v
}

// wrong are the findings that are no leftovers of a crash.
func wrong(v *Verifier) (out []Finding) {
	for _, f := range v.Findings {
		if !f.Harmless {
			out = append(out, f)
		}
	}
	return out
}

func TestVerifyFindsNothingInASoundLog(t *testing.T) {
	for _, clean := range []bool{true, false} {
		mem, all := history(t, clean)
		v := verified(t, mem)
		if f := wrong(v); len(f) > 0 {
			t.Errorf("clean %v: %+v", clean, f)
		}
		if v.Totals.Batches != int64(len(all)) || v.Totals.Partitions != 1 || v.Totals.Segments < 3 {
			t.Errorf("clean %v: %+v, want %d batches", clean, v.Totals, len(all))
		}
		if _, err := OpenDir(mem, "/data", testIdent, quiet); !errors.Is(err, ErrLocked) {
			t.Errorf("a broker starts meanwhile: %v", err)
		}
		v.Close()
	}
}

// Whatever is damaged: verify names the file, or the damage did not matter;
// repair keeps every byte of a .log file somewhere, verify is clean after it,
// the log opens, and what can be read is what was written, at its offset.
func checkRepaired(t testing.TB, seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 9))
	clean := rng.IntN(4) > 0
	mem, all := history(t, clean)
	files := allFiles(t, mem)
	path := files[rng.IntN(len(files))]
	for !strings.HasPrefix(path, "/data/orders-3/") && !strings.HasSuffix(path, pointsName) {
		path = files[rng.IntN(len(files))]
	}
	before, _ := vfs.ReadFile(mem, path)
	what := damage(t, mem, path, rng)
	after, _ := vfs.ReadFile(mem, path)
	v := verified(t, mem)
	if clean && len(v.Findings) == 0 && strings.HasSuffix(path, logSuffix) && !bytes.Equal(before, after) {
		t.Fatalf("seed %d: %s %s: nothing is found", seed, path, what)
	}
	for _, f := range v.Findings {
		if f.Reason == "" || f.File == "" || f.Repair == "" {
			t.Fatalf("seed %d: %s %s: %+v", seed, path, what, f)
		}
	}
	said := v.Findings
	// Behind the recovery point of a log that was killed nobody knows what was there.
	torn := strings.HasSuffix(path, pointsName) || !clean && what == "removed"
	for _, f := range said {
		torn = torn || f.Harmless
	}
	if err := v.Repair(); err != nil {
		t.Fatalf("seed %d: %s %s: repair: %v\n%+v", seed, path, what, err, said)
	}
	v.Close()
	v = verified(t, mem)
	if f := v.Findings; len(f) > 0 {
		t.Fatalf("seed %d: %s %s: after the repair: %+v\nbefore: %+v", seed, path, what, f, said)
	}
	v.Close()
	if strings.HasSuffix(path, logSuffix) {
		kept := 0
		es, _ := mem.ReadDir("/data/orders-3")
		for _, e := range es {
			if strings.HasPrefix("/data/orders-3/"+e.Name, path) {
				b, _ := vfs.ReadFile(mem, "/data/orders-3/"+e.Name)
				if h := record.Batch(b); len(b) == record.HeaderSize && bytes.Equal(b, emptyBatch(h.BaseOffset(), h.LastOffset()+1, h.LeaderEpoch())) {
					continue // put in its place
				}
				kept += len(b)
			}
		}
		if kept != len(after) {
			t.Fatalf("seed %d: %s %s: %d of %d bytes are kept", seed, path, what, kept, len(after))
		}
	}
	end := all[len(all)-1].LastOffset() + 1
	d := openDir(t, mem, "/data")
	l, rep := openLog(t, d, smallConfig())
	if rep.Damaged() || l.EndOffset() < end && !torn {
		t.Fatalf("seed %d: %s %s: log end %d, was %d; %+v\n%+v", seed, path, what, l.EndOffset(), end, rep, said)
	}
	written := map[int64]record.Batch{}
	for _, b := range all {
		written[b.BaseOffset()] = b
	}
	got := map[int64]bool{}
	for o := l.StartOffset(); o < l.EndOffset(); {
		r, err := l.Plan(o, l.EndOffset(), 700, true)
		if err != nil {
			t.Fatalf("seed %d: %s %s: plan at %d after the repair: %v\n%+v", seed, path, what, o, err, said)
		}
		if r.N == 0 {
			break
		}
		good, err := r.Warm()
		if err != nil {
			t.Fatalf("seed %d: %s %s: read at %d after the repair: %v", seed, path, what, o, err)
		}
		for _, b := range bytesOf(t, good) {
			if !bytes.Equal(b, written[b.BaseOffset()]) && !bytes.Equal(b, emptyBatch(b.BaseOffset(), b.LastOffset()+1, b.LeaderEpoch())) {
				t.Fatalf("seed %d: %s %s: batch at %d is not what was written", seed, path, what, b.BaseOffset())
			}
			got[b.BaseOffset()] = true
			o = b.LastOffset() + 1
		}
		r.Release()
	}
	for _, b := range all { // what is gone was said to be
		if got[b.BaseOffset()] || torn {
			continue
		}
		named := false
		for _, f := range said {
			named = named || f.From <= b.BaseOffset() && b.BaseOffset() < f.To
		}
		if !named {
			t.Fatalf("seed %d: %s %s: batch %d is gone and was not named: %+v", seed, path, what, b.BaseOffset(), said)
		}
	}
	io := NewPwritevIO()
	defer io.Close()
	if base := appendAll(t, io, l, 9, batchOf(t0, 1, 10)); base < end && !torn {
		t.Fatalf("seed %d: %s %s: offset %d is given out again", seed, path, what, base)
	}
	syncLog(t, io, l)
	if err := errors.Join(l.Close(), d.MarkClean(), d.Close()); err != nil {
		t.Fatal(err)
	}
	v = verified(t, mem)
	if f := v.Findings; len(f) > 0 {
		t.Fatalf("seed %d: %s %s: after the repair and a run: %+v", seed, path, what, f)
	}
	v.Close()
}

func TestRepairOfDamagedFiles(t *testing.T) {
	for seed := range uint64(400) {
		checkRepaired(t, seed)
	}
}

// Files of another partition in the place of ours, one by one and all together.
func TestSwappedFilesAreFound(t *testing.T) {
	other := func(t *testing.T) *vfs.Mem {
		mem, d, l := newMemLog(t)
		io := NewPwritevIO()
		defer io.Close()
		for i := range 70 {
			appendAll(t, io, l, 0, produced(9, 0, int32(3*i), t0+7777+int64(i), 3))
		}
		syncLog(t, io, l)
		if err := errors.Join(l.Close(), d.MarkClean(), d.Close()); err != nil {
			t.Fatal(err)
		}
		return mem
	}
	for _, suffix := range []string{logSuffix, indexSuffix} {
		for _, which := range []string{"first", "last"} {
			mem, all := history(t, true)
			theirs := other(t)
			pick := func(m *vfs.Mem) string {
				var names []string
				es, _ := m.ReadDir("/data/orders-3")
				for _, e := range es {
					if _, ok := parseOffsetName(e.Name, suffix); ok {
						names = append(names, "/data/orders-3/"+e.Name)
					}
				}
				if which == "first" {
					return names[0]
				}
				return names[len(names)-1]
			}
			b, err := vfs.ReadFile(theirs, pick(theirs))
			if err != nil {
				t.Fatal(err)
			}
			path := pick(mem)
			if err := vfs.WriteFile(mem, path, b, true); err != nil {
				t.Fatal(err)
			}
			ours := map[int64]record.Batch{}
			for _, b := range all {
				ours[b.BaseOffset()] = b
			}
			check := func(when string, refusedMay bool) {
				d := openDir(t, mem, "/data")
				defer d.Close()
				l, _, err := d.OpenLog(testTP, testTopic, smallConfig())
				if err != nil {
					if !refusedMay || !errors.Is(err, ErrCorrupt) {
						t.Errorf("%s %s, %s: %v", which, suffix, when, err)
					}
					return
				}
				for o := l.StartOffset(); o < l.EndOffset(); o++ {
					r, err := l.Plan(o, l.EndOffset(), 1, true)
					if err != nil {
						continue
					}
					good, _ := r.Warm()
					for _, b := range bytesOf(t, good) {
						if !bytes.Equal(b, ours[b.BaseOffset()]) && b.Count() > 0 {
							t.Fatalf("%s %s, %s: the other partition's batch %d is sent", which, suffix, when, b.BaseOffset())
						}
					}
					r.Release()
				}
				l.Close()
				d.MarkClean()
			}
			v := verified(t, mem)
			if !strings.HasPrefix(pathOf(wrong(v)), strings.TrimSuffix(path, suffix)) {
				t.Errorf("%s %s: found %+v", which, suffix, v.Findings)
			}
			v.Close()
			copied := mem.KillClone()
			check("before the repair", true)
			mem = copied
			v = verified(t, mem)
			if err := v.Repair(); err != nil {
				t.Fatal(err)
			}
			v.Close()
			v = verified(t, mem)
			if len(v.Findings) > 0 {
				t.Errorf("%s %s: after the repair %+v", which, suffix, v.Findings)
			}
			v.Close()
			check("after the repair", false)
		}
	}
}

func pathOf(fs []Finding) string {
	if len(fs) == 0 {
		return ""
	}
	return fs[0].File
}

func TestMissingDirectoryIsFound(t *testing.T) {
	mem, all := history(t, true)
	mem.RemoveAll("/data/orders-3")
	v := verified(t, mem)
	end := all[len(all)-1].LastOffset() + 1
	if len(v.Findings) != 1 || v.Findings[0].To != end || v.Findings[0].From != 0 {
		t.Fatalf("found %+v", v.Findings)
	}
	if err := v.Repair(); err != nil {
		t.Fatal(err)
	}
	v.Close()
	v = verified(t, mem)
	if len(v.Findings) > 0 {
		t.Errorf("after the repair %+v", v.Findings)
	}
	v.Close()
	d := openDir(t, mem, "/data")
	l, rep := openLog(t, d, smallConfig())
	if rep.Damaged() || l.StartOffset() != end || l.EndOffset() != end {
		t.Errorf("start %d, end %d, %+v", l.StartOffset(), l.EndOffset(), rep)
	}
	l.Close()
}

func TestVerifierRefusesForeignDirectories(t *testing.T) {
	mem := vfs.NewMem()
	mem.MkdirAll("/data")
	vfs.WriteFile(mem, "/data/thesis.tex", []byte("text"), true)
	if _, err := OpenVerifier(mem, "/data"); !errors.Is(err, ErrForeign) {
		t.Errorf("%v", err)
	}
	if es, _ := mem.ReadDir("/data"); len(es) != 1 {
		t.Errorf("it wrote to it: %v", es)
	}
	mem.MkdirAll("/new")
	if _, err := OpenVerifier(mem, "/new"); !errors.Is(err, ErrForeign) {
		t.Errorf("%v", err)
	}
	if _, err := OpenVerifier(vfs.OS{}, "/nonexistent/ringmain"); !errors.Is(err, ErrForeign) || !errors.Is(err, os.ErrNotExist) && !strings.Contains(err.Error(), "/nonexistent/ringmain") {
		t.Errorf("%v", err)
	}
}

// A journal that the next start replays may hold what looks lost.
func TestRepairWaitsForTheJournal(t *testing.T) {
	mem, _ := history(t, false)
	path := offsetPath("/data/orders-3", 0, logSuffix)
	f, err := mem.OpenFile(path, os.O_RDWR)
	if err != nil {
		t.Fatal(err)
	}
	flip(t, f, 100, 3)
	if err := vfs.WriteFile(mem, journalPath("/data", 0), []byte("RMJF"), true); err != nil {
		t.Fatal(err)
	}
	v := verified(t, mem)
	if f := wrong(v); len(f) != 1 || f[0].File != path || f[0].Repair != "" || !strings.Contains(f[0].Reason, "start and stop the broker before a repair") {
		t.Errorf("found %+v", v.Findings)
	}
	if v.Repairs() != 0 {
		t.Errorf("%d repairs", v.Repairs())
	}
	v.Close()
	mem.Remove(journalPath("/data", 0))
	v = verified(t, mem)
	if f := wrong(v); len(f) != 1 || f[0].Repair == "" {
		t.Errorf("without a journal: %+v", v.Findings)
	}
	v.Close()
}
