package coordinator

import (
	"time"

	"ringmain/metadata"
)

// loop is one goroutine and the partitions it owns.
type loop[M Machine] struct {
	rt   *Runtime[M]
	box  *mailbox
	done chan struct{}

	// Owned by the loop; never touched elsewhere.
	image    *metadata.Image
	nowMs    int64 // Step.NowMs of this round
	wallMs   int64 // Step.WallMs
	ageMs    int64 // Step.RetentionWallMs
	parts    map[int32]*part[M]
	step     Step       // of the machine that runs
	touched  []*part[M] // have records that no batch has yet
	stopping bool
	stopAtMs int64 // whatever is under way then is not waited for
}

func newLoop[M Machine](rt *Runtime[M]) *loop[M] {
	l := &loop[M]{rt: rt, box: newMailbox(), done: make(chan struct{}), parts: map[int32]*part[M]{}, image: metadata.Empty()}
	go l.run()
	return l
}

func (l *loop[M]) run() {
	defer close(l.done)
	var queue []func()
	for {
		queue = l.box.take(queue, l.sleep())
		l.round(queue)
		clear(queue)
		if l.stopping && l.idle() {
			break
		}
	}
	for _, fn := range l.box.close() { // nothing is served any more, so all of it is refused
		fn()
	}
}

// round runs everything that waits, then what is due, and appends what came out. The
// order matters after a pause of the process: a heartbeat that was already here counts
// before the deadline that it moves.
func (l *loop[M]) round(queue []func()) {
	clock := l.rt.clock
	l.nowMs, l.wallMs, l.ageMs = clock.elapsed().Milliseconds(), clock.wallMs(), clock.retentionMs()
	for _, fn := range queue {
		fn()
	}
	for _, p := range l.parts {
		l.advance(p)
	}
	for _, p := range l.touched {
		l.seal(p)
	}
	clear(l.touched)
	l.touched = l.touched[:0]
}

// advance does what is due for a partition.
func (l *loop[M]) advance(p *part[M]) {
	switch p.state {
	case active:
		if at, ok := p.machine.NextDeadline(); ok && at <= l.nowMs {
			l.perform(p, func(m M, s *Step) { m.Advance(s) })
		}
		for f := range p.unanswered {
			if l.nowMs < f.untilMs {
				break
			}
			f.expire()
		}
	case waiting:
		if l.nowMs >= p.retryMs {
			l.load(p)
		}
	}
}

// sleep is how long nothing is due; negative: for ever.
func (l *loop[M]) sleep() time.Duration {
	const never = 1<<63 - 1
	next := int64(never)
	if l.stopping {
		next = l.stopAtMs
	}
	for _, p := range l.parts {
		switch p.state {
		case active:
			if at, ok := p.machine.NextDeadline(); ok {
				next = min(next, at)
			}
			for f := range p.unanswered {
				if !f.expired {
					next = min(next, f.untilMs)
					break
				}
			}
		case waiting:
			if p.under == 0 {
				next = min(next, p.retryMs)
			}
		}
	}
	if next == never {
		return -1
	}
	// Counted from the time of the round, which has taken some of it.
	return max(time.Duration(next)*time.Millisecond-l.rt.clock.elapsed(), 0)
}

// do is Runtime.Do on the loop.
func (l *loop[M]) do(partition int32, step func(m M, s *Step), fail func(err error)) {
	p := l.parts[partition]
	if err := l.refusal(p); err != nil {
		fail(err)
		return
	}
	l.perform(p, step)
}

// refusal says why a partition takes no step now.
func (l *loop[M]) refusal(p *part[M]) error {
	switch {
	case l.stopping:
		return ErrUnavailable
	case p == nil:
		return ErrNotCoordinator
	case p.state == active && p.full():
		return ErrUnavailable
	case p.state == active:
		return nil
	case p.state == absent:
		return ErrNotCoordinator
	case p.state == waiting && p.pause > 0:
		return ErrUnavailable
	}
	return ErrLoading
}

// each runs fn on every machine that is loaded.
func (l *loop[M]) each(fn func(partition int32, m M, s *Step)) {
	for _, p := range l.parts {
		if p.state == active {
			l.perform(p, func(m M, s *Step) { fn(p.number, m, s) })
		}
	}
}

// stop is Runtime.Stop on the loop.
func (l *loop[M]) stop() {
	l.stopping = true
	l.stopAtMs = l.nowMs + stopTimeout.Milliseconds()
	for _, p := range l.parts {
		if p.state == active {
			l.seal(p) // what was asked before the stop is still done
			p.machine.Unload(ErrUnavailable)
		}
		p.abandonLoad()
		p.state = absent
		var none M
		p.machine = none
	}
}

// idle reports whether nothing is under way any more that is worth waiting for. What
// is left then is answered.
func (l *loop[M]) idle() bool {
	late := l.nowMs >= l.stopAtMs
	for _, p := range l.parts {
		if p.under > 0 && !late {
			return false
		}
	}
	for _, p := range l.parts {
		p.giveUp(ErrUnavailable)
	}
	return true
}
