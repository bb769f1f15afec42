package bench

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"ringmain/bench/facts"
	"ringmain/bench/load"
	"ringmain/bench/pace"
	"ringmain/bench/result"
	"ringmain/bench/workload"
)

// hurried is Run that does not measure the floor for long.
func hurried(ctx context.Context, o Options) (*result.Document, error) {
	return runWithin(ctx, o, spans{end: 10 * time.Second, floor: 10 * time.Millisecond, cleanUp: 10 * time.Second})
}

var engines = []string{workload.Replay, workload.Franz}

// load is a small Run on the fake.
func (f *fake) load(kind workload.Kind, engine string, settings ...string) Options {
	f.t.Helper()
	s := workload.Defaults(kind)
	s.Name = "test"
	duration := "200ms"
	if engine == workload.Franz {
		duration = "300ms" // whose clients take some time to begin
	}
	all := append([]string{
		"engine", engine, "duration", duration, "warm_up", "60ms", "partitions", "3", "connections", "3", "consumers", "2",
		"record_size", "100", "batch_bytes", "1000", "fetch_max_wait", "20ms", "fetch_max_bytes", "2000", "fill", "50KB", "rate", "1000",
	}, settings...)
	for i := 0; i < len(all); i += 2 {
		if err := s.Set(all[i], all[i+1]); err != nil {
			f.t.Fatal(err)
		}
	}
	return Options{Spec: s, Bootstrap: f.ListenAddrs(), Client: []kgo.Opt{kgo.SeedBrokers(f.ListenAddrs()...)}}
}

// run is a Run that gets to its end. Where the machine has other things to do for all
// of so short a time, and nothing is answered in it, it has four times as long.
func (f *fake) run(o Options) *result.Document {
	f.t.Helper()
	for {
		d, err := hurried(f.t.Context(), o)
		if err != nil {
			f.t.Fatal(err)
		}
		if !slices.Equal(d.Verdict.Reasons, []string{"nothing was answered in the measured time"}) || o.Spec.Duration > 10*time.Second {
			return d
		}
		o.Spec.Duration *= 4
		for _, name := range f.topics() { // those that were to be kept
			if strings.HasPrefix(name, topicPrefix) {
				if _, err := f.admin.DeleteTopic(f.t.Context(), name); err != nil {
					f.t.Fatal(err)
				}
			}
		}
	}
}

// records is how many are in a topic.
func (f *fake) records(topic string) (n int64) {
	f.t.Helper()
	ends, err := f.admin.ListEndOffsets(f.t.Context(), topic)
	if err != nil {
		f.t.Fatal(err)
	}
	for _, e := range ends[topic] {
		n += e.Offset
	}
	return n
}

