package trial

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// manner makes this test's own binary a build that behaves in some manner.
const manner = "TRIAL_MANNER"

func TestMain(m *testing.M) {
	if how := os.Getenv(manner); how != "" {
		actAsBuild(how)
	}
	os.Exit(m.Run())
}

func actAsBuild(how string) {
	at := slices.Index(os.Args, "--data-dir")
	if how == "broken" {
		fmt.Fprintln(os.Stderr, "the key log.nonsense is not known")
		os.Exit(2)
	}
	if err := os.MkdirAll(filepath.Join(os.Args[at+1], "orders-0"), 0o755); err != nil {
		panic(err)
	}
	if how == "silent" {
		time.Sleep(time.Minute)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	var asked atomic.Int32
	http.HandleFunc("/readyz", func(w http.ResponseWriter, _ *http.Request) {
		if asked.Add(1) < 3 {
			http.Error(w, "not serving", http.StatusServiceUnavailable)
		}
	})
	fmt.Printf("ringmain ready kafka=127.0.0.1:19092 http=%s node=1\n", l.Addr())
	panic(http.Serve(l, nil))
}

func build(t *testing.T, how string) Build {
	t.Helper()
	t.Setenv(manner, how)
	return Build{Binary: os.Args[0], DataDir: filepath.Join(t.TempDir(), "a"), Overrides: []string{"a=b"}}
}

func gone(t *testing.T, r *Broker) {
	t.Helper()
	if err := syscall.Kill(r.PID(), 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("process %d is still there (%v)", r.PID(), err)
	}
	if _, err := os.Stat(r.build.DataDir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("its data are still there (%v)", err)
	}
}

func TestStartWaitsUntilItServes(t *testing.T) {
	b := build(t, "good")
	r, err := b.Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if r.Took() < 2*askReadyEvery || r.Took() > readyWithin {
		t.Errorf("it took %v, and was asked three times", r.Took())
	}
	if r.Address() != "127.0.0.1:19092" || !strings.HasSuffix(r.Metrics(), "/metrics") || !slices.Contains(r.cmd.Args, "a=b") {
		t.Errorf("%s, %s, %q", r.Address(), r.Metrics(), r.cmd.Args)
	}
	if _, err := b.Start(t.Context()); err == nil || !strings.Contains(err.Error(), "there already") {
		t.Errorf("a second one on the same data: %v", err)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	gone(t, r)
	if err := r.Close(); err != nil { // as a deferred one may
		t.Error(err)
	}
}

func TestAnInterruptEndsIt(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	r, err := build(t, "good").Start(ctx)
	if err != nil {
		t.Fatal(err)
	}
	stop()
	<-r.exited
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	gone(t, r)
}

func TestAFailedStartLeavesNothing(t *testing.T) {
	b := build(t, "broken")
	if _, err := b.Start(t.Context()); err == nil || !strings.Contains(err.Error(), "log.nonsense is not known") {
		t.Errorf("broken: %v", err)
	}
	b = build(t, "silent")
	ctx, stop := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer stop()
	if _, err := b.Start(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("silent: %v", err)
	}
	if _, err := os.Stat(b.DataDir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("its data are still there (%v)", err)
	}
	b.Binary = filepath.Join(t.TempDir(), "none")
	if _, err := b.Start(t.Context()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no binary: %v", err)
	}
}

func TestParseReady(t *testing.T) {
	for _, line := range []string{"", "hello", "ringmain ready", "ringmain ready kafka=127.0.0.1:1", "ringmain ready kafka=127.0.0.1:1 http=off"} {
		if _, err := parseReady(line); err == nil {
			t.Errorf("%q was understood", line)
		}
	}
}
