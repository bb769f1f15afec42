package damage

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ringmain/record"
)

// A place finds the file of a filled directory that a row changes, as a path in
// it.
type place func(t *testing.T, dir string) string

func fixed(name string) place { return func(*testing.T, string) string { return name } }

// nth is the n-th file of a partition with a suffix; -1 is the last.
func nth(p part, suffix string, n int) place {
	return func(t *testing.T, dir string) string {
		t.Helper()
		names, err := filepath.Glob(filepath.Join(dir, p.String(), "*"+suffix))
		if err != nil || len(names) == 0 {
			t.Fatalf("no %s in %v: %v", suffix, p, err)
		}
		slices.Sort(names)
		if n < 0 {
			n += len(names)
		}
		return filepath.Join(p.String(), filepath.Base(names[n]))
	}
}

// A change is what happens to the file.
type change func(t *testing.T, path string)

func edit(fn func(b []byte) []byte) change {
	return func(t *testing.T, path string) {
		t.Helper()
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, fn(b), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// flipAt flips a bit; a negative place counts from the end.
func flipAt(at int) change {
	return edit(func(b []byte) []byte {
		i := at
		if i < 0 {
			i += len(b)
		}
		b[i] ^= 0x10
		return b
	})
}

// flipEpoch flips a bit in the leader epoch of the n-th batch of a segment, -1 is the last.
func flipEpoch(n int) change {
	return edit(func(b []byte) []byte {
		var at []int
		for pos := 0; pos < len(b); pos += record.Batch(b[pos:]).Size() {
			at = append(at, pos)
		}
		b[at[(n+len(at))%len(at)]+15] ^= 0x10
		return b
	})
}

// flipHalf flips a bit in the middle.
func flipHalf() change { return edit(func(b []byte) []byte { b[len(b)/2] ^= 0x10; return b }) }

// cut leaves a share of the file, in percent.
func cut(percent int) change { return edit(func(b []byte) []byte { return b[:len(b)*percent/100] }) }

// cutBytes takes n bytes off the end.
func cutBytes(n int) change { return edit(func(b []byte) []byte { return b[:len(b)-n] }) }

// zeros puts zeros behind the file, zeroEnd over its end.
func zeros(n int) change { return edit(func(b []byte) []byte { return append(b, make([]byte, n)...) }) }

func zeroEnd(percent int) change {
	return edit(func(b []byte) []byte { clear(b[len(b)*(100-percent)/100:]); return b })
}

func remove(t *testing.T, path string) {
	t.Helper()
	if err := os.RemoveAll(path); err != nil {
		t.Fatal(err)
	}
}

// swap exchanges a file or directory with the one of another partition, which
// may have another name there.
func swap(from, to string) change {
	return func(t *testing.T, path string) {
		t.Helper()
		other := strings.Replace(path, string(filepath.Separator)+from, string(filepath.Separator)+to, 1)
		if _, err := os.Stat(other); err != nil {
			t.Fatal(err)
		}
		for _, r := range [][2]string{{path, path + ".swap"}, {other, path}, {path + ".swap", other}} {
			if err := os.Rename(r[0], r[1]); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// copied puts the file of another partition in the place.
func copied(from, to string) change {
	return func(t *testing.T, path string) {
		t.Helper()
		b, err := os.ReadFile(strings.Replace(path, string(filepath.Separator)+from, string(filepath.Separator)+to, 1))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// exchanged has the files of a name with some suffixes change places between orders-0 and
// orders-1, as far as they are there.
func exchanged(suffixes ...string) change {
	return func(t *testing.T, path string) {
		t.Helper()
		stem := strings.TrimSuffix(path, filepath.Ext(path))
		for _, suffix := range suffixes {
			if _, err := os.Stat(stem + suffix); err == nil || suffix == filepath.Ext(path) {
				swap("orders-0", "orders-1")(t, stem+suffix)
			}
		}
	}
}
