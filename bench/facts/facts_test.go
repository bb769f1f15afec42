package facts

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

func TestAMachineHasFacts(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("there is no /proc")
	}
	m := OfMachine()
	if m.CPU == "" || m.Cores < 1 || m.MemoryBytes < 1<<20 || m.Kernel == "" || m.Platform == "" {
		t.Errorf("%+v", m)
	}
}

func TestTheCostsOfAProcessGrow(t *testing.T) {
	before, err := Process(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	if before.RSSBytes < 1<<20 || before.Threads < 1 || before.ContextSwitches < 1 || before.Syncs != Unknown {
		t.Errorf("%+v", before)
	}
	selfBefore := Self()
	// Work until the kernel's own count has moved by three of its ticks.
	deadline := time.Now().Add(20 * time.Second)
	for x := uint64(1); ; {
		for range 1_000_000 {
			x = x*6364136223846793005 + 1
		}
		after, err := Process(os.Getpid())
		if err != nil {
			t.Fatal(err)
		}
		if spent := after.Since(before); spent.CPU >= 3*tick {
			self := Self().Since(selfBefore)
			if self.CPU < spent.CPU/2 || self.CPU > 2*spent.CPU+tick {
				t.Errorf("by /proc it was %v, by getrusage %v", spent.CPU, self.CPU)
			}
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("no CPU time was counted (x=%d)", x)
		}
	}
}

func TestAProcessThatDoesNotRunIsNamed(t *testing.T) {
	if _, err := Process(1 << 30); err == nil || !strings.Contains(err.Error(), "no process 1073741824") {
		t.Errorf("%v", err)
	}
	if _, err := Command(1 << 30); err == nil {
		t.Error("it has a command")
	}
}

func TestCPUTimeIsReadBehindTheName(t *testing.T) {
	got, err := cpuTime("12 (a (b) c) S 1 2 3 4 5 6 7 8 9 10 250 50 0 0 20\n")
	if err != nil || got != 3*time.Second {
		t.Errorf("%v, %v; want 3s", got, err)
	}
	for _, bad := range []string{"", "12 (name) S 1", "12 (name) S 1 2 3 4 5 6 7 8 9 10 x 50"} {
		if _, err := cpuTime(bad); err == nil {
			t.Errorf("%q was read", bad)
		}
	}
}

func TestWhatIsUnknownStaysUnknown(t *testing.T) {
	a, b := Nothing(), Nothing()
	a.CPU, a.Syncs, a.RSSBytes = 5*time.Second, 10, 100
	b.CPU, b.RSSBytes = 2*time.Second, 70
	if s := a.Since(b); s.CPU != 3*time.Second || s.Syncs != Unknown || s.RSSBytes != 100 {
		t.Errorf("since: %+v", s)
	}
	if s := b.Since(a); s.CPU != Unknown {
		t.Errorf("a counter that fell: %+v", s)
	}
	if s := a.Plus(b); s.CPU != 7*time.Second || s.Syncs != Unknown {
		t.Errorf("plus: %+v", s)
	}
	if s := b.Or(a); s.CPU != 2*time.Second || s.Syncs != 10 || s.Requests != Unknown {
		t.Errorf("or: %+v", s)
	}
}

func TestTheDeepestMountHoldsAPath(t *testing.T) {
	const mounts = `22 1 0:1 / / rw,relatime shared:1 - ext4 /dev/root rw
30 22 0:2 / /data rw,noatime - xfs /dev/sdb1 rw
31 30 0:3 / /data/fast rw - tmpfs tmpfs rw
32 22 0:4 / /with\040blank rw - btrfs /dev/sdc rw
33 22 0:5 / /twice rw - ext4 /dev/sdd rw
34 22 0:6 / /twice rw - xfs /dev/sde rw
`
	for _, c := range []struct {
		path, filesystem, device string
		memory                   bool
	}{
		{"/tmp/x", "ext4", "/dev/root", false}, {"/data", "xfs", "/dev/sdb1", false}, {"/database", "ext4", "/dev/root", false},
		{"/data/fast/0", "tmpfs", "tmpfs", true}, {"/with blank/y", "btrfs", "/dev/sdc", false}, {"/twice/z", "xfs", "/dev/sde", false},
	} {
		s, ok := mountOf(mounts, c.path)
		if !ok || s.Filesystem != c.filesystem || s.Device != c.device || s.InMemory != c.memory {
			t.Errorf("%s: %+v, want %s on %s", c.path, s, c.filesystem, c.device)
		}
	}
	if runtime.GOOS == "linux" {
		if s, err := OfPath(t.TempDir()); err != nil || s.Filesystem == "" {
			t.Errorf("%+v, %v", s, err)
		}
	}
	if _, err := OfPath("/no/such/path"); err == nil {
		t.Error("a path that is not there lies on something")
	}
}

func TestMetricsAreAddedUp(t *testing.T) {
	page := `# HELP process_cpu_seconds_total Total.
# TYPE process_cpu_seconds_total counter
process_cpu_seconds_total 12.5
process_resident_memory_bytes 3.1e+07
ringmain_syncs_total 42
ringmain_appended_bytes_total{class="user"} 1000
ringmain_appended_bytes_total{class="internal"} 24 1700000000000
ringmain_requests_total{api="Produce"} 7
ringmain_requests_total{api="Fetch"} NaN
ringmain_build_info{version="1.2",commit="abc",goversion="go1"} 1
`
	status := http.StatusOK
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		fmt.Fprint(w, page)
	}))
	defer server.Close()
	u, b, err := Scrape(t.Context(), server.URL)
	if err != nil {
		t.Fatal(err)
	}
	want := Nothing()
	want.CPU, want.RSSBytes, want.Syncs, want.Appended, want.Requests = 12500*time.Millisecond, 31_000_000, 42, 1024, 7
	if u != want || b != (Build{Version: "1.2", Commit: "abc"}) {
		t.Errorf("%+v of %+v, want %+v", u, b, want)
	}
	page = "<html>hello there</html>"
	if _, _, err := Scrape(t.Context(), server.URL); err == nil || !strings.Contains(err.Error(), "no metrics") {
		t.Errorf("a page that is not metrics: %v", err)
	}
	status = http.StatusNotFound
	if _, _, err := Scrape(t.Context(), server.URL); err == nil || !strings.Contains(err.Error(), "404") {
		t.Errorf("a page that is not there: %v", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if u, _, err := Scrape(ended, server.URL); err == nil || u != Nothing() {
		t.Errorf("with a context that ended: %+v, %v", u, err)
	}
}

func TestALogThatIsOpenIsFound(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("there is no /proc")
	}
	path := filepath.Join(t.TempDir(), "00000000000000000000.log")
	for _, name := range []string{"server.log", "0000.log"} {
		other, err := os.Create(filepath.Join(filepath.Dir(path), name))
		if err != nil {
			t.Fatal(err)
		}
		defer other.Close()
	}
	if got := LogFile(os.Getpid()); got != "" {
		t.Errorf("%s is no record log", got)
	}
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if got := LogFile(os.Getpid()); got != path {
		t.Errorf("found %q, want %s", got, path)
	}
}
