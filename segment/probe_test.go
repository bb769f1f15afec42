package segment

import (
	"os"
	"runtime"
	"sync/atomic"
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

// Which backend fits is the file system's doing: others that want the processors
// change nothing.
func TestProbeIOSaysTheSameOnABusyMachine(t *testing.T) {
	dir := t.TempDir()
	_, quiet, _, err := ProbeIO(dir, "auto")
	if err != nil {
		t.Fatal(err)
	}
	var stop atomic.Bool
	defer stop.Store(true)
	for range 4 * runtime.GOMAXPROCS(0) {
		go func() {
			for !stop.Load() {
			}
		}()
	}
	for range 100 {
		if _, busy, why, err := ProbeIO(dir, "auto"); err != nil || busy != quiet {
			t.Fatalf("the probe says %q because %s (%v), and %q before", busy, why, err, quiet)
		}
	}
}
