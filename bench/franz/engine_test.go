package franz

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"ringmain/bench/audit"
	"ringmain/bench/load"
	"ringmain/bench/pace"
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
		low, top int32 // records of a batch, but for the last ones
	}{
		"one record each":        {[]string{"batch_bytes", "1", "in_flight", "1", "linger", "0s", "connections", "1"}, 1, 1},
		"one record, many under": {[]string{"batch_bytes", "1", "in_flight", "5", "linger", "0s", "record_size", "600", "connections", "1"}, 1, 1},
		"4 KiB":                  {[]string{"batch_bytes", "4KiB", "in_flight", "5", "linger", "5s", "connections", "1"}, 17, 20},
	} {
		t.Run(name, func(t *testing.T) {
			f := newCluster(t, 3)
			w := f.watchProduce()
			r := begin(t, f.env(workload.Produce, c.settings...))
			r.until(records(load.Produce, 500))
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

func TestWhatIsWrittenIsReadAndAccountedFor(t *testing.T) {
	for name, settings := range map[string][]string{
		"e2e":                             {"kind", "e2e", "rate", "4000", "linger", "0s"},
		"e2e, closed loop":                {"kind", "e2e", "rate", "max"},
		"e2e, keys":                       {"kind", "e2e", "rate", "4000", "keys", "uniform:100"},
		"mixed":                           {"kind", "mixed", "rate", "4000", "acks", "1"},
		"mixed, more consumers than need": {"kind", "mixed", "rate", "4000", "consumers", "7"},
		"mixed, more producers than need": {"kind", "mixed", "rate", "4000", "connections", "7"},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, 3)
			c.fill(20) // was there before, and is not read
			env := c.env(workload.EndToEnd, settings...)
			c.keepBook(env)
			r := begin(t, env)
			r.until(func(sum *load.Interval) bool { return sum.Sections[load.EndToEnd].Latency.Count() >= 2000 })
			sum := r.end()
			v := env.Book.Verdict()
			if err := v.Err(); err != nil || v.Acked == 0 || v.Seen != v.Acked || v.Foreign > 0 {
				t.Errorf("%v: %+v", err, v)
			}
			p, f, e := &sum.Sections[load.Produce], &sum.Sections[load.Fetch], &sum.Sections[load.EndToEnd]
			if p.Records != v.Acked || e.Latency.Count() != v.Acked || f.Records < v.Acked || f.Requests == 0 || f.Latency.Count() == 0 || f.Bytes < f.Records*200 {
				t.Errorf("%d produced, %d seen, %d fetched with %d bytes in %d answers; %d acknowledged", p.Records, e.Latency.Count(), f.Records, f.Bytes, f.Requests, v.Acked)
			}
			if len(sum.Errors) > 0 {
				t.Errorf("errors %v", sum.Errors)
			}
		})
	}
}

func TestCatchUpReadsWhatWasThereOverAndOver(t *testing.T) {
	c := newCluster(t, 5)
	c.fill(300)
	r := begin(t, c.env(workload.Fetch, "fetch_max_bytes", "8KiB"))
	r.until(records(load.Fetch, 3*5*300))
	sum := r.end()
	f := &sum.Sections[load.Fetch]
	if f.Bytes < f.Records*100 || f.Requests < f.Latency.Count() || f.Latency.Count() == 0 {
		t.Errorf("%d records, %d bytes, %d answers, %d polls", f.Records, f.Bytes, f.Requests, f.Latency.Count())
	}
	if len(sum.Errors) > 0 {
		t.Errorf("errors %v", sum.Errors)
	}
}

