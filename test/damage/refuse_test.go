package damage

import (
	"bytes"
	"context"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ringmain/test/harness"
)

// refuse wants a start to end with exit code 1 and a sentence that has a word,
// and every file as it was.
func refuse(t *testing.T, dir, word string, args ...string) {
	t.Helper()
	bin, err := harness.Binary()
	if err != nil {
		t.Fatal(err)
	}
	before := files(t, dir)
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	var out, errOut bytes.Buffer
	cmd := exec.CommandContext(ctx, bin, append([]string{"serve", "--data-dir", dir, "--listen", "127.0.0.1:0", "--http", "off"}, args...)...)
	cmd.Stdout, cmd.Stderr = &out, &errOut
	_ = cmd.Run()
	if code := cmd.ProcessState.ExitCode(); code != 1 || out.Len() > 0 || !strings.Contains(errOut.String(), word) {
		t.Errorf("the start ends with %d, %q, and says %q; want 1 and %q", code, out.String(), errOut.String(), word)
	}
	if after := files(t, dir); !maps.Equal(before, after) {
		t.Error("a refused start has changed the directory")
	}
}

func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		if filepath.Base(path) != ".lock" { // log verify may have made it
			out[path] = string(b)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestDirectoryInUseOrOfAnother(t *testing.T) {
	dir := filled(t, false)
	b := harness.StartOwn(t, harness.Options{DataDir: dir})
	refuse(t, dir, "data directory is in use by another process")
	for _, verb := range []string{"verify", "repair"} {
		if v := command(t, verb, "--data-dir", dir, "--output", "json"); v.code != 1 || !strings.Contains(v.stderr, "in use by another process: "+dir+"; stop the broker first") {
			t.Errorf("%s while a broker runs: %v", verb, v)
		}
	}
	if s := readAll(t, b.Addr(), parts[0]); len(s.got) != endOffset {
		t.Errorf("the broker that runs serves %d of %d records", len(s.got), endOffset)
	}
	if err := b.Stop(); err != nil {
		t.Fatal(err)
	}
	refuse(t, dir, "is of node 1, this node is 2 (node.id)", "--override", "node.id=2")
	// Another cluster's identity over ours.
	other := filled(t, false)
	theirs, err := os.ReadFile(filepath.Join(other, "ringmain.properties"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "ringmain.properties"), theirs, 0o644); err != nil {
		t.Fatal(err)
	}
	refuse(t, dir, "another")
	if v := command(t, "verify", "--data-dir", dir, "--output", "json"); v.code != 1 || !v.names("is of cluster") && !v.names("of cluster") {
		t.Errorf("verify of another cluster's directory: %v", v)
	}
	theses := t.TempDir()
	if err := os.WriteFile(filepath.Join(theses, "thesis.tex"), []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	refuse(t, theses, "not a Ringmain data directory")
	if v := command(t, "repair", "--yes", "--data-dir", theses, "--output", "json"); v.code != 1 || !strings.Contains(v.stderr, "not a Ringmain data directory") {
		t.Errorf("repair of somebody's directory: %v", v)
	}
}

// After SIGKILL everything acknowledged is there, and verify tells leftovers from
// damage.
func TestKilledBrokerIsSound(t *testing.T) {
	dir := filled(t, true)
	if v := command(t, "verify", "--data-dir", dir, "--output", "json"); v.code != 0 {
		t.Errorf("verify after SIGKILL: %v", v)
	}
	b := harness.StartOwn(t, harness.Options{DataDir: dir, Overrides: overrides})
	for _, p := range parts {
		if s := readAll(t, b.Addr(), p); len(s.got) != endOffset || len(s.codes) > 0 {
			t.Errorf("%v: %d of %d records, codes %v", p, len(s.got), endOffset, s.codes)
		}
	}
}
