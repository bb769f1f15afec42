package replay

import (
	"bytes"
	"errors"
	"net"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
	"golang.org/x/sys/unix"

	"ringmain/bench/audit"
	"ringmain/bench/load"
	"ringmain/bench/workload"
	"ringmain/record"
)

// What the socket does not take is copied before the batch is written into again:
// batches that are shared and stamped come out whole, however little goes at once.
func TestDeepPipelinesKeepBatchesIntact(t *testing.T) {
	const partitions, producers = 4, 3
	var mu sync.Mutex
	type stream struct {
		producer  uint32
		partition int32
	}
	next, numbers, offsets := map[stream]uint64{}, map[stream]int32{}, map[int32]int64{}
	var came atomic.Int64
	check := func(frame []byte) (partition int32, offset int64) {
		var r kmsg.ProduceRequest
		decodeRequest(t, frame, &r)
		p := r.Topics[0].Partitions[0]
		b := record.Batch(p.Records)
		mu.Lock()
		defer mu.Unlock()
		first := true
		eachRecord(t, b, func(rec record.Record) {
			s, err := audit.ReadStamp(rec.Value)
			if err != nil {
				t.Errorf("a record without a stamp: %v", err)
				return
			}
			of := stream{s.Producer, s.Partition}
			if s.Run != 7 || s.Partition != p.Partition || s.Sequence != next[of] {
				t.Errorf("partition %d: %v, want %d", p.Partition, s, next[of])
			}
			next[of]++
			if first && (b.ProducerID() != int64(s.Producer)+100 || b.BaseSequence() != numbers[of]) {
				t.Errorf("a batch of producer %d has number %d, want %d", b.ProducerID(), b.BaseSequence(), numbers[of])
			}
			if first {
				numbers[of] += b.Count()
			}
			first = false
		})
		offset = offsets[p.Partition]
		offsets[p.Partition] += int64(b.Count())
		came.Add(int64(b.Count()))
		return p.Partition, offset
	}
	b := newBroker(t, func(c *wire) {
		for {
			frame, ok := c.next()
			if !ok {
				return
			}
			partition, offset := check(frame)
			c.answer(frame, producedAt(0, partition, offset))
		}
	})
	env := b.envOf(workload.Produce, partitions, "connections", "3", "in_flight", "50", "record_size", "uniform:36:900", "batch_bytes", "16KiB")
	var err error
	if env.Book, err = audit.NewBook(audit.Config{Run: 7, Producers: producers, Partitions: partitions}); err != nil {
		t.Fatal(err)
	}
	e := ready(t, env, 2)
	for _, ps := range e.producers {
		for _, p := range ps.all {
			if err := unix.SetsockoptInt(p.link.fd, unix.SOL_SOCKET, unix.SO_SNDBUF, 8<<10); err != nil {
				t.Fatal(err)
			}
			for i := range p.targets {
				p.targets[i].producerID = int64(p.number) + 100
			}
		}
	}
	r := begin(t, e)
	r.until(func() bool { return came.Load() > 20_000 })
	sum := r.end()
	p, v := &sum.Sections[load.Produce], env.Book.Verdict()
	if p.Records != came.Load() || v.Acked != p.Records || v.Sent != p.Records || p.Latency.Count() != p.Requests || sum.Failures() != 0 {
		t.Errorf("%d records came; noted %+v, account %+v, errors %v", came.Load(), p.Records, v, sum.Errors)
	}
}

