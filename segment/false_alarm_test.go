package segment

import (
	"testing"
	"time"

	"ringmain/internal/vfs"
)

// TestRecoveryPointThatExpired: the segment of the recovery point was removed below the log
// start, and the process killed before it wrote the next one.
func TestRecoveryPointThatExpired(t *testing.T) {
	mem := vfs.NewMem()
	d := openDir(t, mem, "/data")
	l, _ := openLog(t, d, smallConfig())
	b := batchOf(t0, 2, 300)
	appendAll(t, testIO(), l, 0, b)
	syncLog(t, testIO(), l)
	if err := d.Checkpoint(); err != nil { // within the first segment
		t.Fatal(err)
	}
	for len(l.segs) < 3 {
		appendAll(t, testIO(), l, 0, b)
	}
	appendAll(t, testIO(), l, 0, b)
	_, upTo := l.BeginSync(nil)
	l.EndSync(upTo, true, nil) // a journal has them, which raises no recovery point
	end, newest := l.EndOffset(), l.active().base
	if err := l.AdvanceStart(end - 1); err != nil {
		t.Fatal(err)
	}
	if n, err := l.Retain(t0); err != nil || n == 0 {
		t.Fatalf("retention removed %d segments: %v", n, err)
	}
	first := offsetPath(l.home.path, 0, logSuffix)
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		if there, err := vfs.Exists(mem, first); err != nil || time.Now().After(deadline) {
			t.Fatalf("%s is still there: %v", first, err)
		} else if !there {
			break
		}
	}
	killed := mem.KillClone()
	if p, ok := d.points.get(l.key()); !ok || p.segBase != 0 || p.pos == 0 || p.offset == newest {
		t.Fatalf("the recovery point is %+v", p)
	}
	d, l, said := logged(t, killed)
	defer d.Close()
	if said != "" {
		t.Errorf("the start says %s", said)
	}
	if l.StartOffset() != end-1 || l.EndOffset() != end {
		t.Errorf("the log holds %d to %d, want %d to %d", l.StartOffset(), l.EndOffset(), end-1, end)
	}
}

// TestVerifyUnsealedIndex: a process is killed after the first append to a new segment and
// before the index of the one before is whole. That is no damage: the next start writes it.
// Below the recovery point, or after a clean stop, it is.
func TestVerifyUnsealedIndex(t *testing.T) {
	leftovers := map[string]func(fsys vfs.FS, path string) error{
		"missing": func(fsys vfs.FS, path string) error { return fsys.Remove(path) },
		"empty":   func(fsys vfs.FS, path string) error { return vfs.WriteFile(fsys, path, nil, false) },
		"no header": func(fsys vfs.FS, path string) error {
			b, err := vfs.ReadFile(fsys, path)
			if err != nil {
				return err
			}
			clear(b[:indexHeaderSize])
			return vfs.WriteFile(fsys, path, b, false)
		},
	}
	for what, leave := range leftovers {
		for _, state := range []string{"killed", "killed behind a sync", "stopped"} {
			mem := vfs.NewMem()
			d := openDir(t, mem, "/data")
			l, _ := openLog(t, d, smallConfig())
			d.MarkRecovered()
			for len(l.segs) < 3 {
				appendAll(t, testIO(), l, 0, batchOf(t0, 2, 300))
				if len(l.segs) == 1 || state != "killed" {
					syncLog(t, testIO(), l)
				}
			}
			end, index := l.EndOffset(), offsetPath(l.home.path, l.segs[1].base, indexSuffix)
			if state == "stopped" {
				if err := d.Close(); err != nil {
					t.Fatal(err)
				}
			}
			left := mem.KillClone()
			if err := leave(left, index); err != nil {
				t.Fatal(err)
			}
			v := verified(t, left)
			for _, f := range v.Findings {
				if f.File == index && f.Harmless != (state == "killed") {
					t.Errorf("%s, %s: %+v", state, what, f)
				}
			}
			if len(v.Findings) == 0 {
				t.Errorf("%s, %s: nothing is found", state, what)
			}
			v.Close()
			if state != "killed" {
				continue
			}
			d, l, said := logged(t, left)
			if said != "" || l.EndOffset() != end {
				t.Errorf("%s: the log ends at %d, want %d, and the start says %s", what, l.EndOffset(), end, said)
			}
			d.Close()
		}
	}
}

// TestUnfinishedJournal: a process is killed while it makes its journal. Nothing is in it, so
// that the start has nothing to say; what damaged a finished one is told.
func TestUnfinishedJournal(t *testing.T) {
	whole := append(journalHead(journalBlock), make([]byte, 2*journalBlock)...)
	headless := append(make([]byte, journalBlock), whole[journalBlock:]...)
	damaged := append([]byte(nil), whole...)
	damaged[9] ^= 1
	for what, c := range map[string]struct {
		file []byte
		told bool
	}{
		"empty":          {nil, false},
		"without a head": {headless, false},
		"growing":        {headless[:2*journalBlock], false},
		"whole":          {whole, false},
		"damaged":        {damaged, true},
		"cut":            {whole[:2*journalBlock], true},
	} {
		mem := vfs.NewMem()
		d := openDir(t, mem, "/data")
		l, _ := openLog(t, d, smallConfig())
		d.MarkRecovered()
		appendAll(t, testIO(), l, 0, batchOf(t0, 2, 300))
		killed := mem.KillClone()
		if err := vfs.WriteFile(killed, journalPath("/data", 0), c.file, false); err != nil {
			t.Fatal(err)
		}
		d, again, said := logged(t, killed)
		if told := said != ""; told != c.told || again.EndOffset() != 2 {
			t.Errorf("%s: the log ends at %d, want 2, and the start says %q", what, again.EndOffset(), said)
		}
		d.Close()
	}
}
