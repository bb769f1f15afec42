package compaction

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"ringmain/test/harness"
)

var (
	rounds = flag.Int("rounds", 3, "how often the broker is killed")
	seed   = flag.Uint64("seed", 0, "of the moments of the kills; 0 takes one from the clock")
)

const topic = "compacted"

// written is what was acknowledged: by offset, and the last of each key.
type written struct {
	at   map[int64]string // key=value
	last map[string]int64
	end  int64
}

func newWritten() *written { return &written{at: map[int64]string{}, last: map[string]int64{}} }

func describe(r *kgo.Record) string {
	if r.Value == nil {
		return string(r.Key) + " is deleted"
	}
	return string(r.Key) + "=" + string(r.Value)
}

func (w *written) take(r *kgo.Record) {
	key := string(r.Key)
	w.at[r.Offset] = describe(r)
	if last, ok := w.last[key]; !ok || r.Offset > last {
		w.last[key] = r.Offset
	}
	w.end = max(w.end, r.Offset+1)
}

func client(t *testing.T, addr string, opts ...kgo.Opt) *kgo.Client {
	t.Helper()
	cl, err := kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(addr), kgo.DefaultProduceTopic(topic)}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cl.Close)
	return cl
}

func create(t *testing.T, cl *kgo.Client, settings map[string]string) {
	t.Helper()
	configs := map[string]*string{"cleanup.policy": kadm.StringPtr("compact"), "segment.bytes": kadm.StringPtr("1048576"), "min.cleanable.dirty.ratio": kadm.StringPtr("0.01")}
	for k, v := range settings {
		configs[k] = kadm.StringPtr(v)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	if _, err := kadm.NewClient(cl).CreateTopic(ctx, 1, 1, configs, topic); err != nil {
		t.Fatal(err)
	}
}

// produce writes records of so many keys in turn and waits for all answers.
func produce(t *testing.T, cl *kgo.Client, w *written, records, keys int, size int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	var failed error
	for i := range records {
		r := &kgo.Record{Key: fmt.Appendf(nil, "key-%d", (i*7+i*i)%keys), Value: fmt.Appendf(nil, "%d of %d %s", i, w.end, strings.Repeat("v", size))}
		if i%41 == 40 {
			r.Value = nil
		}
		cl.Produce(ctx, r, func(r *kgo.Record, err error) {
			if err != nil {
				failed = errors.Join(failed, err)
				return
			}
			w.take(r)
		})
	}
	if err := cl.Flush(ctx); err != nil || failed != nil {
		t.Fatalf("producing: %v, %v", err, failed)
	}
}

// read reads the topic from an offset to the end.
func read(t *testing.T, addr string, from, end int64) []*kgo.Record {
	t.Helper()
	// The last record is in the active segment, so it is there.
	cl := client(t, addr, kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: {0: kgo.NewOffset().At(from)}}), kgo.FetchMaxWait(100*time.Millisecond))
	defer cl.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	var out []*kgo.Record
	for len(out) == 0 || out[len(out)-1].Offset < end-1 {
		fetches := cl.PollFetches(ctx)
		if ctx.Err() != nil {
			t.Fatalf("reading from %d to %d took too long: %d records", from, end, len(out))
		}
		fetches.EachError(func(_ string, _ int32, err error) { t.Fatalf("reading: %v", err) })
		fetches.EachRecord(func(r *kgo.Record) { out = append(out, r) })
	}
	return out
}

// check compares what was read from the start with what was acknowledged.
func check(t *testing.T, got []*kgo.Record, w *written) {
	t.Helper()
	seen := map[string]int64{}
	next := int64(0)
	for _, r := range got {
		if r.Offset < next {
			t.Fatalf("offset %d behind %d", r.Offset, next-1)
		}
		next = r.Offset + 1
		if want, ok := w.at[r.Offset]; ok && want != describe(r) {
			t.Fatalf("at offset %d: %.60q, acknowledged was %.60q", r.Offset, describe(r), want)
		}
		seen[string(r.Key)] = r.Offset
	}
	for key, last := range w.last {
		if have, ok := seen[key]; !ok || have < last {
			t.Errorf("the last record of %s is at %d, read was %d (%v)", key, last, have, ok)
		}
	}
}

func waitUntil(t *testing.T, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(60 * time.Second); !done(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("within a minute not seen: %s", what)
		}
	}
}