// A load does not go on with a broker that does not speak the protocol, and says
// what it did.
func TestABrokerThatDoesNotKeepToTheProtocol(t *testing.T) {
	whole := func(frame []byte) []byte { return answerOf(correlationOf(frame), 8, producedAt(0, 0, 0)) }
	for name, c := range map[string]struct {
		kind  workload.Kind
		serve func(c *wire, frame []byte)
		says  string
	}{
		"another number": {workload.Produce, func(c *wire, frame []byte) {
			c.send(answerOf(7, 8, producedAt(0, 0, 0)))
		}, "answer 7 came where answer 0 was due"},
		"an answer too many": {workload.Produce, func(c *wire, frame []byte) {
			c.send(whole(frame))
			c.send(answerOf(correlationOf(frame)+1, 8, producedAt(0, 0, 0)))
		}, "answer 1 came where none was due"},
		"the end in the middle": {workload.Produce, func(c *wire, frame []byte) {
			_, _ = c.Write([]byte{0, 0, 0, 50, 0, 0, 0, 0, 1, 2})
			_ = c.Close()
		}, "the broker closed the connection"},
		"2 GiB": {workload.Produce, func(c *wire, frame []byte) {
			_, _ = c.Write([]byte{0x80, 0, 0, 0})
		}, "announces 2147483648 bytes"},
		"3 bytes": {workload.Produce, func(c *wire, frame []byte) {
			_, _ = c.Write([]byte{0, 0, 0, 3, 1, 2, 3})
		}, "announces 3 bytes"},
		"a short answer to a produce": {workload.Produce, func(c *wire, frame []byte) {
			c.send(whole(frame)[:20])
		}, "has 20 bytes only"},
		"a short answer to a fetch": {workload.Fetch, func(c *wire, frame []byte) {
			a := answerOf(correlationOf(frame), 11, fetchedFrom(0, 0, tenRecords()))
			c.send(a[:len(a)-1])
		}, "ends early"},
		"a partition that nobody asked for": {workload.Fetch, func(c *wire, frame []byte) {
			c.answer(frame, fetchedFrom(0, 5, tenRecords()))
		}, `partition 5 of topic "loads", which was not asked for`},
		"a batch of no bytes": {workload.Fetch, func(c *wire, frame []byte) {
			c.answer(frame, fetchedFrom(0, 0, make([]byte, 100)))
		}, "a batch of 12 bytes at offset 0"},
		"the end of a consumer": {workload.Fetch, func(c *wire, frame []byte) {
			_ = c.Close()
		}, "consumer 0, connected to 127.0.0.1"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBroker(t, func(w *wire) {
				frame, ok := w.next()
				if !ok {
					return
				}
				c.serve(w, frame)
				w.next() // until the other side has had enough
			})
			settings := []string{"in_flight", "1"}
			if c.kind == workload.Produce {
				settings = append(settings, "rate", "5")
			}
			r := begin(t, ready(t, b.envOf(c.kind, 1, settings...), 1))
			says(t, r.over(), c.says)
		})
	}
}

func TestRefusedRequestsAreCountedByName(t *testing.T) {
	for _, kind := range []workload.Kind{workload.Produce, workload.Fetch} {
		t.Run(string(kind), func(t *testing.T) {
			var refused atomic.Int64
			b := newBroker(t, func(c *wire) {
				for n := 0; ; n++ {
					frame, ok := c.next()
					if !ok {
						return
					}
					code, records := int16(0), []byte(tenRecords())
					if n%3 == 0 {
						code, records = 6, nil
						refused.Add(1)
					}
					if kind == workload.Produce {
						c.answer(frame, producedAt(code, 0, 0))
					} else {
						c.answer(frame, fetchedFrom(code, 0, records))
					}
				}
			})
			env := b.envOf(kind, 1, "in_flight", "1")
			r := begin(t, ready(t, env, 1))
			section := mainOf(kind)
			r.until(func() bool {
				return r.sum.Errors["NOT_LEADER_FOR_PARTITION"] >= 5 && r.sum.Sections[section].Requests >= 10
			})
			sum := r.end()
			if n, all := sum.Errors["NOT_LEADER_FOR_PARTITION"], refused.Load(); kind == workload.Produce && n != all || n > all || n < all-1 || len(sum.Errors) != 1 {
				t.Errorf("%d were refused, and the errors are %v", all, sum.Errors)
			}
		})
	}
}

func mainOf(k workload.Kind) load.Section {
	if k == workload.Fetch {
		return load.Fetch
	}
	return load.Produce
}

