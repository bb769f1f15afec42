package broker

import (
	"container/heap"
	"slices"
	"sync"
	"time"

	"ringmain/partition"
)

// deadlines fires parked fetches when their max wait has passed. One goroutine
// with one timer; it sleeps as long as nothing is parked. An entry whose waiter
// has fired is swept when the heap has doubled: its own time may be half an
// hour away.
type deadlines struct {
	mu      sync.Mutex
	heap    deadlineHeap
	sweepAt int // length at which the fired ones are removed
	timer   *time.Timer
	closed  bool
}

// sweepMin is the length from which sweeping is worth it.
const sweepMin = 64

type deadline struct {
	at     time.Time
	waiter *partition.Waiter
}

func newDeadlines() *deadlines { return &deadlines{sweepAt: sweepMin} }

// add fires w at the given time; at once when everything is stopping.
func (d *deadlines) add(at time.Time, w *partition.Waiter) {
	if !d.push(at, w) {
		w.Fire()
	}
}

func (d *deadlines) push(at time.Time, w *partition.Waiter) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return false
	}
	if len(d.heap) >= d.sweepAt {
		d.heap = slices.DeleteFunc(d.heap, func(e deadline) bool { return e.waiter.Fired() })
		heap.Init(&d.heap)
		d.sweepAt = 2*len(d.heap) + sweepMin
	}
	heap.Push(&d.heap, deadline{at, w})
	if d.heap[0].waiter != w {
		return true
	}
	if d.timer == nil {
		d.timer = time.AfterFunc(time.Until(at), d.fire)
	} else {
		d.timer.Reset(time.Until(at))
	}
	return true
}

func (d *deadlines) fire() {
	var due []*partition.Waiter
	d.mu.Lock()
	now := time.Now()
	for len(d.heap) > 0 && !d.heap[0].at.After(now) {
		due = append(due, heap.Pop(&d.heap).(deadline).waiter)
	}
	if len(d.heap) > 0 && !d.closed {
		d.timer.Reset(time.Until(d.heap[0].at))
	}
	d.mu.Unlock()
	for _, w := range due {
		w.Fire()
	}
}

// close fires everything that is parked: their answers go out before the
// connections are closed.
func (d *deadlines) close() {
	d.mu.Lock()
	d.closed = true
	if d.timer != nil {
		d.timer.Stop()
	}
	due := d.heap
	d.heap = nil
	d.mu.Unlock()
	for _, e := range due {
		e.waiter.Fire()
	}
}

type deadlineHeap []deadline

func (h deadlineHeap) Len() int           { return len(h) }
func (h deadlineHeap) Less(i, j int) bool { return h[i].at.Before(h[j].at) }
func (h deadlineHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *deadlineHeap) Push(x any)        { *h = append(*h, x.(deadline)) }
func (h *deadlineHeap) Pop() any {
	old := *h
	x := old[len(old)-1]
	old[len(old)-1] = deadline{}
	*h = old[:len(old)-1]
	return x
}