// metric reads one number of a scrape.
func metric(t *testing.T, b *harness.Broker, name string) float64 {
	t.Helper()
	resp, err := http.Get("http://" + b.Ready("http") + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`(?m)^` + name + ` (\S+)$`).FindSubmatch(text)
	if m == nil {
		t.Fatalf("%s is not in the metrics", name)
	}
	v, err := strconv.ParseFloat(string(m[1]), 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestCompactedTopic(t *testing.T) {
	b := harness.StartOwn(t, harness.Options{HTTP: "127.0.0.1:0", Overrides: []string{"log.cleaner.backoff.ms=50", "ringmain.sync.ms=100"}})
	for _, codec := range []kgo.CompressionCodec{kgo.NoCompression(), kgo.ZstdCompression()} {
		cl := client(t, b.Addr(), kgo.ProducerBatchCompression(codec), kgo.ProducerBatchMaxBytes(20_000))
		create(t, cl, nil)
		w := newWritten()
		const keys, size = 200, 1000
		before := metric(t, b, "ringmain_cleaner_runs_total")
		for range 6 {
			produce(t, cl, w, 1000, keys, size+len(w.at)%7)
		}
		if codec == kgo.NoCompression() { // zstd leaves too little to fill a segment
			waitUntil(t, "a pass of the cleaner", func() bool { return metric(t, b, "ringmain_cleaner_runs_total") > before })
			var got []*kgo.Record
			waitUntil(t, "only the active segment has old records", func() bool {
				got = read(t, b.Addr(), 0, w.end)
				return len(got) <= keys+1<<20/size
			})
			check(t, got, w)
			if len(got) >= 6000 {
				t.Errorf("%d records of 6000 are left", len(got))
			}
			// A removed record's offset gives the next one.
			gone := got[0].Offset / 2
			next := read(t, b.Addr(), gone, w.end)
			// Another pass may have moved the start meanwhile: it lies between two looks.
			if first, later := got[0].Offset, read(t, b.Addr(), 0, w.end)[0].Offset; next[0].Offset < first || next[0].Offset > later {
				t.Errorf("reading from %d begins at %d, want %d to %d", gone, next[0].Offset, first, later)
			}
			// A pass is counted at its end, after what it has put in place can be read.
			waitUntil(t, "the metrics know what was removed", func() bool { return metric(t, b, "ringmain_cleaner_removed_bytes_total") >= 3<<20 })
			if n := metric(t, b, "ringmain_cleaner_failures_total"); n != 0 {
				t.Errorf("%v passes failed", n)
			}
		} else {
			check(t, read(t, b.Addr(), 0, w.end), w)
		}
		if err := b.Stop(); err != nil {
			t.Fatal(err)
		}
		if err := b.Restart(); err != nil {
			t.Fatal(err)
		}
		check(t, read(t, b.Addr(), 0, w.end), w)
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		if _, err := kadm.NewClient(client(t, b.Addr())).DeleteTopics(ctx, topic); err != nil {
			t.Error(err)
		}
		cancel()
	}
}

// A kill while segments are cleaned and replaced loses no last value and makes
// no offset another record's.
func TestKillDuringCleaning(t *testing.T) {
	s := *seed
	if s == 0 {
		s = uint64(time.Now().UnixNano())
	}
	rng := rand.New(rand.NewPCG(s, 0))
	t.Logf("seed %d, %d kills", s, *rounds)
	b := harness.StartOwn(t, harness.Options{HTTP: "127.0.0.1:0", Overrides: []string{"log.cleaner.backoff.ms=10", "ringmain.sync.ms=50", "log.cleaner.io.max.bytes.per.second=15000000"}})
	setUp := client(t, b.Addr())
	create(t, setUp, map[string]string{"delete.retention.ms": "100"})
	setUp.Close()
	w := newWritten()
	const keys = 150
	for r := range *rounds {
		cl := client(t, b.Addr(), kgo.ProducerBatchCompression(kgo.NoCompression()), kgo.ProducerBatchMaxBytes(20_000))
		for range 3 {
			produce(t, cl, w, 1000, keys, 1000)
		}
		waitUntil(t, "a segment is being cleaned", func() bool {
			found, err := filepath.Glob(b.DataDir() + "/" + topic + "-0/*.cleaned")
			if err == nil && len(found) > 0 {
				return true
			}
			produce(t, cl, w, 200, keys, 1000) // all before may have been cleaned by now
			return false
		})
		cl.Close()
		time.Sleep(time.Duration(rng.IntN(300)) * time.Millisecond) // the random moment
		b.Kill()
		if err := b.Restart(); err != nil {
			t.Fatalf("start after kill %d: %v", r+1, err)
		}
		checkLast(t, b.Addr(), w)
	}
	// The limit is lifted while the broker runs.
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	cl := client(t, b.Addr(), kgo.ProducerBatchCompression(kgo.NoCompression()), kgo.ProducerBatchMaxBytes(20_000))
	if _, err := kadm.NewClient(cl).AlterBrokerConfigs(ctx, []kadm.AlterConfig{{Name: "log.cleaner.io.max.bytes.per.second", Value: kadm.StringPtr("1e300")}}); err != nil {
		t.Fatal(err)
	}
	produce(t, cl, w, 2500, keys, 1000)
	waitUntil(t, "everything is clean", func() bool {
		return metric(t, b, "ringmain_cleaner_max_dirty_ratio") < 0.01 && metric(t, b, "ringmain_cleaner_runs_total") > 0
	})
	checkLast(t, b.Addr(), w)
	if n := metric(t, b, "ringmain_cleaner_failures_total"); n != 0 {
		t.Errorf("%v passes failed", n)
	}
}

// checkLast reads everything; a tombstone whose time has come may be missing.
func checkLast(t *testing.T, addr string, w *written) {
	t.Helper()
	got := read(t, addr, 0, w.end)
	left := map[string]int64{}
	seen := map[string]bool{}
	for _, r := range got {
		seen[string(r.Key)] = true
	}
	for key, o := range w.last {
		if seen[key] || !strings.HasSuffix(w.at[o], " is deleted") {
			left[key] = o
		}
	}
	check(t, got, &written{at: w.at, last: left, end: w.end})
}