// After an error a consumer waits a moment; that is no reason to count what comes
// afterwards from that moment on.
func TestAnErrorDoesNotMakeALoadAnOpenLoop(t *testing.T) {
	var answers atomic.Int64
	b := newBroker(t, func(c *wire) {
		for n := 0; ; n++ {
			frame, ok := c.next()
			if !ok {
				return
			}
			if n == 0 {
				c.answer(frame, fetchedFrom(6, 0, nil))
				continue
			}
			time.Sleep(time.Millisecond)
			c.answer(frame, fetchedFrom(0, 0, tenRecords()))
			answers.Add(1)
		}
	})
	r := begin(t, ready(t, b.envOf(workload.Fetch, 1), 1))
	r.until(func() bool { return answers.Load() >= 300 })
	f := &r.end().Sections[load.Fetch]
	if late := f.Latency.Corrected().P50 - f.Latency.Uncorrected().P50; late > 20_000 {
		t.Errorf("half of the fetches of a closed loop were sent %d us late", late)
	}
}

// A consumer that is refused asks again after a moment, also at a rate.
func TestARefusedConsumerDoesNotHurry(t *testing.T) {
	var asked atomic.Int64
	b := newBroker(t, func(c *wire) {
		for {
			frame, ok := c.next()
			if !ok {
				return
			}
			asked.Add(1)
			c.answer(frame, fetchedFrom(6, 0, nil))
		}
	})
	for _, rate := range []string{"max", "1000"} {
		asked.Store(0)
		r := begin(t, ready(t, b.envOf(workload.Fetch, 1, "rate", rate), 1))
		from := time.Now()
		r.until(func() bool { return asked.Load() >= 5 })
		if took := time.Since(from); took < 4*refusedPause {
			t.Errorf("rate %s: it asked %d times within %v", rate, asked.Load(), took)
		}
		r.end()
	}
}

// Kafka answers the partitions that it refuses behind all others.
func TestPartitionsOfAnAnswerAreKnownByTheirNumber(t *testing.T) {
	var rounds atomic.Int64
	b := newBroker(t, func(c *wire) {
		for n := int64(0); ; n++ {
			frame, ok := c.next()
			if !ok {
				return
			}
			var r kmsg.FetchRequest
			decodeRequest(t, frame, &r)
			for _, p := range r.Topics[0].Partitions {
				want := int64(1000)
				if p.Partition == 1 {
					want += 10 * n
				}
				if p.FetchOffset != want {
					t.Errorf("request %d asks for offset %d of partition %d, want %d", n, p.FetchOffset, p.Partition, want)
				}
			}
			records := tenRecords()
			records.Stamp(1000+10*n, 0)
			answer := fetchedFrom(0, 1, records).(*kmsg.FetchResponse)
			answer.Topics = append(answer.Topics, fetchedFrom(0, 0, nil).(*kmsg.FetchResponse).Topics...)
			c.answer(frame, answer)
			rounds.Add(1)
		}
	})
	env := b.envOf(workload.Fetch, 2, "fetch_mode", "tail")
	r := begin(t, ready(t, env, 1))
	r.until(func() bool { return rounds.Load() >= 20 && r.sum.Sections[load.Fetch].Requests >= 20 })
	if f := r.end().Sections[load.Fetch]; f.Records != 10*f.Requests {
		t.Errorf("%d records in %d answers", f.Records, f.Requests)
	}
}

func TestWhatIsNeverAnsweredIsCounted(t *testing.T) {
	var came atomic.Int64
	b := newBroker(t, func(c *wire) {
		for {
			if _, ok := c.next(); !ok {
				return
			}
			came.Add(1)
		}
	})
	env := b.envOf(workload.Produce, 2, "connections", "2", "in_flight", "3")
	env.Patience = 200 * time.Millisecond
	r := begin(t, ready(t, env, 2))
	r.until(func() bool { return came.Load() == 6 })
	from := time.Now()
	sum := r.end()
	if took := time.Since(from); took < env.Patience {
		t.Errorf("it ended after %v", took)
	}
	if sum.Errors["no answer"] != 6 || sum.Sections[load.Produce].Requests != 0 {
		t.Errorf("errors %v, %d answered", sum.Errors, sum.Sections[load.Produce].Requests)
	}
}

