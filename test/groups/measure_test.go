package groups

import (
	"flag"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"ringmain/test/harness"
)

var (
	groupCount  = flag.Int("groups", 0, "TestCommitsCost: so many groups commit once a second")
	offsetCount = flag.Int("offsets", 0, "TestOffsetsLoad: so many offsets lie in one partition")
	seconds     = flag.Int("seconds", 20, "TestCommitsCost: how long it measures")
)

// Groups that commit once a second each may cost at most one second of CPU a second at 10,000 of them.
func TestCommitsCost(t *testing.T) {
	if *groupCount == 0 {
		t.Skip("runs with -groups 10000")
	}
	b := harness.StartOwn(t, harness.Options{})
	createTopic(t, b.Addr(), "t", 1)
	const perConn = 200
	var running sync.WaitGroup
	stop := make(chan struct{})
	var mu sync.Mutex
	var slowest time.Duration
	var commits int
	for first := 0; first < *groupCount; first += perConn {
		c := dial(t, b.Addr())
		findCoordinator(t, c, fmt.Sprintf("group-%d", first))
		running.Go(func() {
			for offset := int64(1); ; offset++ {
				begun := time.Now()
				// One connection is many clients here: each group's commit leaves at its own moment of the second.
				for g := first; g < min(first+perConn, *groupCount); g++ {
					select {
					case <-stop:
						return
					case <-time.After(time.Until(begun.Add(time.Duration(g-first) * time.Second / perConn))):
					}
					sent := time.Now()
					resp, err := do[*kmsg.OffsetCommitResponse](c, 9, commitRequest(fmt.Sprintf("group-%d", g), "t", 1, offset))
					if err == nil {
						err = commitError(resp)
					}
					if err != nil {
						t.Errorf("commit: %v", err)
						return
					}
					mu.Lock()
					slowest = max(slowest, time.Since(sent))
					commits++
					mu.Unlock()
				}
				time.Sleep(time.Until(begun.Add(time.Second)))
			}
		})
	}
	time.Sleep(5 * time.Second) // every group is there
	before, err := b.CPU()
	if err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	slowest, commits = 0, 0
	mu.Unlock()
	begun := time.Now()
	time.Sleep(time.Duration(*seconds) * time.Second)
	after, err := b.CPU()
	if err != nil {
		t.Fatal(err)
	}
	took := time.Since(begun)
	close(stop)
	running.Wait()
	share := float64(after-before) / float64(took)
	rate := float64(commits) / took.Seconds()
	t.Logf("%d groups, %.0f commits a second: %.2f seconds of CPU a second, the slowest commit %v", *groupCount, rate, share, slowest)
	if rate < 0.95*float64(*groupCount) {
		t.Errorf("the commits did not come once a second")
	}
	if limit := float64(*groupCount) / 10_000; share > limit {
		t.Errorf("more than %.2f", limit)
	}
}

// home is the partition of __consumer_offsets that a group lies in, by Java's hash of its name.
func home(group string) int32 {
	var h int32
	for _, c := range []byte(group) {
		h = 31*h + int32(c)
	}
	return max(h, -h) % 50
}

// A coordinator that holds a million offsets has loaded them within 2 s of the start.
func TestOffsetsLoad(t *testing.T) {
	if *offsetCount == 0 {
		t.Skip("runs with -offsets 1000000")
	}
	b := harness.StartOwn(t, harness.Options{})
	const width = 1000
	createTopic(t, b.Addr(), "t", width)
	c := dial(t, b.Addr())
	var names []string
	for i := 0; len(names)*width < *offsetCount; i++ {
		if g := fmt.Sprintf("group-%d", i); home(g) == 0 {
			names = append(names, g)
		}
	}
	findCoordinator(t, c, names[0])
	for _, g := range names {
		resp, err := do[*kmsg.OffsetCommitResponse](c, 9, commitRequest(g, "t", width, 7))
		if err == nil {
			err = commitError(resp)
		}
		if err != nil {
			t.Fatalf("%s: %v", g, err)
		}
	}
	for _, how := range []string{"after a stop", "after a kill"} {
		if how == "after a stop" {
			if err := b.Stop(); err != nil {
				t.Fatal(err)
			}
		} else {
			b.Kill()
		}
		launched := time.Now()
		if err := b.Restart(); err != nil {
			t.Fatal(err)
		}
		ready := time.Now()
		c := dial(t, b.Addr())
		for _, g := range []string{names[0], names[len(names)-1]} {
			got, err := fetchOffsets(c, g, "t")
			if err != nil || len(got) != width {
				t.Fatalf("%s: %d offsets, %v", g, len(got), err)
			}
		}
		took := time.Since(ready)
		t.Logf("%s: ready after %v, %d offsets answered %v later", how, ready.Sub(launched), *offsetCount, took)
		if took > 2*time.Second {
			t.Errorf("%s: loading took %v", how, took)
		}
	}
}

// retry sends a request again while the coordinator is not ready.
func retry(send func() (int16, error)) (int16, error) {
	for deadline := time.Now().Add(60 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		code, err := send()
		if err != nil || time.Now().After(deadline) {
			return code, err
		}
		switch kerr.ErrorForCode(code) {
		case kerr.CoordinatorLoadInProgress, kerr.CoordinatorNotAvailable, kerr.NotCoordinator:
		default:
			return code, nil
		}
	}
}