func TestCatchUpStaysWithinWhatWasThere(t *testing.T) {
	c := newCluster(t, 2)
	c.fill(100)
	env := c.env(workload.Mixed, "fetch_mode", "catch-up", "fetch_max_bytes", "4KiB", "rate", "2000")
	var beyond, starts atomic.Int64
	c.ControlKey(fetchKey, func(req kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		for _, topic := range req.(*kmsg.FetchRequest).Topics {
			for _, p := range topic.Partitions {
				switch {
				case p.FetchOffset == 0:
					starts.Add(1)
				case p.FetchOffset > 1000:
					beyond.Add(1)
				}
			}
		}
		return nil, nil, false
	})
	r := begin(t, env)
	r.until(func(sum *load.Interval) bool {
		return sum.Sections[load.Produce].Records >= 6000 && sum.Sections[load.Fetch].Records >= 2000
	})
	r.end()
	if beyond.Load() > 0 || starts.Load() < 4 {
		t.Errorf("%d fetches were at what came later, %d at the start", beyond.Load(), starts.Load())
	}
}

func TestRandomReadsFromAnywhere(t *testing.T) {
	c := newCluster(t, 2)
	c.fill(1000)
	var mu sync.Mutex
	offsets := map[int64]bool{}
	c.ControlKey(fetchKey, func(req kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		mu.Lock()
		defer mu.Unlock()
		for _, topic := range req.(*kmsg.FetchRequest).Topics {
			for _, p := range topic.Partitions {
				offsets[p.FetchOffset] = true
			}
		}
		return nil, nil, false
	})
	r := begin(t, c.env(workload.Fetch, "fetch_mode", "random", "fetch_max_bytes", "1KiB"))
	r.until(func(sum *load.Interval) bool { return sum.Sections[load.Fetch].Requests >= 100 })
	sum := r.end()
	mu.Lock()
	defer mu.Unlock()
	low, high := 0, 0
	for offset := range offsets {
		switch {
		case offset < 0 || offset >= 1000:
			t.Errorf("a fetch was at %d", offset)
		case offset < 500:
			low++
		default:
			high++
		}
	}
	if low < 20 || high < 20 || len(sum.Errors) > 0 {
		t.Errorf("%d offsets in the first half, %d in the second; errors %v", low, high, sum.Errors)
	}
}

func TestTailWaitsForOthers(t *testing.T) {
	c := newCluster(t, 2)
	c.fill(50)
	r := begin(t, c.env(workload.Fetch, "fetch_mode", "tail"))
	c.fill(30)
	r.until(records(load.Fetch, 60))
	if sum := r.end(); sum.Sections[load.Fetch].Records != 60 {
		t.Errorf("%d records were read, 60 came", sum.Sections[load.Fetch].Records)
	}
}

func TestStormConnectsAnewEachTime(t *testing.T) {
	for name, rate := range map[string]string{"closed loop": "max", "open loop": "200"} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, 2)
			env := c.env(workload.Storm, "connections", "4", "rate", rate)
			before := len(c.accepted())
			begun := time.Now()
			r := begin(t, env)
			r.until(func(sum *load.Interval) bool { return sum.Sections[load.Connect].Requests >= 50 })
			took := time.Since(begun)
			sum := r.end()
			n := sum.Sections[load.Connect]
			if got := int64(len(c.accepted()) - before); got != n.Requests || n.Latency.Count() != n.Requests || len(sum.Errors) > 0 {
				t.Errorf("%d connections came, %d visits, %d latencies, errors %v", got, n.Requests, n.Latency.Count(), sum.Errors)
			}
			if rate != "max" && took < 240*time.Millisecond {
				t.Errorf("50 visits at %s a second took %v", rate, took)
			}
		})
	}
}