// hello answers the greeting of visitors.
func hello(c *wire) bool {
	for {
		frame, ok := c.next()
		if !ok {
			return false
		}
		greet(c, frame)
	}
}

func greet(c *wire, frame []byte) {
	if frame[5] == 18 {
		c.answer(frame, kmsg.NewPtrApiVersionsResponse())
	} else {
		c.answer(frame, kmsg.NewPtrMetadataResponse())
	}
}

func TestIdleConnectionsThatAreClosedAreLost(t *testing.T) {
	b := newBroker(t, func(c *wire) { hello(c) })
	env := b.envOf(workload.Idle, 0, "connections", "300")
	e := ready(t, env, 2)
	before := 1 // what only asked whether somebody is there
	for deadline := time.Now().Add(ranOut); len(b.accepted()) < before; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("nobody asked whether somebody is there")
		}
	}
	r := begin(t, e)
	r.until(func() bool { return env.Meter.Open.Load() == 300 })
	for _, c := range b.accepted()[before : before+70] {
		_ = c.Close()
	}
	r.until(func() bool { return env.Meter.Lost.Load() == 70 && env.Meter.Open.Load() == 230 })
	sum := r.end()
	if sum.Failures() != 0 || sum.Sections[load.Connect].Requests != 300 || env.Meter.Lost.Load() != 70 {
		t.Errorf("%d connected, %d lost, errors %v", sum.Sections[load.Connect].Requests, env.Meter.Lost.Load(), sum.Errors)
	}
}

func TestIdleConnectionsThatDoNotComeAreErrors(t *testing.T) {
	var n atomic.Int64
	b := newBroker(t, func(c *wire) {
		// Whoever only asked whether somebody is there sends nothing, and is not counted.
		frame, ok := c.next()
		if !ok || n.Add(1)%2 == 0 {
			_ = c.Close()
			return
		}
		greet(c, frame)
		hello(c)
	})
	env := b.envOf(workload.Idle, 0, "connections", "100")
	r := begin(t, ready(t, env, 1))
	r.until(func() bool { return env.Meter.Open.Load()+r.sum.Errors["connection closed"] == 100 })
	if r.end(); env.Meter.Open.Load() != 50 || env.Meter.Lost.Load() != 0 {
		t.Errorf("%d open, %d lost", env.Meter.Open.Load(), env.Meter.Lost.Load())
	}
}

func TestAStormConnects(t *testing.T) {
	b := newBroker(t, func(c *wire) { hello(c) })
	for _, rate := range []string{"max", "500"} {
		before := len(b.accepted())
		env := b.envOf(workload.Storm, 1, "connections", "4", "rate", rate)
		r := begin(t, ready(t, env, 2))
		r.until(func() bool { return r.sum.Sections[load.Connect].Requests >= 50 })
		sum := r.end()
		if n := len(b.accepted()) - before; int64(n) < sum.Sections[load.Connect].Requests || sum.Failures() != 0 {
			t.Errorf("rate %s: %d connected, %d came, errors %v", rate, sum.Sections[load.Connect].Requests, n, sum.Errors)
		}
	}
}

func TestThereIsNobodyToStorm(t *testing.T) {
	b := newBroker(t, func(c *wire) { hello(c) })
	env := b.envOf(workload.Storm, 1, "connections", "4")
	e := ready(t, env, 2)
	b.close()
	says(t, begin(t, e).over(), "connection refused")
}

// sulker is a role that ends the load after it has closed its link.
type sulker struct {
	role
	lp  *loop
	why error
}

func (s *sulker) answered(l *link, _ []byte) error {
	s.lp.drop(l)
	return s.why
}

