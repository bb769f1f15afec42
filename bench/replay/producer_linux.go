package replay

import (
	"fmt"
	"time"

	"ringmain/bench/audit"
	"ringmain/bench/load"
	"ringmain/bench/pace"
)

// producers are those of one loop, with what they share.
type producers struct {
	env      *load.Env
	lp       *loop
	patterns []pattern
	heads    map[*load.Partition][]byte
	all      []*producer
	changes  bool // batches are written into before they are sent

	dueNext int  // of all: whose turn by the clock is next
	paced   bool // open loop
	stopped bool
}

// producer writes to its partitions, one after the other, over one link.
type producer struct {
	*producers
	number  uint32 // of all of the load
	link    *link
	targets []target
	turn    int // of targets, and of patterns
	flight  flight

	dues  *pace.Schedule // when requests become due
	sends *pace.Schedule // the same times, taken when they are sent
	owed  int            // due and not sent yet
}

// target is a partition that a producer writes to.
type target struct {
	partition  *load.Partition
	head       []byte
	stream     *audit.Stream // nil: no account
	number     int32         // of the partition in the load
	producerID int64         // -1: not idempotent
	epoch      int16
	sequence   int32
}

// request is one under way.
type request struct {
	intended, sent time.Duration
	target         *target
	sequence       uint64 // of the account
	records, bytes int32
}

// flight is what is under way on a link, a ring in order.
type flight struct {
	ring []request
	head int
	n    int
}

func (f *flight) push() *request {
	f.n++
	return &f.ring[(f.head+f.n-1)%len(f.ring)]
}

func (f *flight) pop() *request {
	r := &f.ring[f.head]
	f.head = (f.head + 1) % len(f.ring)
	f.n--
	return r
}

// begin starts the load. share is this loop's part of all requests: the rate of each
// of its producers is the same as that of the others.
func (ps *producers) begin(at time.Duration, perSecond float64, producers int) error {
	if perSecond > 0 {
		ps.paced = true
		for _, p := range ps.all {
			p.dues = pace.Starting(at, perSecond, int(p.number), producers)
			p.sends = pace.Starting(at, perSecond, int(p.number), producers)
		}
		return nil
	}
	for _, p := range ps.all {
		if err := p.fill(); err != nil {
			return err
		}
	}
	return nil
}

// due lets those send whose time has come. All have the same period, so they become
// due in turn.
func (ps *producers) due(now time.Duration) (time.Duration, error) {
	if !ps.paced || ps.stopped {
		return never, nil
	}
	for {
		p := ps.all[ps.dueNext]
		at := p.dues.Peek()
		if at > now {
			return at, nil
		}
		p.dues.Next()
		p.owed++
		ps.dueNext = (ps.dueNext + 1) % len(ps.all)
		if err := p.fill(); err != nil {
			return 0, err
		}
	}
}

// fill sends what may be sent now.
func (p *producer) fill() error {
	for !p.stopped && p.flight.n < len(p.flight.ring) && len(p.link.out) == 0 && (!p.paced || p.owed > 0) {
		if err := p.send(); err != nil {
			return err
		}
		if p.env.Spec.Acks == 0 && !p.paced {
			// Nothing but the socket says stop; the loop has other links.
			return p.lp.watchRoom(p.link, true)
		}
	}
	return nil
}

func (p *producer) send() error {
	t := &p.targets[p.turn%len(p.targets)]
	b := &p.patterns[p.turn%len(p.patterns)]
	p.turn++
	now := pace.Now()
	r := request{intended: now, sent: now, target: t, records: b.batch.Count(), bytes: int32(len(b.batch))}
	if p.paced {
		r.intended = p.sends.Next()
		p.owed--
	}
	old := now-b.dated > dateEvery
	if old {
		b.date(now)
	}
	if p.changes {
		if t.stream != nil {
			r.sequence = t.stream.Next(int(r.records))
			b.stamp(audit.Stamp{Run: p.env.Book.Run(), Producer: p.number, Partition: t.number, Sequence: r.sequence, Sent: r.intended})
		}
		if t.producerID >= 0 {
			b.number(t.producerID, t.epoch, t.sequence)
			t.sequence = (t.sequence + r.records) & (1<<31 - 1)
		}
	}
	if old || p.changes {
		b.seal()
	}
	announce(t.head, p.link.next, len(b.batch))
	if err := p.link.send(p.lp, t.head, b.batch); err != nil {
		p.lp.drop(p.link)
		return p.lost(p.link, err)
	}
	if p.env.Spec.Acks == 0 {
		p.link.wanted++
		p.lp.worker.Done(load.Produce, int64(r.records), int64(r.bytes), r.intended, now, pace.Now())
		return nil
	}
	*p.flight.push() = r
	return nil
}

func (p *producer) connected(*link) error { return nil }

func (p *producer) answered(_ *link, answer []byte) error {
	r := p.flight.pop()
	t := r.target
	code, offset, err := produced(answer, t.partition.Topic)
	if err != nil {
		return err
	}
	if code != 0 {
		p.lp.worker.Failed(errorName(code))
	} else {
		p.lp.worker.Done(load.Produce, int64(r.records), int64(r.bytes), r.intended, r.sent, pace.Now())
		if t.stream != nil {
			t.stream.Acked(r.sequence, int(r.records), offset)
		}
	}
	return p.fill()
}

func (p *producer) drained(*link) error { return p.fill() }

func (p *producer) lost(_ *link, reason error) error {
	return fmt.Errorf("producer %d, connected to %s: %w", p.number, p.targets[0].partition.Leader, reason)
}

// stop sends nothing more.
func (ps *producers) stop() { ps.stopped = true }

// idle reports whether everything was answered.
func (ps *producers) idle() bool {
	for _, p := range ps.all {
		if p.flight.n > 0 || len(p.link.out) > 0 {
			return false
		}
	}
	return true
}

// giveUp counts what was never answered.
func (ps *producers) giveUp() {
	for _, p := range ps.all {
		for range p.flight.n {
			ps.lp.worker.Failed("no answer")
		}
	}
}
