package broker

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"ringmain/config"
	"ringmain/metadata"
	"ringmain/metrics"
	"ringmain/partition"
	"ringmain/record"
)

// compacted makes a compacted topic whose segments end after each batch.
func (l *live) compacted(name string, settings ...string) *partition.Replica {
	l.Helper()
	l.create(name)
	settings = append([]string{"cleanup.policy", "compact", "segment.ms", "1"}, settings...)
	var records []metadata.Record
	for i := 0; i < len(settings); i += 2 {
		records = append(records, metadata.ConfigRecord{Kind: metadata.TopicResource, Name: name, Key: settings[i], Value: &settings[i+1]})
	}
	if _, err := l.meta.Change(l.Context(), func(*metadata.Image) ([]metadata.Record, error) { return records, nil }); err != nil {
		l.Fatal(err)
	}
	var r *partition.Replica
	l.eventually("the topic is compacted", func() bool {
		r = l.replicas.topic(name).at(0)
		return r != nil && r.Settings().Log.CompactPolicy && r.Settings().Log.SegmentMs == 1
	})
	return r
}

// put produces records of one key, each in a segment of its own, and waits until
// they are synced.
func (l *live) put(topic string, from int64, n int) {
	l.Helper()
	c := l.dial()
	for i := range int64(n) {
		b := record.NewBuilder().Add(1_700_000_000_000+1000*(from+i), []byte("key"), make([]byte, 500)).Build()
		resp := c.ask(7, produceRequest(-1, topic, b)).(*kmsg.ProduceResponse)
		if code := resp.Topics[0].Partitions[0].ErrorCode; code != 0 {
			l.Fatalf("produce: error code %d", code)
		}
	}
}

var cleanerDefaults = config.Layers{}.Resolve().Cleaner

func TestTheDirtiestLogIsCleanedFirst(t *testing.T) {
	l := newLive(t, nil)
	little, much := l.compacted("little"), l.compacted("much")
	plain := l.create("plain")
	l.put("little", 0, 4)
	l.put(plain.Name, 0, 4)
	set := metrics.New(1)
	c := newCleaner(l.Broker, set)
	c.look(cleanerDefaults, time.Now())
	c.end(<-c.ended, cleanerDefaults)
	if set.CleanerRuns.Load() != 1 || little.Log().SegmentCount() != 2 || set.CleanerRemovedBytes.Load() < 1000 || set.CleanerReadBytes.Load() == 0 {
		t.Fatalf("%d passes, %d segments", set.CleanerRuns.Load(), little.Log().SegmentCount())
	}
	l.put("little", 10, 4)
	l.put("much", 0, 8)
	c.look(cleanerDefaults, time.Now())
	if _, ok := c.passes[much]; !ok || len(c.passes) != 1 {
		t.Errorf("%d passes with one thread, of the dirtiest log: %v", len(c.passes), ok)
	}
	c.look(cleanerDefaults, time.Now())
	if len(c.passes) != 1 {
		t.Errorf("%d passes with one thread", len(c.passes))
	}
	c.end(<-c.ended, cleanerDefaults)
	two := cleanerDefaults
	two.Threads = 2
	c.look(two, time.Now())
	c.end(<-c.ended, two)
	c.look(two, time.Now())
	if len(c.passes) != 0 || set.CleanerRuns.Load() != 3 || set.CleanerFailures.Load() != 0 {
		t.Errorf("%d passes go on, %d were made, %d failed", len(c.passes), set.CleanerRuns.Load(), set.CleanerFailures.Load())
	}
}

func TestACleanRatioBelowTheLimitIsLeftAlone(t *testing.T) {
	l := newLive(t, nil)
	r := l.compacted("t", "min.cleanable.dirty.ratio", "1")
	l.put("t", 0, 4)
	set := metrics.New(1)
	c := newCleaner(l.Broker, set)
	c.look(cleanerDefaults, time.Now())
	if len(c.passes) != 0 {
		t.Fatal("a ratio of 1 is above a limit of 1")
	}
	lag := *r.Settings()
	lag.Log.MaxCompactionLagMs = 1000
	if err := r.Reconfigure(&lag); err != nil {
		t.Fatal(err)
	}
	c.look(cleanerDefaults, time.Now())
	if len(c.passes) != 1 {
		t.Fatal("records that have waited for max.compaction.lag.ms are not cleaned")
	}
	c.end(<-c.ended, cleanerDefaults)
	// The last record waited in the active segment, which the look has closed.
	what, err := r.Log().Cleanable(lag.Log, r.LastStableOffset(), time.Now().UnixMilli())
	if err != nil || set.CleanerRuns.Load() != 1 || what.First != 4 || what.End != 4 {
		t.Errorf("%d passes, %+v, %v", set.CleanerRuns.Load(), what, err)
	}
}

func TestALogThatCannotBeCleanedRests(t *testing.T) {
	l := newLive(t, nil)
	r := l.compacted("t")
	l.put("t", 0, 4)
	files, err := filepath.Glob(filepath.Join(r.Log().Path(), "*0.log"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	f, err := os.OpenFile(files[0], os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	f.WriteAt([]byte{0xff}, 80)
	set := metrics.New(1)
	c := newCleaner(l.Broker, set)
	now := time.Now()
	c.look(cleanerDefaults, now)
	c.end(<-c.ended, cleanerDefaults)
	c.look(cleanerDefaults, now)
	if len(c.passes) != 0 || set.CleanerFailures.Load() != 1 || set.CleanerRuns.Load() != 0 || c.uncleanable.Load() != 1 {
		t.Errorf("%d passes go on, %d failed, %d logs rest", len(c.passes), set.CleanerFailures.Load(), c.uncleanable.Load())
	}
	if r.Log().Err() != nil {
		t.Errorf("the log is offline: %v", r.Log().Err())
	}
	c.look(cleanerDefaults, now.Add(uncleanableFor+time.Minute))
	if len(c.passes) != 1 {
		t.Error("it is not tried again")
	}
	c.end(<-c.ended, cleanerDefaults)
}

func TestTheCleanerIsThrottled(t *testing.T) {
	var th throttle
	quit := make(chan struct{})
	begin := time.Now()
	th.set(1e308)
	for range 1000 {
		if err := th.wait(1<<30, quit); err != nil {
			t.Fatal(err)
		}
	}
	if took := time.Since(begin); took > 10*time.Second { // of a terabyte
		t.Errorf("no limit takes %v", took)
	}
	th.set(100_000)
	begin = time.Now()
	for range 10 {
		if err := th.wait(1000, quit); err != nil {
			t.Fatal(err)
		}
	}
	if took := time.Since(begin); took < 95*time.Millisecond {
		t.Errorf("10,000 bytes at 100,000 a second took %v", took)
	}
	th.set(1)
	time.AfterFunc(10*time.Millisecond, func() { close(quit) })
	if err := th.wait(1000, quit); !errors.Is(err, errStopping) {
		t.Errorf("a wait when the broker stops: %v", err)
	}
}

func TestTheCleanerCanBeSwitchedOff(t *testing.T) {
	static, _, err := config.LoadServer(map[string]string{"node.id": "1", "log.cleaner.enable": "false"})
	if err != nil {
		t.Fatal(err)
	}
	c := newCleaner(&Broker{config: static}, metrics.New(1))
	c.start()
	c.stop()
	if c.started {
		t.Error("it was started")
	}
}
