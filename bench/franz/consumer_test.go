package franz

import (
	"sync"
	"sync/atomic"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kmsg"

	"ringmain/bench/load"
	"ringmain/bench/workload"
)

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

// Records that were there and are there no more are a fault, wherever fetches read.
func TestRecordsThatVanishAreErrors(t *testing.T) {
	for _, mode := range []string{workload.CatchUp, workload.Random} {
		t.Run(mode, func(t *testing.T) {
			c := newCluster(t, 2)
			c.fill(300)
			r := begin(t, c.env(workload.Fetch, "fetch_max_bytes", "8KiB", "fetch_mode", mode))
			r.until(records(load.Fetch, 300))
			gone := kadm.Offsets{}
			for _, p := range c.bounds() {
				gone.AddOffset(p.Topic, p.Index, p.End, -1)
			}
			if _, err := c.admin.DeleteRecords(t.Context(), gone); err != nil {
				t.Fatal(err)
			}
			r.until(func(sum *load.Interval) bool { return sum.Errors["OFFSET_OUT_OF_RANGE"] > 0 })
			r.end()
		})
	}
}

func TestCatchUpStaysWithinWhatWasThere(t *testing.T) {
	c := newCluster(t, 2)
	c.fill(100)
	env := c.env(workload.Mixed, "fetch_mode", "catch-up", "fetch_max_bytes", "4KiB", "rate", "20000")
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
		case offset < 0 || offset > 1000: // at 1000 one went on before the next jump
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