func TestRunMeasuresEveryKindWithBothEngines(t *testing.T) {
	t.Parallel()
	for _, engine := range engines {
		for _, kind := range workload.Kinds() {
			t.Run(engine+" "+string(kind), func(t *testing.T) {
				f := newFake(t)
				o := f.load(kind, engine)
				if kind == workload.Fetch && engine == workload.Franz {
					o.Spec.Rate = workload.Rate{} // it has none
				}
				phases := map[string]bool{}
				o.Progress = func(p Progress) {
					phases[p.Phase] = true
					if p.Share < 0 || p.Share > 1 {
						t.Errorf("%s is at %v", p.Phase, p.Share)
					}
				}
				o.Keep = true
				begun := time.Now()
				d := f.run(o)
				if !d.Verdict.OK || len(d.Errors) > 0 {
					t.Fatalf("%v, errors %v", d.Verdict.Reasons, d.Errors)
				}
				if d.Seconds < 0.12 || d.Seconds > time.Since(begun).Seconds() || len(d.Series) == 0 || d.Series[len(d.Series)-1].Second < 0.12 || !phases["measure"] {
					t.Errorf("measured %v s, series %+v, phases %v", d.Seconds, d.Series, phases)
				}
				if kind == workload.Idle {
					if i := d.Idle; i == nil || i.Connections != 3 || i.Lost != 0 || len(f.topics()) != 0 {
						t.Errorf("%+v, topics %v", d.Idle, f.topics())
					}
					return
				}
				if d.Latency == nil || d.Latency.Corrected.Count == 0 || (d.Asked == nil) != o.Spec.Rate.Max() || d.ClosedLoop != o.Spec.Rate.Max() || d.Reached.Requests == 0 {
					t.Errorf("latency %+v, asked %+v, reached %+v", d.Latency, d.Asked, d.Reached)
				}
				topics := f.topics()
				if len(topics) != 1 || !strings.HasPrefix(topics[0], topicPrefix) {
					t.Fatalf("topics %v", topics)
				}
				there := f.records(topics[0])
				if a := d.Audit; kind.Produces() && (a == nil || a.Acked != there || a.Seen != there || a.Acked == 0 || a.Lost+a.Duplicated+a.OutOfOrder+a.Corrupt != 0) {
					t.Errorf("%d records are there, and the account is %+v", there, a)
				}
				if kind == workload.Fetch && there == 0 {
					t.Error("nothing was written to be fetched")
				}
				for name, want := range map[string]struct{ there, due bool }{
					"produce": {d.Produce != nil, kind.Produces()}, "fetch": {d.Fetch != nil, kind.Fetches()},
					"end to end": {d.EndToEnd != nil, kind == workload.EndToEnd || kind == workload.Mixed}, "connect": {d.Connect != nil, kind == workload.Storm},
				} {
					if want.there != want.due {
						t.Errorf("%s is there: %v", name, want.there)
					}
				}
			})
		}
	}
}

func TestRunInAClosedLoop(t *testing.T) {
	t.Parallel()
	for _, engine := range engines {
		f := newFake(t)
		o := f.load(workload.Produce, engine, "rate", "max", "warm_up", "0s", "idempotent", "true", "topics", "2", "codec", "lz4")
		if d := f.run(o); !d.Verdict.OK || !d.ClosedLoop || d.Asked != nil || d.Audit == nil || d.Audit.Acked == 0 || len(f.topics()) != 0 {
			t.Errorf("%s: %+v, closed %v, account %+v, topics %v", engine, d.Verdict, d.ClosedLoop, d.Audit, f.topics())
		}
		o = f.load(workload.Fetch, engine, "rate", "max", "fetch_mode", "random")
		if d := f.run(o); !d.Verdict.OK || !d.ClosedLoop || d.Fetch == nil || len(f.topics()) != 0 {
			t.Errorf("%s: %+v, topics %v", engine, d.Verdict, f.topics())
		}
	}
}

// Records that are followed are followed whatever the numbers of partitions,
// producers and consumers, over several brokers.
func TestRunFollowsRecordsOverSeveralBrokers(t *testing.T) {
	t.Parallel()
	for _, settings := range [][]string{
		{"partitions", "4", "connections", "4", "consumers", "4"},
		{"partitions", "7", "connections", "3", "consumers", "3"},
		{"partitions", "4", "connections", "9", "consumers", "9"},
	} {
		f := newFake(t, kfake.NumBrokers(3))
		d := f.run(f.load(workload.EndToEnd, workload.Replay, append(settings, "duration", "150ms", "warm_up", "0s")...))
		if a := *d.Audit; a.Seen == 0 || a != (result.Audit{Acked: a.Seen, Seen: a.Seen}) || len(d.Errors) > 0 {
			t.Errorf("%v: %v, %+v", settings, d.Verdict.Reasons, d.Audit)
		}
	}
}

func TestACancelledRunLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	for _, engine := range engines {
		for _, phase := range []string{"fill", "floor", "warm up", "measure", "finish"} {
			t.Run(engine+" "+phase, func(t *testing.T) {
				f := newFake(t)
				o := f.load(workload.Mixed, engine, "duration", "1h", "fetch_mode", "catch-up")
				if phase == "finish" {
					o.Spec.Duration = 100 * time.Millisecond
				}
				why := errors.New("somebody pressed a key")
				ctx, cancel := context.WithCancelCause(t.Context())
				defer cancel(nil)
				var cancelled time.Time
				o.Progress = func(p Progress) {
					if p.Phase == phase && cancelled.IsZero() {
						cancelled = time.Now()
						cancel(why)
					}
				}
				d, err := runWithin(ctx, o, spans{end: time.Minute, floor: 10 * time.Millisecond, cleanUp: 10 * time.Second})
				if d != nil || errors.Is(err, errEnded) || !errors.Is(err, why) && !errors.Is(err, context.Canceled) {
					t.Errorf("%+v, %v", d, err)
				}
				// Neither the hour is waited for nor what may still be answered.
				if took := time.Since(cancelled); took > 20*time.Second {
					t.Errorf("it went on for %v", took)
				}
				if names := f.topics(); len(names) != 0 {
					t.Errorf("left behind: %v", names)
				}
			})
		}
	}
}

func TestRunLeavesOthersTopicsAlone(t *testing.T) {
	t.Parallel()
	for _, engine := range engines {
		f := newFake(t, kfake.SeedTopics(2, "orders"))
		o := f.load(workload.Produce, engine, "topic", "orders")
		if _, err := hurried(t.Context(), o); err == nil || !strings.Contains(err.Error(), `"orders" would be written to`) {
			t.Errorf("%s: got %v", engine, err)
		}
		if n := f.records("orders"); n != 0 {
			t.Errorf("%s: there are %d records", engine, n)
		}
		o.Existing = true
		if d := f.run(o); !d.Verdict.OK || f.records("orders") == 0 || len(f.topics()) != 1 {
			t.Errorf("%s: %v, %d records, topics %v", engine, d.Verdict.Reasons, f.records("orders"), f.topics())
		}
		o = f.load(workload.EndToEnd, engine, "topic", "orders")
		o.Existing = true
		if d := f.run(o); !d.Verdict.OK || d.Audit.Acked == 0 || d.Audit.Seen != d.Audit.Acked || len(f.topics()) != 1 {
			t.Errorf("%s: %v, account %+v", engine, d.Verdict.Reasons, d.Audit)
		}
		// To read is not to write.
		if d := f.run(f.load(workload.Fetch, engine, "topic", "orders", "rate", "max", "duration", "500ms")); !d.Verdict.OK || len(f.topics()) != 1 {
			t.Errorf("%s: %v", engine, d.Verdict.Reasons)
		}
		o = f.load(workload.Produce, engine, "topic", "parcels")
		o.Existing = true
		if _, err := hurried(t.Context(), o); err == nil || !strings.Contains(err.Error(), "parcels") || len(f.topics()) != 1 {
			t.Errorf("%s: a topic that does not exist: %v, topics %v", engine, err, f.topics())
		}
	}
}

// What was refused was not made, and a name that is taken is somebody's topic, however it
// came to be called so. After a timeout the topic may be there.
func TestRunDeletesOnlyWhatItMade(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		code    int16
		name    string
		deletes bool
	}{{36, "TOPIC_ALREADY_EXISTS", false}, {29, "TOPIC_AUTHORIZATION_FAILED", false}, {7, "REQUEST_TIMED_OUT", true}} {
		f := newFake(t)
		f.ControlKey(int16(kmsg.CreateTopics), func(req kmsg.Request) (kmsg.Response, error, bool) {
			f.KeepControl()
			resp := req.ResponseKind().(*kmsg.CreateTopicsResponse)
			for _, topic := range req.(*kmsg.CreateTopicsRequest).Topics {
				rt := kmsg.NewCreateTopicsResponseTopic()
				rt.Topic, rt.ErrorCode = topic.Topic, c.code
				resp.Topics = append(resp.Topics, rt)
			}
			return resp, nil, true
		})
		var deleted atomic.Int64
		f.ControlKey(int16(kmsg.DeleteTopics), func(kmsg.Request) (kmsg.Response, error, bool) {
			f.KeepControl()
			deleted.Add(1)
			return nil, nil, false
		})
		_, err := hurried(t.Context(), f.load(workload.Produce, workload.Replay, "topics", "2"))
		var left *LeftBehind
		if err == nil || errors.As(err, &left) || !strings.Contains(err.Error(), c.name) || !strings.Contains(err.Error(), "with replication factor 1") {
			t.Errorf("%s: got %v", c.name, err)
		}
		if n := deleted.Load(); n > 0 != c.deletes {
			t.Errorf("%s: %d requests to delete topics were sent", c.name, n)
		}
	}
}

