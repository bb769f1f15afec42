package controller

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"ringmain/internal/vfs"
	"ringmain/metadata"
	"ringmain/model"
)

// testLog shows the controller's log when a test fails.
func testLog(t testing.TB) *slog.Logger {
	return slog.New(slog.NewTextHandler(testWriter{t}, &slog.HandlerOptions{Level: slog.LevelWarn}))
}

type testWriter struct{ t testing.TB }

func (w testWriter) Write(b []byte) (int, error) {
	w.t.Log(strings.TrimSpace(string(b)))
	return len(b), nil
}

func testConfig(fsys vfs.FS) Config { return Config{Dir: "/meta", NodeID: 1, FS: fsys} }

// open opens and starts; the controller is closed with the test.
func open(t testing.TB, cfg Config) *Controller {
	t.Helper()
	c, err := Open(cfg, testLog(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if err := c.Start(context.Background()); err != nil {
		t.Fatal(err)
	}
	return c
}

func closeClean(t testing.TB, c *Controller) {
	t.Helper()
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
}

// createTopic is CreateTopics in short.
func createTopic(c *Controller, name string, partitions int) (int64, error) {
	id := model.NewTopicID()
	return c.Change(context.Background(), func(img *metadata.Image) ([]metadata.Record, error) {
		if img.Topic(name) != nil {
			return nil, fmt.Errorf("topic %s: %w", name, errExists)
		}
		records := []metadata.Record{metadata.TopicRecord{Name: name, ID: id}}
		for p := range partitions {
			records = append(records, metadata.PartitionRecord{TopicID: id, Index: int32(p), Partition: metadata.Partition{
				Replicas: []int32{1}, ISR: []int32{1}, Leader: 1}})
		}
		return records, nil
	})
}

var errExists = errors.New("exists")

func mustCreate(t testing.TB, c *Controller, name string) {
	t.Helper()
	index, err := createTopic(c, name, 1)
	if err != nil {
		t.Fatal(err)
	}
	if img := c.Image(); img.Topic(name) == nil || img.Offset() < index {
		t.Fatalf("topic %s is not in the image at %d after its change at %d", name, img.Offset(), index)
	}
}

func TestFirstStartFormatsAndLeads(t *testing.T) {
	for name, fsys := range map[string]vfs.FS{"mem": vfs.NewMem(), "os": vfs.OS{}} {
		t.Run(name, func(t *testing.T) {
			cfg := testConfig(fsys)
			if name == "os" {
				cfg.Dir = t.TempDir() + "/a/b"
			}
			c := open(t, cfg)
			img := c.Image()
			if img.ClusterID() == "" || img.ClusterID() != c.ClusterID() {
				t.Errorf("cluster id %q, in the image %q", c.ClusterID(), img.ClusterID())
			}
			if want := map[string]int16{"metadata.version": 33, "group.version": 1}; !maps.Equal(img.Features(), want) || img.FeaturesEpoch() != 2 {
				t.Errorf("features %v at %d, want %v at 2", img.Features(), img.FeaturesEpoch(), want)
			}
			mustCreate(t, c, "a")
			cluster, topic := c.ClusterID(), c.Image().Topic("a").ID
			if err := c.Close(); err != nil {
				t.Fatal(err)
			}
			if err := c.Close(); err != nil {
				t.Errorf("second Close: %v", err)
			}
			if _, err := createTopic(c, "b", 1); !errors.Is(err, ErrClosed) {
				t.Errorf("Change after Close: %v", err)
			}

			c = open(t, cfg)
			img = c.Image()
			if c.ClusterID() != cluster || img.Topic("a") == nil || img.Topic("a").ID != topic || img.FeaturesEpoch() != 2 {
				t.Errorf("after a restart: cluster %q, topic %+v, features epoch %d", c.ClusterID(), img.Topic("a"), img.FeaturesEpoch())
			}
			mustCreate(t, c, "b")
		})
	}
}

func TestDynamicQuorumFinalizesKRaftVersion(t *testing.T) {
	cfg := testConfig(vfs.NewMem())
	cfg.DynamicQuorum, cfg.ClusterID = true, "given"
	c := open(t, cfg)
	if f := c.Image().Features(); f["kraft.version"] != 1 || c.ClusterID() != "given" {
		t.Errorf("features %v, cluster %q", f, c.ClusterID())
	}
	if q := c.Quorum(); len(q.Voters) != 1 || q.Voters[0].DirectoryID.IsZero() {
		t.Errorf("quorum %+v: want a directory id", q)
	}
}

func TestQuorumOfOneNode(t *testing.T) {
	c := open(t, testConfig(vfs.NewMem()))
	mustCreate(t, c, "a")
	before := time.Now().UnixMilli()
	q := c.Quorum()
	if q.LeaderID != 1 || q.LeaderEpoch != 2 || len(q.Voters) != 1 || len(q.Observers) != 0 {
		t.Fatalf("quorum %+v", q)
	}
	v := q.Voters[0]
	if v.ID != 1 || !v.DirectoryID.IsZero() || v.LogEndOffset != q.HighWatermark || q.HighWatermark != c.Image().Offset()+1 ||
		v.LastFetchTimestampMs < before || v.LastCaughtUpMs < before {
		t.Errorf("quorum %+v, image at %d", q, c.Image().Offset())
	}
}

func TestChangesSeeTheOnesBeforeThem(t *testing.T) {
	c := open(t, testConfig(vfs.NewMem()))
	const callers, each = 16, 25
	var wg sync.WaitGroup
	for range callers {
		wg.Go(func() {
			for range each {
				_, err := c.Change(context.Background(), func(img *metadata.Image) ([]metadata.Record, error) {
					return []metadata.Record{metadata.ProducerIDsRecord{Next: img.NextProducerID() + 1}}, nil
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if got := c.Image().NextProducerID(); got != callers*each {
		t.Errorf("counted to %d, want %d: a change did not see the one before it", got, callers*each)
	}

	created, exists := 0, 0
	var mu sync.Mutex
	for range callers {
		wg.Go(func() {
			_, err := createTopic(c, "same", 1)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil:
				created++
			case errors.Is(err, errExists):
				exists++
			default:
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if created != 1 || exists != callers-1 {
		t.Errorf("%d created the topic and %d found it", created, exists)
	}
}

func TestChangeErrorsChangeNothing(t *testing.T) {
	c := open(t, testConfig(vfs.NewMem()))
	before := c.Image()
	boom := errors.New("boom")
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	for name, tc := range map[string]struct {
		ctx  context.Context
		fn   ChangeFunc
		want error
	}{
		"fn fails": {context.Background(), func(*metadata.Image) ([]metadata.Record, error) { return nil, boom }, boom},
		"does not fit": {context.Background(), func(*metadata.Image) ([]metadata.Record, error) {
			return []metadata.Record{metadata.RemoveTopicRecord{}}, nil
		}, metadata.ErrInvalidChange},
		"context ended": {ended, func(*metadata.Image) ([]metadata.Record, error) { t.Error("was run"); return nil, nil }, context.Canceled},
		"nothing to do": {context.Background(), func(*metadata.Image) ([]metadata.Record, error) { return nil, nil }, nil},
		"more than fits": {context.Background(), func(*metadata.Image) ([]metadata.Record, error) {
			v := strings.Repeat("x", changeMaxBytes)
			return []metadata.Record{metadata.ConfigRecord{Kind: metadata.BrokerResource, Key: "k", Value: &v}}, nil
		}, ErrTooLarge},
	} {
		index, err := c.Change(tc.ctx, tc.fn)
		if !errors.Is(err, tc.want) || (tc.want == nil && index != before.Offset()) {
			t.Errorf("%s: index %d, %v", name, index, err)
		}
	}
	if c.Image() != before {
		t.Error("the image changed")
	}
	mustCreate(t, c, "a")
}

func TestWatchersSeeEveryChangeInOrder(t *testing.T) {
	c := open(t, testConfig(vfs.NewMem()))
	mustCreate(t, c, "before")
	type seen struct {
		img *metadata.Image
		d   *metadata.Delta
	}
	calls := make(chan seen, 100)
	c.Watch(func(img *metadata.Image, d *metadata.Delta) { calls <- seen{img, d} })
	for n := range 20 {
		mustCreate(t, c, fmt.Sprint("t", n))
	}
	first := <-calls
	if len(first.d.Created) != 1 || !first.d.Features || first.img.Topic("before") == nil {
		t.Fatalf("first call: %+v", first.d)
	}
	img := first.img
	for n := range 20 {
		s := <-calls
		if len(s.d.Created) != 1 || s.d.Created[0].Name != fmt.Sprint("t", n) || s.img.Offset() <= img.Offset() {
			t.Fatalf("call %d: image at %d, delta %+v", n, s.img.Offset(), s.d)
		}
		img = s.img
	}
	if img != c.Image() {
		t.Error("the last call did not get the newest image")
	}
}

// A watcher that hangs holds back neither changes nor other watchers.
func TestSlowWatcherHoldsNothingBack(t *testing.T) {
	c := open(t, testConfig(vfs.NewMem()))
	release := make(chan struct{})
	var calls []int64
	c.Watch(func(img *metadata.Image, _ *metadata.Delta) { <-release; calls = append(calls, img.Offset()) })
	last := make(chan int64, 100)
	c.Watch(func(img *metadata.Image, _ *metadata.Delta) { last <- img.Offset() })
	for n := range 10 {
		mustCreate(t, c, fmt.Sprint("t", n))
	}
	for (<-last) != c.Image().Offset() {
	}
	close(release)
	closeClean(t, c) // waits for the call that runs
	if !slices.IsSorted(calls) {
		t.Errorf("calls out of order: %v", calls)
	}
}

func TestProducerIDsAreNeverReused(t *testing.T) {
	mem := vfs.NewMem()
	seen := map[int64]bool{}
	allocate := func(c *Controller, n int) {
		t.Helper()
		for range n {
			id, err := c.AllocateProducerID()
			if err != nil {
				t.Fatal(err)
			}
			if seen[id] || id < 0 {
				t.Fatalf("producer id %d was handed out twice", id)
			}
			seen[id] = true
		}
	}
	c := open(t, testConfig(mem))
	allocate(c, 1)
	if !seen[0] {
		t.Errorf("the first id is not 0: %v", seen)
	}
	allocate(c, 1500)
	killed := testConfig(mem.KillClone())
	closeClean(t, c)
	c = open(t, testConfig(mem))
	allocate(c, 1500)
	if got := c.Image().NextProducerID(); got != 4000 {
		t.Errorf("%d ids are taken, want four blocks", got)
	}
	seen = map[int64]bool{}
	allocate(open(t, killed), 1)
	if seen[0] || seen[1500] {
		t.Errorf("after a kill: %v", seen)
	}
}

func TestCheckpointsShortenTheLog(t *testing.T) {
	mem := vfs.NewMem()
	cfg := testConfig(mem)
	cfg.limits = limits{checkpointEntries: 20, checkpointBytes: 1 << 30}
	c := open(t, cfg)
	for n := range 200 {
		mustCreate(t, c, fmt.Sprint("t", n))
		waitForCheckpoint(c)
	}
	names := c.Image().TopicNames()
	epoch := c.Image().FeaturesEpoch()
	killed := mem.KillClone()
	closeClean(t, c)
	for name, fsys := range map[string]*vfs.Mem{"clean": mem, "killed": killed} {
		cfg.FS = fsys
		found, err := readContents(fsys, cfg.Dir)
		if err != nil || len(found.checkpoints) != checkpointsKept {
			t.Errorf("%s: checkpoints %v, %v", name, found.checkpoints, err)
		}
		c = open(t, cfg)
		if !slices.Equal(c.Image().TopicNames(), names) || c.Image().FeaturesEpoch() != epoch || c.checkpointIndex == 0 {
			t.Errorf("%s: %d topics, features epoch %d, checkpoint at %d", name, c.Image().NumTopics(), c.Image().FeaturesEpoch(), c.checkpointIndex)
		}
		mustCreate(t, c, "more")
		closeClean(t, c)
	}
}

func TestLogFilesAreDeletedAfterCheckpoints(t *testing.T) {
	mem := vfs.NewMem()
	cfg := testConfig(mem)
	cfg.limits = limits{checkpointEntries: 400, checkpointBytes: 1 << 30}
	c := open(t, cfg)
	value := strings.Repeat("v", 8000)
	for n := range 1500 { // some 12 MB
		waitForCheckpoint(c)
		_, err := c.Change(context.Background(), func(*metadata.Image) ([]metadata.Record, error) {
			return []metadata.Record{metadata.ConfigRecord{Kind: metadata.BrokerResource, Key: fmt.Sprint(n % 3), Value: &value}}, nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	closeClean(t, c)
	found, err := readContents(mem, cfg.Dir)
	if err != nil || len(found.segments) > 10 || found.segments[0] == 1 {
		t.Errorf("log files %v, %v", found.segments, err)
	}
	c = open(t, cfg)
	if got := c.Image().Config(metadata.BrokerResource, "")["2"]; got != value {
		t.Errorf("value of %d bytes", len(got))
	}
}

// Killed (nothing lost) and cut off from power (unsynced sectors and names lost
// at random) at any moment: what was answered is there, and the next start works.
func TestCrashLosesNothingThatWasAnswered(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	for trial := range 40 {
		mem := vfs.NewMem()
		cfg := testConfig(mem)
		cfg.limits = limits{checkpointEntries: 7, checkpointBytes: 1 << 30}
		stop := make(chan struct{})
		var mu sync.Mutex
		answered := map[string]bool{}
		done := make(chan struct{})
		go func() {
			defer close(done)
			c, err := Open(cfg, nil)
			if err != nil {
				t.Error(err)
				return
			}
			defer c.Close()
			if err := c.Start(context.Background()); err != nil {
				t.Error(err)
				return
			}
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				name := fmt.Sprint("t", n)
				if _, err := createTopic(c, name, 2); err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				answered[name] = true
				mu.Unlock()
			}
		}()
		type crash struct {
			fs   *vfs.Mem
			want []string
		}
		var crashes []crash
		for range 8 {
			time.Sleep(time.Duration(rng.IntN(1500)) * time.Microsecond) // any moment is as good as any other
			mu.Lock()
			want := slices.Collect(maps.Keys(answered))
			mu.Unlock()
			crashes = append(crashes, crash{mem.CrashClone(rng), want}, crash{mem.KillClone(), want})
		}
		close(stop)
		<-done
		for n, k := range crashes {
			cfg.FS = k.fs
			c, err := Open(cfg, nil)
			if err == nil {
				err = c.Start(context.Background())
			}
			if err != nil {
				t.Fatalf("trial %d crash %d: %v", trial, n, err)
			}
			for _, name := range k.want {
				if c.Image().Topic(name) == nil {
					t.Fatalf("trial %d crash %d: topic %s was answered and is gone", trial, n, name)
				}
			}
			if _, err := createTopic(c, "after", 1); err != nil {
				t.Fatalf("trial %d crash %d: %v", trial, n, err)
			}
			closeClean(t, c)
		}
	}
}
