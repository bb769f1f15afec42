package coordinator

import (
	"log/slog"
	"sync"
	"time"

	"ringmain/metadata"
	"ringmain/record"
)

// Config of a runtime.
type Config struct {
	// Loops is how many goroutines own partitions; at least 1.
	Loops int
	// Codec compresses what is appended; unless None it costs the loop's time.
	Codec record.Codec
	// AppendTimeout is how long an answer waits for its append before it becomes
	// ErrUnavailable.
	AppendTimeout time.Duration
	// ReadBytes is how much of a log is read at once while it is loaded.
	ReadBytes int
	// Observe is told of loads and failures, for metrics.
	Observe Observer
	Log     *slog.Logger

	clock *clock // nil: the system's; a test has its own
}

// Observer is told what a runtime did. Its methods run on the loops and must not
// block.
type Observer interface {
	// Loaded: a partition was read into a machine.
	Loaded(records int64, took time.Duration)
	// LoadFailed: it could not be; it is tried again.
	LoadFailed()
	// AppendFailed: an append failed, and the machine is loaded anew.
	AppendFailed()
}

// Runtime runs the machines of the partitions that this broker leads. All methods may
// be called from any goroutine; none but Each and Stop waits.
type Runtime[M Machine] struct {
	cfg     Config
	machine func(partition int32) M
	clock   *clock
	loops   []*loop[M]
	// readers has a place for each load that reads: as many as there are loops.
	readers chan struct{}
	loads   sync.WaitGroup
}

// NewRuntime starts the loops. machine makes an empty machine; it is called on them.
func NewRuntime[M Machine](cfg Config, machine func(partition int32) M) *Runtime[M] {
	cfg.Loops = max(cfg.Loops, 1)
	if cfg.clock == nil {
		cfg.clock = newClock()
	}
	r := &Runtime[M]{cfg: cfg, machine: machine, clock: cfg.clock, readers: make(chan struct{}, cfg.Loops)}
	for range cfg.Loops {
		r.loops = append(r.loops, newLoop(r))
	}
	return r
}

func (r *Runtime[M]) loopOf(partition int32) *loop[M] {
	return r.loops[int(uint32(partition))%len(r.loops)]
}

// Do runs step on the partition's machine. What it appended is written together with
// what others append in the same round, and its answers are given when that is
// durable. fail is called in place of step, with one of this package's errors, when
// the partition is not served; it may be called before Do returns, or on the loop.
// Steps that one goroutine posts for a partition run in that order.
func (r *Runtime[M]) Do(partition int32, step func(m M, s *Step), fail func(err error)) {
	l := r.loopOf(partition)
	if !l.box.post(func() { l.do(partition, step, fail) }) {
		fail(ErrUnavailable)
	}
}

// Each runs fn on every machine that is loaded and returns when it has run on all.
// It runs on their loops, so on several machines at the same time.
func (r *Runtime[M]) Each(fn func(partition int32, m M, s *Step)) {
	var wait sync.WaitGroup
	for _, l := range r.loops {
		wait.Add(1)
		if !l.box.post(func() { l.each(fn); wait.Done() }) {
			wait.Done()
		}
	}
	wait.Wait()
}

// Changed makes img the metadata of all later steps and runs fn on every machine that
// is loaded. One that is being loaded sees the image in Loaded.
func (r *Runtime[M]) Changed(img *metadata.Image, fn func(m M, s *Step)) {
	for _, l := range r.loops {
		l.box.post(func() {
			l.image = img
			l.each(func(_ int32, m M, s *Step) { fn(m, s) })
		})
	}
}

// Lead says that this broker leads the partition, in the given epoch, and where its log
// is: the machine is loaded. Whoever waits for an earlier one gets ErrNotCoordinator. The
// same epoch and log again change nothing.
func (r *Runtime[M]) Lead(partition, epoch int32, log Log) {
	l := r.loopOf(partition)
	l.box.post(func() { l.lead(partition, epoch, log) })
}

// Resign says that this broker does not lead the partition (any more): all who wait
// get ErrNotCoordinator.
func (r *Runtime[M]) Resign(partition int32) {
	l := r.loopOf(partition)
	l.box.post(func() { l.resign(partition) })
}

// Lose says that this broker leads the partition and cannot open its log: all who wait
// and all who come get ErrUnavailable, until Lead or Resign.
func (r *Runtime[M]) Lose(partition int32) {
	l := r.loopOf(partition)
	l.box.post(func() { l.lose(partition) })
}

// stopTimeout bounds how long Stop waits for appends that are under way.
const stopTimeout = 2 * time.Second

// Stop gives ErrUnavailable to all who are parked in machines and to all who still
// come, and their answers to those whose append is under way. It returns when the
// loops have ended and no log is read any more.
func (r *Runtime[M]) Stop() {
	for _, l := range r.loops {
		l.box.post(l.stop)
	}
	for _, l := range r.loops {
		<-l.done
	}
	r.loads.Wait()
}