// Topics that cannot be deleted are named, however the run ended. A broker that is away for
// a moment is waited for.
func TestTopicsThatAreLeftBehindAreNamed(t *testing.T) {
	t.Parallel()
	for _, comesBack := range []bool{false, true} {
		f := newFake(t)
		var asked atomic.Int64
		f.ControlKey(int16(kmsg.DeleteTopics), func(kmsg.Request) (kmsg.Response, error, bool) {
			f.KeepControl()
			if comesBack && asked.Add(1) > 2 {
				return nil, nil, false
			}
			return nil, errors.New("out of order"), true // the connection is closed
		})
		o := f.load(workload.Storm, workload.Replay, "rate", "20", "duration", "100ms", "warm_up", "0s")
		o.Client = append(o.Client, kgo.RequestRetries(0))
		within := spans{end: time.Second, floor: 10 * time.Millisecond, cleanUp: 500 * time.Millisecond}
		if comesBack {
			within.cleanUp = time.Minute
		}
		d, err := runWithin(t.Context(), o, within)
		var left *LeftBehind
		if comesBack && (err != nil || len(f.topics()) > 0) {
			t.Errorf("%v, topics %v", err, f.topics())
		}
		if !comesBack && (!errors.As(err, &left) || len(left.Topics) != 1 || !slices.Equal(left.Topics, f.topics()) || !strings.Contains(err.Error(), left.Topics[0])) {
			t.Errorf("got %v, topics %v", err, f.topics())
		}
		if d == nil {
			t.Error("what was measured is not shown")
		}
	}
}

// A broker that goes away in the midst of a load is not one that cannot be reached.
func TestALoadWhoseBrokersGoAwayIsBroken(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	o := f.load(workload.Produce, workload.Replay, "duration", "1h")
	o.Progress = func(p Progress) {
		if p.Phase == "measure" {
			f.Close()
		}
	}
	d, err := runWithin(t.Context(), o, spans{end: time.Second, floor: 10 * time.Millisecond, cleanUp: 100 * time.Millisecond})
	var broken *BrokenLoad
	var left *LeftBehind
	if d != nil || !errors.As(err, &broken) || !errors.As(err, &left) {
		t.Errorf("%+v, %v", d, err)
	}
}

