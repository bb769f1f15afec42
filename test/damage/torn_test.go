package damage

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ringmain/test/harness"
)

// Power is cut, and producer snapshots are torn by it: none is synced. Verify calls them
// harmless, its exit code is 0, and after the next start there is nothing left to find.
func TestTornSnapshotsAfterAPowerCut(t *testing.T) {
	dir := filled(t, true)
	if err := os.WriteFile(filepath.Join(dir, "boot-id"), []byte("of another run of the system\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, p := range parts {
		for _, n := range []int{0, 1} {
			cut(50*n)(t, filepath.Join(dir, nth(p, ".snapshot", n)(t, dir)))
		}
	}
	v := command(t, "verify", "--data-dir", dir, "--output", "json")
	torn := 0
	for _, f := range v.Findings {
		if strings.HasSuffix(f.File, ".snapshot") {
			torn++
		}
	}
	if v.code != 0 || torn != 2*len(parts) {
		t.Errorf("verify: %v", v)
	}
	b := harness.StartOwn(t, harness.Options{DataDir: dir, Overrides: overrides})
	for _, p := range parts {
		if s := readAll(t, b.Addr(), p); len(s.got) != endOffset {
			t.Errorf("%v has %d of %d records", p, len(s.got), endOffset)
		}
	}
	if err := b.Stop(); err != nil {
		t.Fatal(err)
	}
	if v := command(t, "verify", "--data-dir", dir, "--output", "json"); v.code != 0 || len(v.Findings) > 0 {
		t.Errorf("verify after a start: %v", v)
	}
}
