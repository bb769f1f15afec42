package coordinator

import (
	"context"
	"log/slog"
	"math"
	"time"

	"ringmain/record"
)

// state is what a partition is doing.
type state uint8

const (
	absent  state = iota // not led; listed as long as appends are under way
	waiting              // for appends to report, or for a pause to end, to be loaded then
	loading
	active
)

// part is a partition on its loop.
type part[M Machine] struct {
	number int32
	state  state
	epoch  int32 // of the leadership
	log    Log
	// under is how many appends have not reported, of this machine and of earlier ones:
	// until they have, the log's end is not known.
	under int

	machine M         // while active
	writer  Writer    // of the machine
	reading *load[M]  // while loading
	flights []*flight // appends of this machine that are under way, oldest first
	bytes   int       // of their batches
	next    *flight   // the one that is being built, nil for none

	pause   time.Duration // before the next load; 0: nothing has failed since the last append
	retryMs int64         // when that is
}

// flight is an append, with the answers that wait for it.
type flight struct {
	builder *record.Builder // nil once it is under way
	bytes   int             // of its batch, then
	answers []func(err error)
	untilMs int64
	landed  bool // reported as durable, but an earlier one was not yet
	expired bool // untilMs has passed: nobody waits any more
}

func (f *flight) answer(err error) {
	for _, answer := range f.answers {
		answer(err)
	}
	f.answers = nil
}

// expire ends the waiting for an append that takes too long. It may still succeed, and
// the machine believes that it does.
func (f *flight) expire() {
	f.expired = true
	f.answer(ErrUnavailable)
}

const (
	// maxBatchBytes is where the records of a round are divided into batches, if the
	// topic is not to have smaller ones.
	maxBatchBytes = 1 << 20
	// maxFlights and maxFlightBytes are how much of a partition may be under way. What
	// comes meanwhile gathers in the next batch; when that is full too, because the disk
	// hangs, no step is taken.
	maxFlights     = 16
	maxFlightBytes = 4 << 20
)

// room is how many bytes the records of a batch may have, unless they are of one step.
func (p *part[M]) room() int { return min(maxBatchBytes, p.log.MaxBatchBytes()) - record.HeaderSize }

// perform runs one step of the machine and takes what comes out of it.
func (l *loop[M]) perform(p *part[M], fn func(m M, s *Step)) {
	s := &l.step
	s.NowMs, s.WallMs, s.RetentionWallMs, s.Image = l.nowMs, l.wallMs, l.ageMs, l.image
	s.MaxRecordBytes = p.log.MaxBatchBytes() - record.HeaderSize
	fn(p.machine, s)
	if len(s.Records) > 0 {
		l.stage(p, s)
	}
	l.await(p, s.Answers)
	clear(s.Records)
	clear(s.Answers)
	s.Records, s.Answers = s.Records[:0], s.Answers[:0]
}

// stage adds the step's records to the batch that is being built, or to one of their
// own. A step is never divided: a crash leaves all of it or nothing.
func (l *loop[M]) stage(p *part[M], s *Step) {
	size := 0
	for i := range s.Records {
		size += s.Records[i].Size()
	}
	if p.next != nil && p.next.builder.Size()+size > p.room() {
		l.seal(p)
	}
	if p.next == nil {
		p.next = &flight{builder: record.NewBuilder(), untilMs: l.nowMs + l.rt.cfg.AppendTimeout.Milliseconds()}
		p.next.builder.Codec = l.rt.cfg.Codec
		l.touched = append(l.touched, p)
	}
	for _, r := range s.Records {
		p.next.builder.Add(s.WallMs, r.Key, r.Value)
	}
}

// crowded reports that no more may be under way now.
func (p *part[M]) crowded() bool { return len(p.flights) >= maxFlights || p.bytes >= maxFlightBytes }

// full reports that there is no room for the records of another step.
func (p *part[M]) full() bool {
	return p.crowded() && p.next != nil && p.next.builder.Size() >= p.room()/2
}

// last is the append that was begun last, nil if none is under way.
func (p *part[M]) last() *flight {
	if p.next == nil && len(p.flights) > 0 {
		return p.flights[len(p.flights)-1]
	}
	return p.next
}

// await keeps answers until all that was written before them is durable.
func (l *loop[M]) await(p *part[M], answers []func(err error)) {
	last := p.last()
	if last != nil && !last.expired {
		last.answers = append(last.answers, answers...)
		return
	}
	var err error
	if last != nil {
		err = ErrUnavailable
	}
	for _, answer := range answers {
		answer(err)
	}
}

