package vfs

import (
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"testing"
)

func write(t *testing.T, fsys FS, name, text string, sync bool) {
	t.Helper()
	f, err := fsys.OpenFile(name, os.O_RDWR|os.O_CREATE)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteAt([]byte(text), 0); err != nil {
		t.Fatal(err)
	}
	if sync {
		if err := f.SyncData(); err != nil {
			t.Fatal(err)
		}
	}
}

// The same behaviour is expected of the memory and of the real disk.
func TestFileSystemsAgree(t *testing.T) {
	for name, fsys := range map[string]FS{"mem": NewMem(), "os": OS{}, "faulty": NewFaulty(NewMem())} {
		t.Run(name, func(t *testing.T) {
			root := "/data"
			if name == "os" {
				root = t.TempDir()
			}
			if err := fsys.MkdirAll(root + "/a/b"); err != nil {
				t.Fatal(err)
			}
			write(t, fsys, root+"/a/b/f", "hello", true)
			if err := fsys.Rename(root+"/a", root+"/c"); err != nil {
				t.Fatal(err)
			}
			if b, err := ReadFile(fsys, root+"/c/b/f"); err != nil || string(b) != "hello" {
				t.Fatalf("after the rename: %q, %v", b, err)
			}
			if _, err := fsys.Stat(root + "/a"); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("old name: %v", err)
			}
			if _, err := fsys.OpenFile(root+"/none", os.O_RDONLY); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("missing file: %v", err)
			}
			if err := WriteFile(fsys, root+"/g", []byte("x"), true); err != nil {
				t.Fatal(err)
			}
			es, err := fsys.ReadDir(root)
			if err != nil || len(es) != 2 || es[0] != (Entry{"c", true}) || es[1] != (Entry{"g", false}) {
				t.Errorf("ReadDir: %v, %v", es, err)
			}
			f, err := fsys.OpenFile(root+"/g", os.O_RDWR)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			if n, err := f.WritevAt([][]byte{[]byte("ab"), nil, []byte("cd")}, 1); n != 4 || err != nil {
				t.Fatalf("WritevAt: %d, %v", n, err)
			}
			p := make([]byte, 9)
			if n, err := f.ReadAt(p, 0); n != 5 || err != io.EOF || string(p[:n]) != "xabcd" {
				t.Errorf("ReadAt: %q, %v", p[:n], err)
			}
			if err := f.Truncate(2); err != nil {
				t.Fatal(err)
			}
			if n, err := f.Size(); n != 2 || err != nil {
				t.Errorf("Size: %d, %v", n, err)
			}
			if n, err := f.Links(); n != 1 || err != nil {
				t.Errorf("Links: %d, %v", n, err)
			}
			if err := WriteFile(fsys, root+"/g", []byte("another"), false); err != nil {
				t.Fatal(err)
			}
			if n, err := f.Links(); n != 0 || err != nil {
				t.Errorf("Links of a file that was replaced: %d, %v", n, err)
			}
			l, err := fsys.Lock(root + "/lock")
			if err != nil {
				t.Fatal(err)
			}
			if _, err := fsys.Lock(root + "/lock"); !errors.Is(err, ErrLocked) {
				t.Errorf("second lock: %v", err)
			}
			l.Close()
			if l, err = fsys.Lock(root + "/lock"); err != nil {
				t.Errorf("lock after unlock: %v", err)
			} else {
				l.Close()
			}
		})
	}
}

func TestCrashCloneKeepsWhatWasSynced(t *testing.T) {
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 0))
		m := NewMem()
		m.MkdirAll("/d")
		m.SyncDir("/")
		write(t, m, "/d/safe", "synced bytes", true)
		m.SyncDir("/d")
		write(t, m, "/d/loose", "never synced", false)
		c := m.CrashClone(rng)
		if b, err := ReadFile(c, "/d/safe"); err != nil || string(b) != "synced bytes" {
			t.Fatalf("seed %d: the synced file is %q, %v", seed, b, err)
		}
		k := m.KillClone()
		if b, err := ReadFile(k, "/d/loose"); err != nil || string(b) != "never synced" {
			t.Fatalf("after a kill: %q, %v", b, err)
		}
	}
}

func TestFaultyCountsAndMatches(t *testing.T) {
	boom := errors.New("boom")
	f := NewFaulty(NewMem())
	f.Inject(Rule{Op: OpSync, Pattern: "*.log", After: 1, Times: 1, Err: boom})
	for i, want := range []error{nil, boom, nil} {
		g, err := f.OpenFile("/x.log", os.O_RDWR|os.O_CREATE)
		if err != nil {
			t.Fatal(err)
		}
		if err := g.SyncData(); !errors.Is(err, want) {
			t.Errorf("sync %d: %v, want %v", i, err, want)
		}
	}
	f.Inject(Rule{Op: OpWrite, Short: 3, Err: boom})
	g, _ := f.OpenFile("/y", os.O_RDWR|os.O_CREATE)
	if n, err := g.WritevAt([][]byte{{1, 2}, {3, 4}}, 0); n != 3 || !errors.Is(err, boom) {
		t.Errorf("short write: %d, %v", n, err)
	}
}