func TestAnErrorOfARoleThatHasClosedItsLinkEndsTheLoad(t *testing.T) {
	lp, err := newLoop((&load.Meter{}).Worker())
	if err != nil {
		t.Fatal(err)
	}
	defer lp.close()
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(pair[1])
	s := &sulker{lp: lp, why: errors.New("it cannot go on")}
	if err := lp.add(&link{fd: pair[0], role: s, next: 1}); err != nil {
		t.Fatal(err)
	}
	if _, err := unix.Write(pair[1], []byte{0, 0, 0, 4, 0, 0, 0, 0}); err != nil {
		t.Fatal(err)
	}
	late := time.AfterFunc(ranOut, func() { lp.order(func() error { lp.over = true; return nil }) })
	defer late.Stop()
	if err := lp.run(func() error { return nil }); !errors.Is(err, s.why) {
		t.Errorf("got %v", err)
	}
}

// Where the next visitor cannot come, for want of descriptors or ports, the one that
// made room for it is not lost.
func TestVisitorsThatCannotComeEndTheLoad(t *testing.T) {
	b := newBroker(t, func(c *wire) { hello(c) })
	for _, kind := range []workload.Kind{workload.Idle, workload.Storm} {
		env := b.envOf(kind, 1, "connections", "500")
		if kind == workload.Storm {
			env.Spec.Connections = 1
		}
		e := ready(t, env, 1)
		vs := e.visitors[0]
		r := begin(t, e)
		vs.lp.order(func() error { vs.place.family = 1 << 10; return nil }) // there is no such one
		err := r.over()
		says(t, err, "open a connection: open a socket")
		if env.Meter.Lost.Load() != 0 {
			t.Errorf("%s: %d lost", kind, env.Meter.Lost.Load())
		}
	}
}

func TestNothingIsLeftBehind(t *testing.T) {
	for _, kind := range []workload.Kind{workload.Produce, workload.Fetch, workload.Storm, workload.Idle} {
		t.Run(string(kind), func(t *testing.T) {
			b := newBroker(t, func(c *wire) {
				for {
					frame, ok := c.next()
					if !ok {
						return
					}
					switch frame[5] {
					case 0:
						c.answer(frame, producedAt(0, 0, 0))
					case 1:
						c.answer(frame, fetchedFrom(0, 0, tenRecords()))
					case 18:
						c.answer(frame, kmsg.NewPtrApiVersionsResponse())
					default:
						c.answer(frame, kmsg.NewPtrMetadataResponse())
					}
				}
			})
			if c, err := net.Dial("tcp", b.address()); err == nil { // Go's poller is there from now on
				_ = c.Close()
			}
			places := runtime.GOMAXPROCS(0)
			env := b.envOf(kind, 1, "connections", "20", "in_flight", "1")
			goroutines, files := runtime.NumGoroutine(), descriptors(t)-len(b.accepted())
			e := ready(t, env, 2)
			r := begin(t, e)
			r.until(func() bool {
				n := r.sum.Sections[load.Connect].Requests
				for _, s := range []load.Section{load.Produce, load.Fetch} {
					n += r.sum.Sections[s].Requests
				}
				return n >= 20
			})
			r.end()
			e.Close()
			e.Close()
			b.close()
			deadline := time.Now().Add(ranOut)
			for runtime.NumGoroutine() > goroutines && time.Now().Before(deadline) {
				time.Sleep(time.Millisecond)
			}
			if n := runtime.NumGoroutine(); n > goroutines {
				buf := make([]byte, 1<<20)
				t.Errorf("%d goroutines, there were %d:\n%s", n, goroutines, buf[:runtime.Stack(buf, true)])
			}
			if n := descriptors(t); n >= files {
				t.Errorf("%d descriptors, there were %d and a listener among them", n, files)
			}
			if n := runtime.GOMAXPROCS(0); n != places {
				t.Errorf("the scheduler has %d places, it had %d", n, places)
			}
		})
	}
}