// seal appends the batch that was built, if there is one and it may be under way.
func (l *loop[M]) seal(p *part[M]) {
	if p.next == nil || p.crowded() {
		return
	}
	f := p.next
	batch := f.builder.Build()
	f.builder, f.bytes = nil, len(batch)
	p.flights, p.next = append(p.flights, f), nil
	p.bytes += f.bytes
	p.under++
	p.writer.Append(batch, func(err error) {
		l.box.post(func() { l.appended(p, f, err) })
	})
}

// appended is told how an append went. Appends of a machine that is gone have no
// flight any more.
func (l *loop[M]) appended(p *part[M], f *flight, err error) {
	p.under--
	defer l.forget(p)
	known := false
	for _, g := range p.flights {
		known = known || g == f
	}
	if !known {
		return
	}
	switch {
	case err != nil && l.stopping:
		p.giveUp(ErrUnavailable)
		return
	case err != nil:
		l.failed(p, err)
		return
	}
	f.landed = true
	p.pause = 0
	n := 0
	for ; n < len(p.flights) && p.flights[n].landed; n++ {
		p.flights[n].answer(nil)
		p.bytes -= p.flights[n].bytes
	}
	clear(p.flights[:n])
	p.flights = p.flights[n:]
	if p.next != nil { // it may have waited for room
		l.touched = append(l.touched, p)
	}
}

// failed unloads the machine after an append that failed: nobody knows what of it is
// in the log.
func (l *loop[M]) failed(p *part[M], err error) {
	l.rt.cfg.Observe.AppendFailed()
	l.unload(p, ErrUnavailable)
	l.retry(p, "a coordinator's append failed; its partition is read again", err)
}

// The pause before a partition is loaded again doubles with each failure that no
// successful append came after.
const (
	firstPause   = 100 * time.Millisecond
	longestPause = 30 * time.Second
)

// retry has the partition loaded after a pause. Why is said until the pause grows no
// more: a disk that is broken for good would fill the log.
func (l *loop[M]) retry(p *part[M], what string, err error) {
	p.state = waiting
	level := slog.LevelError
	if p.pause == longestPause {
		level = slog.LevelDebug
	}
	p.pause = min(max(2*p.pause, firstPause), longestPause)
	p.retryMs = l.nowMs + p.pause.Milliseconds()
	l.rt.cfg.Log.Log(context.Background(), level, what, "partition", p.number, "pause", p.pause.String(), "error", err)
}

// unload ends the machine, or the reading of the log into one: everybody who waits gets
// err.
func (l *loop[M]) unload(p *part[M], err error) {
	p.abandonLoad()
	if p.state != active {
		return
	}
	p.giveUp(err)
	p.machine.Unload(err)
	var none M
	p.machine = none
}

// giveUp gives err to all who wait for an append, and drops what was not appended yet.
func (p *part[M]) giveUp(err error) {
	for f := range p.unanswered {
		f.answer(err)
	}
	p.flights, p.next, p.bytes = nil, nil, 0
}

// unanswered gives the appends under way and the one that is being built, oldest first.
func (p *part[M]) unanswered(yield func(*flight) bool) {
	for _, f := range p.flights {
		if !yield(f) {
			return
		}
	}
	if p.next != nil {
		yield(p.next)
	}
}

// lead is Runtime.Lead on the loop.
func (l *loop[M]) lead(number, epoch int32, log Log) {
	if l.stopping {
		return
	}
	p := l.part(number)
	if p.state != absent && p.epoch == epoch && p.log == log {
		return
	}
	l.unload(p, ErrNotCoordinator)
	p.epoch, p.log = epoch, log
	p.state, p.pause, p.retryMs = waiting, 0, 0
	l.load(p)
}

// part gives the partition, put on the list if it is not there.
func (l *loop[M]) part(number int32) *part[M] {
	p := l.parts[number]
	if p == nil {
		p = &part[M]{number: number}
		l.parts[number] = p
	}
	return p
}

// lose is Runtime.Lose on the loop.
func (l *loop[M]) lose(number int32) {
	if l.stopping {
		return
	}
	p := l.part(number)
	l.unload(p, ErrUnavailable)
	p.state, p.log = waiting, nil
	p.pause, p.retryMs = longestPause, math.MaxInt64
}

// resign is Runtime.Resign on the loop.
func (l *loop[M]) resign(number int32) {
	p := l.parts[number]
	if p == nil {
		return
	}
	l.unload(p, ErrNotCoordinator)
	p.state, p.log = absent, nil
	l.forget(p)
}

// forget takes a partition off the list that is not led and has nothing under way.
func (l *loop[M]) forget(p *part[M]) {
	if p.state == absent && p.under == 0 && p.next == nil && l.parts[p.number] == p {
		delete(l.parts, p.number)
	}
}
