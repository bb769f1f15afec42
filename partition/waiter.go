package partition

import "sync/atomic"

// Waiter is a fetch that waits for more bytes in any of its partitions. It
// fires once: when enough bytes were appended, when a partition it watches
// changes its leader or goes away, or when its owner calls Fire (the deadline).
type Waiter struct {
	missing atomic.Int64
	fired   atomic.Bool
	wake    func()
}

// NewWaiter makes a waiter that calls wake, on whatever goroutine fires it,
// once missing bytes have come.
func NewWaiter(missing int64, wake func()) *Waiter {
	w := &Waiter{wake: wake}
	w.missing.Store(missing)
	return w
}

// Fire wakes the waiter unless it has been woken.
func (w *Waiter) Fire() {
	if w.fired.CompareAndSwap(false, true) {
		wake := w.wake
		w.wake = nil // lists may keep w for a while, but not the request behind it
		wake()
	}
}

// Fired tells whether the waiter has been woken.
func (w *Waiter) Fired() bool { return w.fired.Load() }

// Watch is one partition that a waiter watches. Seen is the high watermark up
// to which the fetch has looked: if more is there when the shard gets to it,
// the waiter fires at once, so no append falls between looking and waiting.
type Watch struct {
	Replica *Replica
	Seen    int64
	Epoch   int32 // leader epoch that the fetch has seen
}

// watching is the command that registers a waiter with the partitions of one
// shard.
type watching struct {
	waiter  *Waiter
	watches []Watch
}

func (c *watching) run(s *Shard) {
	for _, w := range c.watches {
		r := w.Replica
		role := r.role.Load()
		if r.deleted.Load() || r.hw.Load() > w.Seen || role.LeaderEpoch != w.Epoch || !role.Local {
			c.waiter.Fire()
			return
		}
		r.addWaiter(c.waiter)
	}
}

// Park registers w with all of its partitions, grouped by shard.
func Park(w *Waiter, watches []Watch) {
	for len(watches) > 0 {
		shard := watches[0].Replica.shard
		n := 0
		for i := range watches {
			if watches[i].Replica.shard == shard {
				watches[n], watches[i] = watches[i], watches[n]
				n++
			}
		}
		if shard.Post(&watching{waiter: w, watches: watches[:n:n]}) != nil {
			w.Fire()
			return
		}
		watches = watches[n:]
	}
}

// addWaiter keeps the list within twice its live entries: what timed out is
// only marked as fired, so the fired ones are swept when the list has doubled.
func (r *Replica) addWaiter(w *Waiter) {
	if len(r.waiters) >= r.sweepAt {
		live := r.waiters[:0]
		for _, old := range r.waiters {
			if !old.fired.Load() {
				live = append(live, old)
			}
		}
		clear(r.waiters[len(live):])
		r.waiters = live
		r.sweepAt = 2*len(live) + 8
	}
	r.waiters = append(r.waiters, w)
}

// appended tells the waiters of n new readable bytes.
func (r *Replica) appended(n int64) {
	live := r.waiters[:0]
	for _, w := range r.waiters {
		if w.fired.Load() {
			continue
		}
		if w.missing.Add(-n) <= 0 {
			w.Fire()
			continue
		}
		live = append(live, w)
	}
	clear(r.waiters[len(live):])
	r.waiters = live
}

// fireAll wakes everybody who waits for this replica.
func (r *Replica) fireAll() {
	for _, w := range r.waiters {
		w.Fire()
	}
	clear(r.waiters)
	r.waiters = r.waiters[:0]
}