// An engine that could not open gives back what it has.
func TestAnEngineThatCannotOpenGivesEverythingBack(t *testing.T) {
	b := newBroker(t, func(c *wire) { hello(c) })
	env := b.envOf(workload.Produce, 2, "connections", "2")
	env.Partitions[1].Leader = "127.0.0.1:1"
	before := descriptors(t)
	e := &engine{env: env, versions: newestVersions}
	err := e.openLoops(2)
	if err == nil {
		err = e.openProducers(t.Context(), nil)
	}
	says(t, err, "127.0.0.1:1")
	e.Close()
	b.close()
	if n := descriptors(t); n > before {
		t.Errorf("%d descriptors, there were %d", n, before)
	}
}

func TestNewRefusesWhatItCannotDo(t *testing.T) {
	book, err := audit.NewBook(audit.Config{Producers: 1, Partitions: 1})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		kind     workload.Kind
		settings []string
		book     *audit.Book
		says     string
	}{
		{workload.EndToEnd, []string{"codec", "lz4"}, book, "use codec none, or engine franz"},
		{workload.EndToEnd, []string{"record_size", "35"}, book, "takes 36 bytes"},
		{workload.Fetch, []string{"in_flight", "2"}, nil, "in_flight 2"},
		{workload.EndToEnd, nil, nil, "needs an account"},
		{workload.Storm, []string{"rate", "5MB"}, nil, "connections carry no records"},
	} {
		_, err := New(&load.Env{Spec: *specOf(t, c.kind, c.settings...), Book: c.book})
		says(t, err, c.says)
	}
}

// steady is a load against a broker that answers at once, and how many it answered.
func steady(t testing.TB, kind workload.Kind) (*running, *atomic.Int64) {
	answer := answerOf(0, 8, producedAt(0, 0, 0))
	if kind == workload.Fetch {
		answer = answerOf(0, 11, fetchedFrom(0, 0, bytes.Repeat(tenRecords(), 10)))
	}
	answered := &atomic.Int64{}
	address := mute(t, answer, answered)
	s := specOf(t, kind, "connections", "1", "consumers", "1", "record_size", "100", "batch_bytes", "1000")
	env := &load.Env{
		Spec: *s, Meter: &load.Meter{}, Patience: time.Second,
		Partitions: []load.Partition{{Topic: "loads", Leader: address, End: 1000}},
	}
	if kind == workload.Produce {
		var err error
		if env.Book, err = audit.NewBook(audit.Config{Producers: 1, Partitions: 1}); err != nil {
			t.Fatal(err)
		}
	}
	r := begin(t, ready(t, env, 1))
	await(answered, 2000)
	return r, answered
}

// await waits, and allocates nothing.
func await(counter *atomic.Int64, n int64) {
	for counter.Load() < n {
		time.Sleep(100 * time.Microsecond)
	}
}

func TestAWarmLoadAllocatesNothing(t *testing.T) {
	for _, kind := range []workload.Kind{workload.Produce, workload.Fetch} {
		r, answered := steady(t, kind)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		from := answered.Load()
		await(answered, from+20_000)
		runtime.ReadMemStats(&after)
		n := answered.Load() - from
		if each := float64(after.Mallocs-before.Mallocs) / float64(n); each > 0.01 {
			t.Errorf("%s: %.3f allocations for each of %d requests", kind, each, n)
		}
		if sum := r.end(); sum.Failures() != 0 {
			t.Errorf("%s: errors %v", kind, sum.Errors)
		}
	}
}

func BenchmarkReplayProduce(b *testing.B) { benchmark(b, workload.Produce) }
func BenchmarkReplayFetch(b *testing.B)   { benchmark(b, workload.Fetch) }

func benchmark(b *testing.B, kind workload.Kind) {
	r, answered := steady(b, kind)
	b.ReportAllocs()
	b.ResetTimer()
	await(answered, answered.Load()+int64(b.N))
	b.StopTimer()
	if sum := r.end(); sum.Failures() != 0 {
		b.Errorf("errors %v", sum.Errors)
	}
}
