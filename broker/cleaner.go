package broker

import (
	"errors"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"ringmain/config"
	"ringmain/metrics"
	"ringmain/partition"
	"ringmain/segment"
)

// cleaner compacts logs whose topic has cleanup.policy=compact: the dirtiest
// first, log.cleaner.threads of them at a time. Its loop decides, a goroutine
// for each pass reads and writes, and the shards put what was written in place.
type cleaner struct {
	b       *Broker
	set     *metrics.Set
	started bool
	quit    chan struct{}
	done    chan struct{}
	pace    throttle

	dirtiest    atomic.Uint64 // bits of the largest dirty ratio seen in the last look
	uncleanable atomic.Int64

	// Owned by the loop; never touched elsewhere.
	passes map[*partition.Replica]struct{}  // under way
	rest   map[*partition.Replica]time.Time // not looked at before
	failed map[*partition.Replica]time.Time // a pass failed; likewise
	ended  chan passEnd
}

// passEnd is how a pass over a log ended.
type passEnd struct {
	replica *partition.Replica
	cleaned segment.Cleaned
	err     error
}

// uncleanableFor is how long a log rests of which a pass has failed: whatever it
// was, it is not over in seconds, and what a pass reads is much.
const uncleanableFor = 10 * time.Minute

// minBackoff keeps log.cleaner.backoff.ms=0 from being a loop without end.
const minBackoff = 10 * time.Millisecond

// errStopping ends a pass because the broker stops.
var errStopping = errors.New("the broker is stopping")

func newCleaner(b *Broker, set *metrics.Set) *cleaner {
	return &cleaner{
		b: b, set: set, quit: make(chan struct{}), done: make(chan struct{}), ended: make(chan passEnd),
		passes: map[*partition.Replica]struct{}{}, rest: map[*partition.Replica]time.Time{}, failed: map[*partition.Replica]time.Time{},
	}
}

// start begins, unless log.cleaner.enable is false.
func (c *cleaner) start() {
	if !c.b.config.Bool("log.cleaner.enable") {
		return
	}
	c.started = true
	go c.loop()
}

// stop ends the passes that are under way, each with the segments it has
// replaced so far, and the goroutine.
func (c *cleaner) stop() {
	close(c.quit)
	if c.started {
		<-c.done
	}
}

func (c *cleaner) loop() {
	defer close(c.done)
	for {
		set := c.b.layers(c.b.controller.Image()).Resolve().Cleaner
		c.pace.set(set.BytesPerSecond)
		c.look(set, time.Now())
		again := time.NewTimer(max(time.Duration(set.BackoffMs)*time.Millisecond, minBackoff))
		select {
		case <-c.quit:
			again.Stop()
			for len(c.passes) > 0 {
				c.end(<-c.ended, set)
			}
			return
		case e := <-c.ended:
			c.end(e, set)
		case <-again.C:
		}
		again.Stop()
	}
}

// candidate is a log that may be cleaned now.
type candidate struct {
	replica *partition.Replica
	ratio   float64
}

// look finds what is due and begins as many passes as there are threads free.
func (c *cleaner) look(set config.Cleaner, now time.Time) {
	var due []candidate
	dirtiest, failed := 0.0, 0
	for _, r := range c.b.replicas.all() {
		if _, busy := c.passes[r]; busy || !r.Settings().Log.CompactPolicy || r.Log().Err() != nil {
			continue
		}
		if until, ok := c.failed[r]; ok && now.Before(until) {
			failed++
			continue
		}
		if until, ok := c.rest[r]; ok && now.Before(until) {
			continue
		}
		ratio, isDue := c.consider(r, now)
		dirtiest = max(dirtiest, ratio)
		if isDue {
			due = append(due, candidate{r, ratio})
		}
	}
	c.dirtiest.Store(math.Float64bits(dirtiest))
	c.uncleanable.Store(int64(failed))
	c.forget(now)
	slices.SortStableFunc(due, func(a, b candidate) int {
		switch {
		case a.ratio > b.ratio:
			return -1
		case a.ratio < b.ratio:
			return 1
		}
		return 0
	})
	for _, d := range due {
		if len(c.passes) >= int(set.Threads) {
			return
		}
		c.passes[d.replica] = struct{}{}
		go c.pass(d.replica, set, now)
	}
}

