package franz

import (
	"bytes"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"ringmain/bench/load"
	"ringmain/bench/workload"
	"ringmain/record"
)

// produced are the record batches of all produce requests that a cluster gets,
// by partition, and the number of requests.
type produced struct {
	mu       sync.Mutex
	requests int64
	bytes    int64
	batches  map[int32][]record.Batch
}

func (c *cluster) watchProduce() *produced {
	w := &produced{batches: map[int32][]record.Batch{}}
	c.ControlKey(produceKey, func(req kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		w.mu.Lock()
		defer w.mu.Unlock()
		w.requests++
		for _, topic := range req.(*kmsg.ProduceRequest).Topics {
			for _, p := range topic.Partitions {
				w.bytes += int64(len(p.Records))
				w.batches[p.Partition] = append(w.batches[p.Partition], record.Batch(bytes.Clone(p.Records)))
			}
		}
		return nil, nil, false
	})
	return w
}

// check compares what was noted with what came to the cluster.
func (w *produced) check(t *testing.T, sum *load.Interval, c *cluster) {
	t.Helper()
	p, there := &sum.Sections[load.Produce], int64(0)
	for _, b := range c.bounds() {
		there += b.End - b.Start
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if p.Records != there || p.Bytes != w.bytes || p.Requests != w.requests || p.Latency.Count() != there {
		t.Errorf("noted: %d records, %d bytes, %d requests, %d latencies; the cluster has %d records and got %d bytes in %d requests",
			p.Records, p.Bytes, p.Requests, p.Latency.Count(), there, w.bytes, w.requests)
	}
	if len(sum.Errors) > 0 {
		t.Errorf("errors %v", sum.Errors)
	}
}

func TestProduceNotesWhatTheClusterGets(t *testing.T) {
	for name, settings := range map[string][]string{
		"closed loop":   {"rate", "max"},
		"open loop":     {"rate", "20000"},
		"idempotent":    {"idempotent", "true", "rate", "20000"},
		"no answers":    {"acks", "0", "rate", "20000"},
		"gzip":          {"codec", "gzip", "level", "1", "compressibility", "0.5"},
		"snappy":        {"codec", "snappy", "compressibility", "0.5"},
		"lz4":           {"codec", "lz4", "level", "3", "compressibility", "0.5"},
		"zstd":          {"codec", "zstd", "level", "3", "compressibility", "0.5"},
		"many clients":  {"connections", "20", "rate", "20000"},
		"varying sizes": {"record_size", "uniform:0:3KiB", "rate", "10000"},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, 3)
			w := c.watchProduce()
			r := begin(t, c.env(workload.Produce, settings...))
			r.until(records(load.Produce, 2000))
			sum := r.end()
			w.check(t, sum, c)
			if s := r.env.Spec; s.Codec != "none" {
				for _, all := range w.batches {
					for _, b := range all {
						if got := b.Codec().String(); got != s.Codec {
							t.Fatalf("a batch is compressed with %s", got)
						}
					}
				}
				if p := &sum.Sections[load.Produce]; p.Bytes > p.Records*200*9/10 {
					t.Errorf("%d records of 200 bytes that compress to half have %d bytes", p.Records, p.Bytes)
				}
			}
		})
	}
}

func TestBatchesAreAsLongAsAsked(t *testing.T) {
	for name, c := range map[string]struct {
		settings []string
		records  int64
		low, top int32 // records of a batch, but for the last ones
	}{
		"one record each":        {[]string{"batch_bytes", "1", "in_flight", "1", "linger", "0s", "connections", "1"}, 500, 1, 1},
		"one record, many under": {[]string{"batch_bytes", "1", "in_flight", "5", "linger", "0s", "record_size", "600", "connections", "1"}, 500, 1, 1},
		"4 KiB":                  {[]string{"batch_bytes", "4KiB", "in_flight", "5", "linger", "5s", "connections", "1"}, 5000, 17, 20},
	} {
		t.Run(name, func(t *testing.T) {
			f := newCluster(t, 3)
			w := f.watchProduce()
			r := begin(t, f.env(workload.Produce, c.settings...))
			r.until(records(load.Produce, c.records))
			r.end()
			short := 0
			for _, all := range w.batches {
				for _, b := range all {
					if b.Count() > c.top {
						t.Fatalf("a batch has %d records", b.Count())
					}
					if b.Count() < c.low {
						short++
					}
				}
			}
			if short > int(w.requests)/5 {
				t.Errorf("%d batches of %d requests have less than %d records", short, w.requests, c.low)
			}
		})
	}
}

