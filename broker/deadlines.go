package broker

import (
	"container/heap"
	"sync"
	"time"

	"ringmain/partition"
)

// deadlines fires parked fetches when their max wait has passed. One goroutine
// with one timer; it sleeps as long as nothing is parked. An entry whose waiter
// has fired stays until its time has come: max wait bounds how long that is,
// and firing again does nothing.
type deadlines struct {
	mu     sync.Mutex
	heap   deadlineHeap
	timer  *time.Timer
	closed bool
}

type deadline struct {
	at     time.Time
	waiter *partition.Waiter
}

func newDeadlines() *deadlines { return &deadlines{} }

// add fires w at the given time.
func (d *deadlines) add(at time.Time, w *partition.Waiter) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return
	}
	heap.Push(&d.heap, deadline{at, w})
	if d.heap[0].waiter != w {
		return
	}
	if d.timer == nil {
		d.timer = time.AfterFunc(time.Until(at), d.fire)
	} else {
		d.timer.Reset(time.Until(at))
	}
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
