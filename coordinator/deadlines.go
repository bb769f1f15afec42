package coordinator

import "container/heap"

// Deadline is a moment at which a machine has something to do. The zero value with
// Fire set is ready; it lives in at most one Deadlines.
type Deadline struct {
	// Fire is called once for each time the deadline was set and passed.
	Fire func(s *Step)

	at    int64
	place int // in the heap, from 1; 0: not set
}

// Set reports whether the deadline is to come.
func (d *Deadline) Set() bool { return d.place > 0 }

// AtMs is when, in Step.NowMs; it holds while the deadline is set.
func (d *Deadline) AtMs() int64 { return d.at }

// Deadlines are those of one machine, soonest first. Owned by the machine.
type Deadlines struct{ heap deadlineHeap }

// Put sets d to atMs, in Step.NowMs, wherever it was before.
func (ds *Deadlines) Put(d *Deadline, atMs int64) {
	d.at = atMs
	if d.Set() {
		heap.Fix(&ds.heap, d.place-1)
		return
	}
	heap.Push(&ds.heap, d)
}

// Cancel takes d out; one that is not set stays so.
func (ds *Deadlines) Cancel(d *Deadline) {
	if d.Set() {
		heap.Remove(&ds.heap, d.place-1)
	}
}

// Next is the soonest.
func (ds *Deadlines) Next() (atMs int64, ok bool) {
	if len(ds.heap) == 0 {
		return 0, false
	}
	return ds.heap[0].at, true
}

// Advance fires what is due at s.NowMs, soonest first, and what that sets anew for
// a time that has come.
func (ds *Deadlines) Advance(s *Step) {
	for len(ds.heap) > 0 && ds.heap[0].at <= s.NowMs {
		heap.Pop(&ds.heap).(*Deadline).Fire(s)
	}
}

type deadlineHeap []*Deadline

func (h deadlineHeap) Len() int           { return len(h) }
func (h deadlineHeap) Less(i, j int) bool { return h[i].at < h[j].at }

func (h deadlineHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].place, h[j].place = i+1, j+1
}

func (h *deadlineHeap) Push(x any) {
	*h = append(*h, x.(*Deadline))
	(*h)[len(*h)-1].place = len(*h)
}

func (h *deadlineHeap) Pop() any {
	last := len(*h) - 1
	d := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	d.place = 0
	return d
}
