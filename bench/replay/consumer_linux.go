package replay

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"ringmain/bench/audit"
	"ringmain/bench/load"
	"ringmain/bench/pace"
	"ringmain/bench/workload"
	"ringmain/record"
)

// consumer reads its partitions over one link, with one request under way. At the
// tail it asks for all of them at once, since a request waits there until any of
// them has something; elsewhere for one after the other.
type consumer struct {
	env      *load.Env
	lp       *loop
	number   int
	link     *link
	version  int16
	requests []fetchRequest
	sources  [][]*source // of each request
	turn     int         // of requests
	random   *rand.Rand
	stopped  bool

	intended, sent time.Duration
	under          bool // way: a request is

	// perRecord paces an open loop: the next request is due when the records that came
	// so far should have been read. 0: closed loop.
	perRecord time.Duration
	begun     time.Duration
	got       int64         // records
	again     time.Duration // when to ask after an error; 0: there was none
}

// source is a partition that a consumer reads.
type source struct {
	partition *load.Partition
	number    int32 // of the partition in the load
	offset    int64 // to ask for next
}

func newConsumer(env *load.Env, lp *loop, number int, version int16, partitions []*load.Partition, index func(*load.Partition) int32) *consumer {
	s := &env.Spec
	c := &consumer{env: env, lp: lp, number: number, version: version, random: rand.New(rand.NewPCG(uint64(s.Seed), uint64(number)))}
	add := func(partitions []*load.Partition) {
		var sources []*source
		for _, p := range partitions {
			sources = append(sources, &source{partition: p, number: index(p), offset: c.firstOffset(p)})
		}
		c.requests = append(c.requests, newFetchRequest(partitions, s, version))
		c.sources = append(c.sources, sources)
	}
	if s.FetchMode == workload.Tail {
		add(partitions)
		return c
	}
	for i := range partitions {
		if p := partitions[i]; p.End > p.Start { // there is something to read
			add(partitions[i : i+1])
		}
	}
	return c
}

func (c *consumer) firstOffset(p *load.Partition) int64 {
	switch c.env.Spec.FetchMode {
	case workload.Tail:
		return p.End
	case workload.Random:
		return c.anywhere(p)
	}
	return p.Start
}

func (c *consumer) anywhere(p *load.Partition) int64 {
	return p.Start + c.random.Int64N(max(p.End-p.Start, 1))
}

// begin starts the load, at so many records a second of this consumer if it is
// paced.
func (c *consumer) begin(at time.Duration, perSecond float64) error {
	if len(c.requests) == 0 {
		return nil
	}
	if perSecond > 0 {
		c.begun, c.perRecord = at, time.Duration(float64(time.Second)/perSecond)
		return nil
	}
	return c.send(pace.Now())
}

func (c *consumer) due(now time.Duration) (time.Duration, error) {
	if c.perRecord == 0 && c.again == 0 || c.stopped || c.under {
		return never, nil
	}
	at, intended := c.again, now
	if c.perRecord > 0 {
		intended = c.begun + time.Duration(c.got)*c.perRecord
		at = max(at, intended)
	}
	if at > now {
		return at, nil
	}
	c.again = 0
	return never, c.send(intended)
}

func (c *consumer) send(intended time.Duration) error {
	i := c.turn % len(c.requests)
	r := &c.requests[i]
	for k, s := range c.sources[i] {
		r.setOffset(k, s.offset)
	}
	r.setCorrelation(c.link.next)
	c.intended, c.sent, c.under = intended, pace.Now(), true
	if err := c.link.send(c.lp, r.frame, nil); err != nil {
		c.lp.drop(c.link)
		return c.lost(c.link, err)
	}
	return nil
}

func (c *consumer) connected(*link) error { return nil }

