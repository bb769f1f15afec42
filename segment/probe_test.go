package segment

import (
	"os"
	"testing"
)

func TestProbeIO(t *testing.T) {
	dir := t.TempDir()
	for engine, names := range map[string][]string{"auto": {"pwritev", "hybrid", "uring"}, "": {"pwritev", "hybrid", "uring"}, "pwritev": {"pwritev"}} {
		factory, name, why, err := ProbeIO(dir, engine)
		if err != nil || why == "" {
			t.Fatalf("%q: %q because %q, %v", engine, name, why, err)
		}
		known := false
		for _, n := range names {
			known = known || n == name
		}
		io, err := factory()
		if err != nil || !known || io.Name() != name {
			t.Errorf("%q: probe says %q, the backend %v, %v", engine, name, io, err)
			continue
		}
		io.Close()
	}
	if _, _, _, err := ProbeIO(dir, "sync"); err == nil {
		t.Error("an unknown engine is accepted")
	}
	if len(backends) == 1 { // no ring in this binary, or not allowed here
		if _, _, _, err := ProbeIO(dir, "uring"); err == nil {
			t.Error("a ring is promised that is not there")
		}
	} else if _, name, _, err := ProbeIO(dir, "uring"); err != nil || name != "uring" {
		t.Errorf("uring: %q, %v", name, err)
	}
	if es, _ := os.ReadDir(dir); len(es) != 0 {
		t.Errorf("the probe left %v", es)
	}
}
