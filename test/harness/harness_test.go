package harness

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// script writes a stand-in broker: a shell script run in place of the binary.
func script(t *testing.T, body string) Options {
	t.Helper()
	path := filepath.Join(t.TempDir(), "broker.sh")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+body+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	build.once.Do(func() {})
	old := build.path
	build.path = path
	t.Cleanup(func() { build.path = old })
	t.Setenv("BROKER", "")
	return Options{DataDir: t.TempDir()}
}

func TestLaunchReadsReadyLineAndStops(t *testing.T) {
	opts := script(t, `trap 'exit 0' TERM; echo started >&2
echo "ringmain ready kafka=127.0.0.1:4242 http=off node=1"; while :; do sleep 0.01; done`)
	opts.Overrides = []string{"num.partitions=3"}
	b, err := Launch(opts)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if b.Addr() != "127.0.0.1:4242" || b.Ready("node") != "1" || b.PID() == 0 || !b.Alive() {
		t.Fatalf("addr %q, node %q, pid %d, alive %v", b.Addr(), b.Ready("node"), b.PID(), b.Alive())
	}
	if got := strings.Join(b.cmd.Args[1:], " "); !strings.HasSuffix(got, " --http off --override num.partitions=3") || !strings.Contains(got, "--listen 127.0.0.1:") {
		t.Fatalf("arguments: %s", got)
	}
	if rss, err := b.RSS(); err != nil || rss <= 0 {
		t.Fatalf("rss %d, %v", rss, err)
	}
	if _, err := b.CPU(); err != nil {
		t.Fatal(err)
	}
	if err := b.Stop(); err != nil {
		t.Fatal(err)
	}
	if b.Alive() || !strings.Contains(b.Stderr(), "started") {
		t.Fatalf("alive %v, standard error %q", b.Alive(), b.Stderr())
	}
	if err := b.Restart(); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(b.cmd.Args[1:], " "); !strings.Contains(got, "--listen 127.0.0.1:4242") {
		t.Fatalf("a restart must keep the port; arguments: %s", got)
	}
	b.Kill()
	if b.Alive() {
		t.Fatal("alive after Kill")
	}
}

func TestLaunchReportsWhyNothingCameUp(t *testing.T) {
	for name, body := range map[string]string{
		"exits":      `echo "the directory is in use" >&2; exit 1`,
		"wrong line": `echo hello; echo "the directory is in use" >&2; sleep 60`,
		"no address": `echo "ringmain ready http=off"; echo "the directory is in use" >&2; sleep 60`,
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Launch(script(t, body))
			if err == nil {
				t.Fatal("no error")
			}
			if name == "exits" && !strings.Contains(err.Error(), "the directory is in use") {
				t.Fatalf("the error does not carry standard error: %v", err)
			}
		})
	}
}

func TestStopReportsBadExit(t *testing.T) {
	b, err := Launch(script(t, `trap 'exit 3' TERM; echo "ringmain ready kafka=127.0.0.1:4242"; while :; do sleep 0.01; done`))
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if err := b.Stop(); err == nil || !strings.Contains(err.Error(), "exit status 3") {
		t.Fatalf("got %v", err)
	}
}

func TestExternalBrokerIsUsedAsItIs(t *testing.T) {
	t.Setenv("BROKER", "10.0.0.1:9092")
	b, err := Launch(Options{})
	if err != nil {
		t.Fatal(err)
	}
	if !b.External() || b.Addr() != "10.0.0.1:9092" || b.PID() != 0 || !b.Alive() {
		t.Fatalf("%+v", b)
	}
	if err := b.Stop(); err != nil {
		t.Fatal(err)
	}
	if err := b.Restart(); err == nil {
		t.Fatal("an external broker was restarted")
	}
	b.Close()
}

// A port that is kept is for whoever names it, as often as it is asked for.
func TestReservedPortCanBeListenedOn(t *testing.T) {
	p, err := reservePort()
	if err != nil {
		t.Fatal(err)
	}
	defer p.release()
	for range 2 {
		l, err := net.Listen("tcp", p.addr)
		if err != nil {
			t.Fatal(err)
		}
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		c.Close()
		l.Close()
	}
}