func TestAnOpenLoopKeepsItsRate(t *testing.T) {
	c := newCluster(t, 2)
	env := c.env(workload.Produce, "rate", "5000", "connections", "4")
	begun := time.Now()
	r := begin(t, env)
	r.until(records(load.Produce, 2500))
	took := time.Since(begun)
	sum := r.end()
	// Half a second is due; a slow machine may need more, but none less.
	if took < 480*time.Millisecond {
		t.Errorf("2500 records at 5000 a second took %v", took)
	}
	if l := &sum.Sections[load.Produce].Latency; l.Corrected().Max < l.Uncorrected().Max {
		t.Errorf("corrected %+v, uncorrected %+v", l.Corrected(), l.Uncorrected())
	}
}

func TestClientsHavePartitionsOfTheirOwn(t *testing.T) {
	for _, c := range []struct {
		workers, all int
		want         [][]int
	}{
		{2, 5, [][]int{{0, 2, 4}, {1, 3}}},
		{3, 3, [][]int{{0}, {1}, {2}}},
		{5, 2, [][]int{{0}, {1}, {0}, {1}, {0}}},
	} {
		for w, want := range c.want {
			got := share(w, c.workers, c.all)
			if len(got) != len(want) {
				t.Fatalf("%d of %d workers has %v of %d", w, c.workers, got, c.all)
			}
			for i := range want {
				if got[i] != want[i] {
					t.Errorf("%d of %d workers has %v of %d", w, c.workers, got, c.all)
				}
			}
		}
	}
}

func TestAKeyIsInThePartitionWhereOtherClientsPutIt(t *testing.T) {
	c := newCluster(t, 5)
	env := c.env(workload.Produce, "keys", "uniform:50", "rate", "20000")
	r := begin(t, env)
	r.until(records(load.Produce, 1000))
	r.end()
	theirs := kgo.StickyKeyPartitioner(nil).ForTopic(testTopic)
	keys := map[string]bool{}
	c.read(func(rec *kgo.Record) {
		keys[string(rec.Key)] = true
		if want := theirs.Partition(rec, 5); int(rec.Partition) != want {
			t.Fatalf("key %s is in partition %d, others put it into %d", rec.Key, rec.Partition, want)
		}
	})
	if len(keys) < 40 || len(keys) > 50 {
		t.Errorf("%d of 50 keys came", len(keys))
	}
}

// read reads all records of the topic.
func (c *cluster) read(each func(*kgo.Record)) {
	c.t.Helper()
	left := int64(0)
	for _, b := range c.bounds() {
		left += b.End - b.Start
	}
	client, err := kgo.NewClient(kgo.SeedBrokers(c.ListenAddrs()...), kgo.ConsumeTopics(testTopic))
	if err != nil {
		c.t.Fatal(err)
	}
	defer client.Close()
	for left > 0 {
		f := client.PollFetches(c.t.Context())
		if err := f.Err(); err != nil {
			c.t.Fatal(err)
		}
		f.EachRecord(func(r *kgo.Record) { left--; each(r) })
	}
}

func TestOneSeedIsOneLoad(t *testing.T) {
	sizes := func() (list []int) {
		c := newCluster(t, 1)
		r := begin(t, c.env(workload.Produce, "record_size", "uniform:10:500", "keys", "zipf:100", "connections", "1", "seed", "42"))
		r.until(records(load.Produce, 200))
		r.end()
		c.read(func(rec *kgo.Record) { list = append(list, len(rec.Value)) })
		return list[:200]
	}
	one, two := sizes(), sizes()
	for i := range one {
		if one[i] != two[i] {
			t.Fatalf("record %d has %d and %d bytes", i, one[i], two[i])
		}
	}
}