func (c *consumer) answered(_ *link, answer []byte) error {
	now := pace.Now()
	c.under = false
	sources := c.sources[c.turn%len(c.requests)]
	c.turn++
	var records, bytes int64
	refused := false
	code, err := readFetch(answer, c.version, func(i int, f fetched) error {
		s := find(sources, i, f)
		if s == nil {
			return fmt.Errorf("an answer to a fetch has partition %d of topic %q, which was not asked for", f.partition, f.topic)
		}
		if f.code != 0 {
			refused = true
			c.lp.worker.Failed(errorName(f.code))
			return nil
		}
		bytes += int64(len(f.records))
		n, err := c.take(s, f.records, now)
		records += n
		if err == errNoRecords {
			refused = true
			c.lp.worker.Failed(err.Error())
			return nil
		}
		return err
	})
	if err != nil {
		return err
	}
	if code != 0 {
		refused = true
		c.lp.worker.Failed(errorName(code))
	}
	c.got += records
	if records > 0 {
		c.lp.worker.Done(load.Fetch, records, bytes, c.intended, c.sent, now)
	}
	if refused {
		// Asked again at once it would be refused again, as fast as that goes.
		c.again = now + refusedPause
	}
	if c.stopped || c.perRecord > 0 || refused {
		return nil
	}
	return c.send(pace.Now())
}

// find is the source that part i of an answer is of. Brokers answer in the order of
// the request, but for those partitions that they refuse.
func find(sources []*source, i int, f fetched) *source {
	if i < len(sources) && sources[i].is(f) {
		return sources[i]
	}
	for _, s := range sources {
		if s.is(f) {
			return s
		}
	}
	return nil
}

func (s *source) is(f fetched) bool {
	return s.partition.Index == f.partition && s.partition.Topic == string(f.topic)
}

// refusedPause is how long a consumer waits after an error.
const refusedPause = 20 * time.Millisecond

// take accounts for the records of one partition and moves on behind them.
func (c *consumer) take(s *source, batches []byte, now time.Duration) (records int64, err error) {
	p := s.partition
	if c.env.Book != nil {
		from := s.offset
		s.offset, err = c.env.Book.SawBatches(s.number, from, batches, func(stamp audit.Stamp) {
			c.lp.worker.Took(load.EndToEnd, stamp.Sent, stamp.Sent, now)
			records++
		})
		if err != nil {
			c.lp.worker.Failed("CORRUPT_RECORDS")
			return records, err
		}
		return records, nil
	}
	next, first := s.offset, true
	for len(batches) >= record.HeaderSize {
		b := record.Batch(batches[:record.HeaderSize])
		size := b.Size()
		if size < record.HeaderSize {
			return records, fmt.Errorf("partition %d of topic %s: a batch of %d bytes at offset %d", p.Index, p.Topic, size, next)
		}
		if size > len(batches) {
			break // cut where the answer ends
		}
		if c.env.Dense {
			next = c.follow(p, next, b, first)
		} else {
			next = b.LastOffset() + 1
		}
		first = false
		records += int64(b.Count())
		batches = batches[size:]
	}
	if first && c.env.Dense && c.env.Spec.FetchMode != workload.Tail {
		return 0, errNoRecords
	}
	switch c.env.Spec.FetchMode {
	case workload.Random:
		next = c.anywhere(p)
	case workload.CatchUp:
		if next >= p.End || next == s.offset {
			next = p.Start
		}
	}
	s.offset = next
	return records, nil
}

// errNoRecords is an answer without any record, and without an error, at an offset that
// has one. (A broker that throttles answers without partitions.)
var errNoRecords = errors.New("no records where there are some")

// outOfOrder is a batch that lies before an offset that was read already.
const outOfOrder = "batches out of order"

// follow compares the header of a batch with the offset that is due in its partition, and
// returns the one that is due next. The first batch of an answer is the one around the
// offset that was asked for, and may begin before it.
func (c *consumer) follow(p *load.Partition, due int64, b record.Batch, first bool) int64 {
	from, to, count := b.BaseOffset(), b.LastOffset()+1, int64(b.Count())
	switch {
	case to <= due || from < due && !first:
		c.lp.worker.Failed(outOfOrder)
	case from > due:
		c.env.Meter.Missed(load.Gap{Topic: p.Topic, Partition: p.Index, From: due, To: from, Records: from - due})
	}
	if missing := to - from - count; missing > 0 {
		c.env.Meter.Missed(load.Gap{Topic: p.Topic, Partition: p.Index, From: from, To: to, Records: missing})
	}
	return max(due, to)
}

func (c *consumer) drained(*link) error { return nil }

func (c *consumer) lost(_ *link, reason error) error {
	if c.stopped {
		return nil
	}
	return fmt.Errorf("consumer %d, connected to %s: %w", c.number, c.sources[0][0].partition.Leader, reason)
}