func TestIdleConnectionsStayAndLossIsSeen(t *testing.T) {
	c := newCluster(t, 1)
	env := c.env(workload.Idle, "connections", "40")
	before := len(c.accepted())
	r := begin(t, env)
	r.until(func(*load.Interval) bool { return env.Meter.Open.Load() == 40 })
	theirs := c.accepted()[before:]
	if len(theirs) != 40 || env.Meter.Lost.Load() != 0 {
		t.Fatalf("%d connections were accepted, %d are lost", len(theirs), env.Meter.Lost.Load())
	}
	for _, conn := range theirs[:15] {
		conn.Close()
	}
	r.until(func(*load.Interval) bool { return env.Meter.Lost.Load() == 15 && env.Meter.Open.Load() == 25 })
	if sum := r.end(); sum.Sections[load.Connect].Requests != 40 || len(sum.Errors) > 0 {
		t.Errorf("%d connected, errors %v", sum.Sections[load.Connect].Requests, sum.Errors)
	}
	r.engine.Close()
	r.engine.Close()
	if open, lost := env.Meter.Open.Load(), env.Meter.Lost.Load(); open != 0 || lost != 15 {
		t.Errorf("closed: %d are open, %d lost", open, lost)
	}
}

// answerProduce makes the cluster answer every produce with an error.
func (c *cluster) answerProduce(code int16) {
	c.ControlKey(produceKey, func(req kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		resp := req.ResponseKind().(*kmsg.ProduceResponse)
		for _, topic := range req.(*kmsg.ProduceRequest).Topics {
			rt := kmsg.NewProduceResponseTopic()
			rt.Topic, rt.TopicID = topic.Topic, topic.TopicID
			for _, p := range topic.Partitions {
				rp := kmsg.NewProduceResponseTopicPartition()
				rp.Partition, rp.ErrorCode = p.Partition, code
				rt.Partitions = append(rt.Partitions, rp)
			}
			resp.Topics = append(resp.Topics, rt)
		}
		return resp, nil, true
	})
}

func TestFailuresHaveTheProtocolsNames(t *testing.T) {
	c := newCluster(t, 1)
	c.answerProduce(kerr.TopicAuthorizationFailed.Code)
	r := begin(t, c.env(workload.Produce, "rate", "1000"))
	r.until(func(sum *load.Interval) bool { return sum.Errors["TOPIC_AUTHORIZATION_FAILED"] >= 100 })
	if sum := r.end(); sum.Sections[load.Produce].Records != 0 || len(sum.Errors) != 1 {
		t.Errorf("%d records are noted as written, errors %v", sum.Sections[load.Produce].Records, sum.Errors)
	}
}

func TestRecordsWithoutAnAnswerFailWhenPatienceIsOver(t *testing.T) {
	c := newCluster(t, 1)
	env := c.env(workload.Mixed, "rate", "1000")
	c.keepBook(env)
	env.Patience = 300 * time.Millisecond
	r := begin(t, env)
	r.until(records(load.Produce, 100))
	c.answerProduce(kerr.NotEnoughReplicas.Code) // which the client takes as a reason to try again
	r.until(func(*load.Interval) bool {
		sent, acked := env.Book.Stream(0, 0).Counts()
		return sent > acked+100
	})
	sum := r.end()
	v := env.Book.Verdict()
	if sum.Errors[unanswered] == 0 || sum.Errors[unanswered] != v.Unacked || v.Lost != 0 {
		t.Errorf("errors %v; %+v", sum.Errors, v)
	}
}

func TestABrokerThatIsAwayIsSeen(t *testing.T) {
	c := newCluster(t, 1)
	env := c.env(workload.Mixed, "rate", "1000")
	env.Patience = 100 * time.Millisecond
	r := begin(t, env)
	r.until(records(load.Fetch, 100))
	c.Close()
	r.until(func(sum *load.Interval) bool { return sum.Errors["connection refused"] > 0 })
	r.end()
}

func TestRunEndsWithItsContext(t *testing.T) {
	for _, kind := range workload.Kinds() {
		c := newCluster(t, 1)
		c.fill(10)
		env := c.env(kind, "rate", "max")
		if kind == workload.EndToEnd {
			c.keepBook(env)
		}
		e, err := New(env)
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close()
		if err := e.Open(t.Context()); err != nil {
			t.Fatal(err)
		}
		why := errors.New("somebody pressed a key")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(20*time.Millisecond, func() { cancel(why) })
		if err := e.Run(ctx, pace.Now(), nil); !errors.Is(err, why) {
			t.Errorf("%s: %v", kind, err)
		}
	}
}