// consider tells how dirty a log is and whether a pass is due: the ratio is
// above min.cleanable.dirty.ratio, or a record has waited for
// max.compaction.lag.ms. One that waits in the active segment has it closed.
func (c *cleaner) consider(r *partition.Replica, now time.Time) (ratio float64, due bool) {
	settings := r.Settings()
	what, err := r.Log().Cleanable(settings.Log, r.LastStableOffset(), now.UnixMilli())
	if err == nil && what.RollDue {
		err = r.RollOverdue()
	}
	if err == nil && what.FileSyncDue {
		if err = r.SyncFiles(); err == nil {
			what, err = r.Log().Cleanable(settings.Log, r.LastStableOffset(), now.UnixMilli())
		}
	}
	if err != nil {
		c.fail(r, err, now)
		return 0, false
	}
	return what.Ratio(), what.DirtyBytes > 0 && (what.Overdue || what.Ratio() > settings.MinCleanableRatio)
}

// pass cleans one log, on a goroutine of its own.
func (c *cleaner) pass(r *partition.Replica, set config.Cleaner, now time.Time) {
	cleaned, err := r.Log().Clean(segment.CleanOptions{
		Config: r.Settings().Log, Stable: r.LastStableOffset(), NowMs: now.UnixMilli(),
		MapBytes: set.DedupeBytes / int64(set.Threads), MapLoad: set.DedupeLoad, BufferBytes: int(set.BufferBytes / set.Threads),
		Pace:    func(bytes int) error { return c.pace.wait(bytes, c.quit) },
		Replace: r.Replace,
	})
	c.ended <- passEnd{r, cleaned, err}
}

// end takes up the result of a pass.
func (c *cleaner) end(e passEnd, set config.Cleaner) {
	delete(c.passes, e.replica)
	c.set.CleanerReadBytes.Add(uint64(e.cleaned.ReadBytes))
	c.set.CleanerWrittenBytes.Add(uint64(e.cleaned.WrittenBytes))
	c.set.CleanerRemovedBytes.Add(uint64(max(e.cleaned.BytesBefore-e.cleaned.BytesAfter, 0)))
	now := time.Now()
	switch {
	case errors.Is(e.err, errStopping), errors.Is(e.err, segment.ErrClosed), errors.Is(e.err, partition.ErrClosed):
		return
	case e.err != nil && !errors.Is(e.err, segment.ErrSuperseded):
		c.fail(e.replica, e.err, now)
		return
	case e.err != nil || e.cleaned.End <= e.cleaned.First:
		// Nothing came of it: the segments changed, or a transaction is open.
		c.rest[e.replica] = now.Add(time.Duration(set.BackoffMs) * time.Millisecond)
		return
	}
	c.set.CleanerRuns.Inc()
	c.b.log.Info("log cleaned", "partition", e.replica.TP.String(), "from", e.cleaned.First, "to", e.cleaned.End, "keys", e.cleaned.Keys,
		"segments", e.cleaned.Segments, "bytes_before", e.cleaned.BytesBefore, "bytes_after", e.cleaned.BytesAfter)
}

func (c *cleaner) fail(r *partition.Replica, err error, now time.Time) {
	if r.Deleted() || errors.Is(err, partition.ErrClosed) || errors.Is(err, segment.ErrClosed) {
		return
	}
	c.failed[r] = now.Add(uncleanableFor)
	c.set.CleanerFailures.Inc()
	c.b.log.Error("a log could not be compacted; it stays as it is and is tried again later", "partition", r.TP.String(), "again_after", uncleanableFor.String(), "error", err)
}

// forget drops what is over, and replicas that were deleted.
func (c *cleaner) forget(now time.Time) {
	for _, m := range []map[*partition.Replica]time.Time{c.rest, c.failed} {
		for r, until := range m {
			if r.Deleted() || !now.Before(until) {
				delete(m, r)
			}
		}
	}
}

// throttle spreads the bytes of all passes over time
// (log.cleaner.io.max.bytes.per.second).
type throttle struct {
	mu        sync.Mutex
	perSecond float64
	free      time.Time // when what was let through so far is paid for
}

func (t *throttle) set(perSecond float64) {
	t.mu.Lock()
	t.perSecond = perSecond
	t.mu.Unlock()
}

// wait takes n bytes and returns when they may pass, or when quit is closed.
func (t *throttle) wait(n int, quit <-chan struct{}) error {
	t.mu.Lock()
	now := time.Now()
	if t.free.Before(now) {
		t.free = now
	}
	if seconds := float64(n) / t.perSecond; n > 0 && t.perSecond > 0 {
		t.free = t.free.Add(time.Duration(min(seconds, 3600) * float64(time.Second)))
	}
	left := t.free.Sub(now)
	t.mu.Unlock()
	if left < time.Millisecond {
		left = 0
	}
	timer := time.NewTimer(left)
	defer timer.Stop()
	select {
	case <-quit:
		return errStopping
	default:
	}
	if left == 0 {
		return nil
	}
	select {
	case <-quit:
		return errStopping
	case <-timer.C:
		return nil
	}
}