// refuse has the fake refuse produce requests with a code, one of so many.
func (f *fake) refuse(code int16, oneOf int64) {
	var n atomic.Int64
	f.ControlKey(int16(kmsg.Produce), func(req kmsg.Request) (kmsg.Response, error, bool) {
		f.KeepControl()
		if n.Add(1)%oneOf != 0 {
			return nil, nil, false
		}
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

func TestFailedRequestsSpoilTheVerdict(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		engine string
		code   int16
		name   string
	}{
		{workload.Replay, 6, "NOT_LEADER_FOR_PARTITION"},
		{workload.Replay, 19, "NOT_ENOUGH_REPLICAS"},
		{workload.Franz, 10, "MESSAGE_TOO_LARGE"}, // others it tries again
	} {
		f := newFake(t)
		f.refuse(c.code, 5)
		d := f.run(f.load(workload.Produce, c.engine))
		if reasons := strings.Join(d.Verdict.Reasons, "; "); d.Verdict.OK || !strings.Contains(reasons, c.name) || d.Errors[c.name] == 0 {
			t.Errorf("%s: %v, errors %v", c.engine, d.Verdict, d.Errors)
		}
		if a := d.Audit; a == nil || a.Lost != 0 || a.Duplicated != 0 || len(f.topics()) != 0 {
			t.Errorf("%s: %+v, topics %v", c.engine, a, f.topics())
		}
	}
}

func TestAFillThatIsRefusedEnds(t *testing.T) {
	f := newFake(t)
	f.refuse(19, 1)
	_, err := hurried(t.Context(), f.load(workload.Fetch, workload.Replay))
	if err == nil || !strings.Contains(err.Error(), "fill the topic: requests fail: NOT_ENOUGH_REPLICAS ") || len(f.topics()) != 0 {
		t.Errorf("%v, topics %v", err, f.topics())
	}
}

// A broker that acknowledges and keeps nothing is found out, with an account and
// without one.
func TestRunFindsLostRecords(t *testing.T) {
	t.Parallel()
	for _, engine := range engines {
		for _, kind := range []workload.Kind{workload.Produce, workload.EndToEnd} {
			f := newFake(t)
			f.refuse(0, 4)
			o := f.load(kind, engine)
			// What never comes is not waited for long.
			d, err := runWithin(t.Context(), o, spans{end: 300 * time.Millisecond, floor: 10 * time.Millisecond, cleanUp: 10 * time.Second})
			if err != nil {
				t.Fatal(err)
			}
			if d.Verdict.OK || d.Audit == nil || d.Audit.Lost == 0 || strings.Contains(strings.Join(d.Warnings, "; "), unreadWarning) {
				t.Errorf("%s, %s: %v, %+v, warnings %v", engine, kind, d.Verdict.Reasons, d.Audit, d.Warnings)
			}
		}
	}
}

const unreadWarning = "records may be there that a broker was not back in time to give"

// Records that a broker has and does not give in time count as lost, and it is said
// that they may be there.
func TestRecordsThatCannotBeReadInTimeMayBeThere(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	var away atomic.Bool
	f.ControlKey(int16(kmsg.Fetch), func(kmsg.Request) (kmsg.Response, error, bool) {
		f.KeepControl()
		return nil, errors.New("away"), away.Load()
	})
	o := f.load(workload.EndToEnd, workload.Franz, "duration", "500ms")
	o.Progress = func(p Progress) { away.Store(away.Load() || p.Phase == "measure") }
	d, err := runWithin(t.Context(), o, spans{end: 300 * time.Millisecond, floor: 10 * time.Millisecond, cleanUp: 10 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	if d.Verdict.OK || d.Audit == nil || d.Audit.Lost == 0 || !strings.Contains(strings.Join(d.Warnings, "; "), unreadWarning) {
		t.Errorf("%v, %+v, warnings %v", d.Verdict.Reasons, d.Audit, d.Warnings)
	}
}

// A topic that is deleted in the midst of a load spoils it, and what was measured is shown.
func TestATopicThatVanishesSpoilsTheVerdict(t *testing.T) {
	t.Parallel()
	for _, engine := range engines {
		f := newFake(t)
		o := f.load(workload.Produce, engine, "duration", "500ms")
		gone := false
		o.Progress = func(p Progress) {
			if p.Phase != "measure" || gone {
				return
			}
			gone = true
			if _, err := f.admin.DeleteTopics(t.Context(), f.topics()...); err != nil {
				t.Error(err)
			}
		}
		d, err := runWithin(t.Context(), o, spans{end: 300 * time.Millisecond, floor: 10 * time.Millisecond, cleanUp: 10 * time.Second})
		if err != nil {
			t.Errorf("%s: %v", engine, err)
			continue
		}
		if reasons := strings.Join(d.Verdict.Reasons, "; "); d.Verdict.OK || !strings.Contains(reasons, "is not known") {
			t.Errorf("%s: %q", engine, reasons)
		}
	}
}

// The numbers of records are compared where nobody has read them.
func TestCountComparesWhatIsThere(t *testing.T) {
	f := newFake(t, kfake.SeedTopics(2, "orders"))
	for range 5 {
		if err := f.client.ProduceSync(t.Context(), &kgo.Record{Topic: "orders", Partition: 1, Value: []byte("x")}).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		acked            int64
		errors           map[string]int64
		lost, duplicated int64
		says             string
	}{
		{5, nil, 0, 0, ""},
		{7, nil, 2, 0, "7 records were acknowledged, and the partitions hold 5"},
		{3, nil, 0, 2, "some were written twice"},
		{3, map[string]int64{"no answer": 1}, 0, 0, ""}, // what was not answered may be there
		{7, map[string]int64{"no answer": 1}, 2, 0, "hold 5"},
	} {
		r := &run{
			Options: f.load(workload.Produce, workload.Replay), admin: f.admin, meter: &load.Meter{}, acked: c.acked,
			doc:        &result.Document{Errors: c.errors},
			partitions: []load.Partition{{Topic: "orders"}, {Topic: "orders", Index: 1}},
		}
		if err := r.count(t.Context()); err != nil {
			t.Fatal(err)
		}
		a, reasons := r.doc.Audit, strings.Join(r.doc.Verdict.Reasons, "; ")
		if a.Acked != c.acked || a.Seen != 5 || a.Lost != c.lost || a.Duplicated != c.duplicated || !strings.Contains(reasons, c.says) || c.says == "" && reasons != "" {
			t.Errorf("%d acknowledged, errors %v: %+v, %q", c.acked, c.errors, a, reasons)
		}
	}
}

// The measured time is whole, also where what looks at it was held up at its end.
func TestTheLastSecondIsTakenDownHoweverLate(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	var d *result.Document
	for held := false; !held; { // unless the machine itself has the first look come too late
		o := f.load(workload.Produce, workload.Replay, "duration", "300ms")
		looks := 0
		o.Progress = func(p Progress) {
			if p.Phase != "measure" {
				return
			}
			if looks++; looks == 1 && p.Share < 1 {
				held = true
				time.Sleep(200 * time.Millisecond) // beyond the end
			}
		}
		d = f.run(o)
	}
	if len(d.Series) != 1 || d.Seconds < 0.4 || d.Produce == nil {
		t.Fatalf("measured %v s, series %+v", d.Seconds, d.Series)
	}
	// Records are divided by the time in which they came, not by the one asked for.
	if p := d.Series[0]; int64(p.Records*d.Seconds+0.5) != d.Produce.Records || int64(d.Reached.Records*d.Seconds+0.5) != d.Produce.Records {
		t.Errorf("%+v, reached %+v, of %d records", p, d.Reached, d.Produce.Records)
	}
}

// bouncer closes every second connection that a cluster accepts, from one on.
type bouncer struct {
	net.Listener
	mu   *sync.Mutex
	n    *int
	from int
}

func (b bouncer) Accept() (net.Conn, error) {
	c, err := b.Listener.Accept()
	if err == nil {
		b.mu.Lock()
		defer b.mu.Unlock()
		if *b.n++; *b.n > b.from && *b.n%2 == 0 {
			_ = c.Close()
		}
	}
	return c, err
}

// Connections that failed are not waited for.
func TestIdleConnectionsThatFailAreNotWaitedFor(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	n := 0
	f := newFake(t, kfake.NumBrokers(1), kfake.ListenFn(func(network, address string) (net.Listener, error) {
		l, err := net.Listen(network, address)
		return bouncer{l, &mu, &n, 10}, err
	}))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	d, err := hurried(ctx, f.load(workload.Idle, workload.Replay, "connections", "40"))
	if err != nil {
		t.Fatal(err)
	}
	reasons := strings.Join(d.Verdict.Reasons, "; ")
	if d.Verdict.OK || d.Idle == nil || d.Idle.Connections < 15 || d.Idle.Connections > 25 || !strings.Contains(reasons, "of 40 connections could be opened") || !strings.Contains(reasons, "connection closed") {
		t.Errorf("%+v, %q", d.Idle, reasons)
	}
}

func TestRunCountsCostsAndWritesTheLog(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	o := f.load(workload.Produce, workload.Replay)
	o.PIDs = []int{os.Getpid()}
	var log strings.Builder
	o.HLog = &log
	o.Progress = func(p Progress) {
		if p.Phase == "prepare" {
			log.Reset() // it may have begun again
		}
	}
	d := f.run(o)
	if u, err := facts.Process(os.Getpid()); err != nil || u.CPU == facts.Unknown {
		t.Skip("this host does not say what a process costs")
	}
	if d.Costs.ServerCPU == nil || d.Costs.ServerRSS == nil || len(d.Server.Commands) != 1 || d.Series[0].ServerCPU == nil || d.Costs.ClientCPU <= 0 {
		t.Errorf("costs %+v, commands %v", d.Costs, d.Server.Commands)
	}
	if n := strings.Count(log.String(), "Tag=corrected"); n != len(d.Series) {
		t.Errorf("%d intervals are in the log, %d in the series:\n%s", n, len(d.Series), log.String())
	}
	o.PIDs = []int{1 << 30}
	if _, err := hurried(t.Context(), o); err == nil || !strings.Contains(err.Error(), "1073741824") {
		t.Errorf("a process that does not exist: %v", err)
	}
	o.PIDs, o.Metrics = nil, "http://127.0.0.1:1/metrics"
	if _, err := hurried(t.Context(), o); err == nil || !strings.Contains(err.Error(), "read metrics") || len(f.topics()) != 0 {
		t.Errorf("metrics that nobody serves: %v", err)
	}
}

// Where nobody says which process is the server, nothing is said of it, not even a 0.
func TestNothingIsSaidOfAServerThatIsNotKnown(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	d := f.run(f.load(workload.Produce, workload.Replay))
	want := result.Costs{ClientCPU: d.Costs.ClientCPU, ClientRSS: d.Costs.ClientRSS, ClientSwitches: d.Costs.ClientSwitches}
	if d.Costs != want {
		t.Errorf("%+v", d.Costs)
	}
	for _, p := range d.Series {
		if p.ServerCPU != nil || p.ServerRSS != nil {
			t.Errorf("%+v", p)
		}
	}
}

func TestRunRefusesAWorkloadThatMakesNoSense(t *testing.T) {
	f := newFake(t)
	o := f.load(workload.Produce, workload.Replay)
	o.Spec.InFlight = 0
	if _, err := hurried(t.Context(), o); err == nil || !strings.Contains(err.Error(), "in_flight 0") {
		t.Errorf("got %v", err)
	}
	o = f.load(workload.EndToEnd, workload.Replay, "codec", "lz4")
	if _, err := hurried(t.Context(), o); err == nil || !strings.Contains(err.Error(), "use engine franz") && !strings.Contains(err.Error(), "engine franz") || len(f.topics()) != 0 {
		t.Errorf("got %v, topics %v", err, f.topics())
	}
}

// Whatever is under way when a run is cancelled, the reason is told, and nothing else.
func TestWhyARunWasCancelledIsToldInEveryRequest(t *testing.T) {
	t.Parallel()
	why := errors.New("somebody pressed a key")
	for _, key := range []kmsg.Key{kmsg.Metadata, kmsg.CreateTopics, kmsg.ListOffsets, kmsg.DescribeConfigs} {
		f := newFake(t)
		ctx, cancel := context.WithCancelCause(t.Context())
		f.ControlKey(int16(key), func(kmsg.Request) (kmsg.Response, error, bool) {
			cancel(why)
			return nil, nil, false
		})
		if d, err := hurried(ctx, f.load(workload.Fetch, workload.Replay)); d != nil || err != why {
			t.Errorf("%v: %+v, %v", key.Name(), d, err)
		}
		if names := f.topics(); len(names) != 0 {
			t.Errorf("%v: left behind: %v", key.Name(), names)
		}
	}
}

// An engine notices the end of its context as soon as the run does, and says so in
// words of its own: the reason is told in either case.
func TestWhyARunWasCancelledIsToldWhoeverNoticesFirst(t *testing.T) {
	t.Parallel()
	why := errors.New("somebody pressed a key")
	for range 50 {
		ctx, cancel := context.WithCancelCause(t.Context())
		ended := make(chan error, 1)
		ended <- fmt.Errorf("the load ended before it was stopped: %w", why)
		cancel(why)
		var r run // which looks at nothing but the two
		if err := r.wait(ctx, "measure", 0, pace.Now()+time.Hour, ended, nil); err != why {
			t.Fatalf("got %v", err)
		}
	}
}