func TestAClosedEngineOpensNothing(t *testing.T) {
	c := newCluster(t, 1)
	e, err := New(c.env(workload.Produce))
	if err != nil {
		t.Fatal(err)
	}
	e.Close()
	if err := e.Open(t.Context()); err == nil || !strings.Contains(err.Error(), "closed") {
		t.Errorf("got %v", err)
	}
}

func TestWhatCannotBeDoneIsRefused(t *testing.T) {
	book, err := audit.NewBook(audit.Config{Run: 1, Producers: 8, Partitions: 1})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		kind   workload.Kind
		change func(env *load.Env)
		says   string // "" is fine
	}{
		{workload.Produce, func(*load.Env) {}, ""},
		{workload.Mixed, func(*load.Env) {}, ""},
		{workload.Storm, func(env *load.Env) { env.Partitions = nil }, ""},
		{workload.Produce, func(env *load.Env) { env.Partitions = nil }, "needs a partition"},
		{workload.Produce, func(env *load.Env) { env.Spec.Idempotent, env.Spec.Acks = true, 1 }, "needs acks all, not 1"},
		{workload.Produce, func(env *load.Env) { env.Spec.Idempotent, env.Spec.InFlight = true, 2 }, "up to 5 requests in flight when it is idempotent, not 2; use in_flight 5"},
		{workload.Produce, func(env *load.Env) { env.Spec.Record = workload.Fixed(35) }, ""},
		{workload.Produce, func(env *load.Env) { env.Book, env.Spec.Record = book, workload.Fixed(35) }, "shorter than the 36 bytes of a stamp"},
		{workload.EndToEnd, func(*load.Env) {}, "needs the account"},
		{workload.EndToEnd, func(env *load.Env) { env.Book = book }, ""},
		{workload.Fetch, func(env *load.Env) { env.Partitions[0].End = 5 }, ""},
		{workload.Fetch, func(*load.Env) {}, "all 1 partitions are empty"},
		{workload.Fetch, func(env *load.Env) { env.Spec.FetchMode, env.Spec.Rate.Records = workload.Tail, 100 }, "cannot keep to the rate 100"},
		{workload.Fetch, func(env *load.Env) { env.Spec.FetchMode, env.Spec.InFlight = workload.Tail, 3 }, "one fetch in flight on a connection, not 3"},
		{workload.Mixed, func(env *load.Env) { env.Spec.FetchMaxWait = time.Millisecond }, "10ms or longer, not 1ms"},
		{workload.Idle, func(env *load.Env) { env.Spec.Duration = time.Hour }, "at most 14m0s"},
	} {
		env := &load.Env{Spec: workload.Defaults(c.kind), Partitions: []load.Partition{{Topic: testTopic}}, Meter: &load.Meter{}}
		c.change(env)
		_, err := New(env)
		if c.says == "" && err != nil || c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says)) {
			t.Errorf("%s: got %v, want %q", c.kind, err, c.says)
		}
	}
}

func TestFailuresAreCountedUnderFewNames(t *testing.T) {
	for want, err := range map[string]error{
		"NOT_LEADER_FOR_PARTITION": fmt.Errorf("produce: %w", kerr.NotLeaderForPartition),
		"timeout":                  context.DeadlineExceeded,
		"connection lost":          fmt.Errorf("read: %w", io.ErrUnexpectedEOF),
		"connection refused":       &net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)},
		"client closed":            kgo.ErrClientClosed,
		"other":                    errors.New("127.0.0.1:45333: strange"),
	} {
		if got := nameOf(err); got != want {
			t.Errorf("%v is %q, want %q", err, got, want)
		}
	}
}
