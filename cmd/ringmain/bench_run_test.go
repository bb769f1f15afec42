package main

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"ringmain/bench"
	"ringmain/bench/result"
)

// topicsOf are the topics that a cluster has.
func topicsOf(t *testing.T, c *kfake.Cluster) []string {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(c.ListenAddrs()...))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	topics, err := kadm.NewClient(client).ListTopics(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return topics.Names()
}

// The command and what it measures with, together: nothing stands for anything.
func TestBenchMeasures(t *testing.T) {
	c := fakeCluster(t)
	with := instrument{bench.Run, bench.FindKnee}
	for _, row := range []struct {
		args  []string
		parts []string
	}{
		{[]string{"--kind", "e2e", "--rate", "500", "--record-size", "100"}, []string{"end to end", " records\n", "SEND TO ARRIVAL", "lost", "p99.9"}},
		{[]string{"--kind", "storm", "--connections", "2", "--rate", "100"}, []string{"connected", " connections\n", "CONNECT"}},
		{[]string{"--kind", "idle", "--connections", "20"}, []string{"connections", "20", "opened within", " s\n", "lost", "0"}},
	} {
		args := append(row.args, "--duration", "1s", "--warm-up", "50ms", "--bootstrap", c.ListenAddrs()[0])
		code, out, errOut := benchLineWith(t, with, args...)
		if code != exitOK || errOut != "" {
			t.Errorf("%v: exit code %d, %q", row.args, code, errOut)
		}
		has(t, out, row.parts...)
	}
	if names := topicsOf(t, c); len(names) != 0 {
		t.Errorf("left behind: %v", names)
	}
}

// Ctrl-C in a search shows the points that it has, as those of a search that was not
// finished, and writes them where results were to go.
func TestAnInterruptedSearchShowsWhatItHas(t *testing.T) {
	c := fakeCluster(t)
	var once sync.Once
	findKnee := func(ctx context.Context, o bench.Options, slo bench.SLO) (*result.Document, error) {
		o.Progress = func(p bench.Progress) {
			if p.Phase == "step 3, measure" {
				once.Do(func() {
					if err := syscall.Kill(os.Getpid(), syscall.SIGINT); err != nil {
						t.Error(err)
					}
				})
			}
		}
		return bench.FindKnee(ctx, o, slo)
	}
	file := filepath.Join(t.TempDir(), "knee.")
	code, out, errOut := benchLineWith(t, instrument{bench.Run, findKnee}, "--kind", "produce", "--find-knee", "--slo", "p99=1m", "--duration", "500ms", "--warm-up", "50ms",
		"--partitions", "2", "--record-size", "100", "--connections", "2", "--bootstrap", c.ListenAddrs()[0], "--json", file+"json", "--report", file+"html")
	if code != exitFailure || errOut != "ringmain: interrupted: interrupt signal received\n" {
		t.Errorf("exit code %d, %q", code, errOut)
	}
	has(t, out, "search not finished: interrupted\nso far: ", "; closed loop ", "\nmax ", "not found, the search was not finished: ")
	d, err := result.ReadFile(file + "json")
	if err != nil {
		t.Fatal(err)
	}
	if d.Knee.Unfinished != "interrupted" || d.Knee.Found || d.Verdict.OK || len(d.Curve) != 2 {
		t.Errorf("%+v, %+v, %d points", d.Knee, d.Verdict, len(d.Curve))
	}
	page, err := os.ReadFile(file + "html")
	if err != nil {
		t.Fatal(err)
	}
	has(t, string(page), "the search did not come to its end: interrupted", "the search was not finished: ")
	if names := topicsOf(t, c); len(names) != 0 {
		t.Errorf("left behind: %v", names)
	}
}

// Ctrl-C ends a load at once, and what was made for it is removed.
func TestAnInterruptedBenchCleansUp(t *testing.T) {
	for name, row := range map[string]struct {
		phase string
		args  []string
	}{
		"warm up":     {"warm up", []string{"--kind", "e2e", "--warm-up", "1h"}},
		"franz":       {"measure", []string{"--kind", "mixed", "--engine", "franz"}},
		"fill":        {"fill", []string{"--kind", "fetch", "--fill", "100GB"}},
		"idle":        {"measure", []string{"--kind", "idle", "--connections", "50"}},
		"in a search": {"step 1, measure", []string{"--kind", "produce", "--find-knee"}},
	} {
		t.Run(name, func(t *testing.T) {
			c := fakeCluster(t)
			var once sync.Once
			var pressed time.Time
			press := func(o bench.Options) bench.Options {
				o.Progress = func(p bench.Progress) {
					if p.Phase == row.phase {
						once.Do(func() {
							pressed = time.Now()
							if err := syscall.Kill(os.Getpid(), syscall.SIGINT); err != nil {
								t.Error(err)
							}
						})
					}
				}
				return o
			}
			with := instrument{
				func(ctx context.Context, o bench.Options) (*result.Document, error) { return bench.Run(ctx, press(o)) },
				func(ctx context.Context, o bench.Options, slo bench.SLO) (*result.Document, error) {
					return bench.FindKnee(ctx, press(o), slo)
				},
			}
			args := append([]string{"--duration", "1h", "--warm-up", "0s", "--partitions", "2", "--record-size", "100", "--bootstrap", c.ListenAddrs()[0]}, row.args...)
			code, out, errOut := benchLineWith(t, with, args...)
			if pressed.IsZero() {
				t.Fatalf("it did not come so far: exit code %d, %q", code, errOut)
			}
			if took := time.Since(pressed); took > 12*time.Second { // less than what the last answers may take
				t.Errorf("it went on for %v", took)
			}
			if code != exitFailure || errOut != "ringmain: interrupted: interrupt signal received\n" || out != "" {
				t.Errorf("exit code %d, %q, %q", code, out, errOut)
			}
			if names := topicsOf(t, c); len(names) != 0 {
				t.Errorf("left behind: %v", names)
			}
		})
	}
}
