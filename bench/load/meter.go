package load

import (
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"ringmain/bench/latency"
)

// Section is one of the things that a load does.
type Section int

// The sections, as they stand in a result.
const (
	Produce  Section = iota
	Fetch            // an answer with records
	EndToEnd         // a record's way from its intended send to its reader
	Connect          // a new connection, until it has the metadata
	Sections         // how many there are
)

// Tally is what was done of one section.
type Tally struct {
	Records  int64
	Bytes    int64 // of record batches, as they are on the wire
	Requests int64
	Latency  latency.Snapshot
}

// Interval is what was done between two looks.
type Interval struct {
	Sections [Sections]Tally
	Errors   map[string]int64 // by the protocol's names, or words for what is no answer
}

// Failures is the sum of the errors.
func (i *Interval) Failures() (n int64) {
	for _, k := range i.Errors {
		n += k
	}
	return n
}

// Add puts what other holds into i too.
func (i *Interval) Add(other *Interval) {
	for s := range i.Sections {
		to, from := &i.Sections[s], &other.Sections[s]
		to.Records += from.Records
		to.Bytes += from.Bytes
		to.Requests += from.Requests
		to.Latency.Add(&from.Latency)
	}
	if i.Errors == nil {
		i.Errors = map[string]int64{}
	}
	for name, n := range other.Errors {
		i.Errors[name] += n
	}
}

// Meter gathers what the workers of an engine note.
type Meter struct {
	// Open are the connections of an idle load that are there now, and Lost those
	// that the server closed.
	Open, Lost atomic.Int64

	gaps    gaps
	mu      sync.Mutex
	workers []*Worker
}

// Worker is a place for one goroutine to note what it does. A recorder takes half a
// megabyte, so a worker is for a thread or a connection out of few, not for one of
// thousands.
func (m *Meter) Worker() *Worker {
	w := &Worker{}
	m.mu.Lock()
	m.workers = append(m.workers, w)
	m.mu.Unlock()
	return w
}

// Take moves what was noted since the last Take into a new interval.
func (m *Meter) Take() *Interval {
	m.mu.Lock()
	defer m.mu.Unlock()
	i := &Interval{Errors: map[string]int64{}}
	for _, w := range m.workers {
		w.take(i)
	}
	return i
}

// Worker notes what one goroutine does. All of its methods but those of the meter
// are for that goroutine alone, except Failed, which is for any.
type Worker struct {
	sections [Sections]struct {
		records, bytes, requests atomic.Int64
		latency                  atomic.Pointer[latency.Recorder]
	}
	mu     sync.Mutex
	errors map[string]int64
}

// Done notes a request that was answered well, with how much it carried and the
// times at which it was meant to be sent, was sent, and was answered.
func (w *Worker) Done(s Section, records, bytes int64, intended, sent, done time.Duration) {
	w.Count(s, records, bytes)
	w.Took(s, intended, sent, done)
}

// Count notes a request without a latency.
func (w *Worker) Count(s Section, records, bytes int64) {
	c := &w.sections[s]
	c.records.Add(records)
	c.bytes.Add(bytes)
	c.requests.Add(1)
}

// Took notes a latency alone.
func (w *Worker) Took(s Section, intended, sent, done time.Duration) {
	r := w.sections[s].latency.Load()
	if r == nil {
		r = latency.NewRecorder()
		w.sections[s].latency.Store(r)
	}
	r.Record(intended, sent, done)
}

// Failed notes a request that failed.
func (w *Worker) Failed(name string) {
	w.mu.Lock()
	if w.errors == nil {
		w.errors = map[string]int64{}
	}
	w.errors[name]++
	w.mu.Unlock()
}

func (w *Worker) take(i *Interval) {
	for s := range w.sections {
		from, to := &w.sections[s], &i.Sections[s]
		to.Records += from.records.Swap(0)
		to.Bytes += from.bytes.Swap(0)
		to.Requests += from.requests.Swap(0)
		if r := from.latency.Load(); r != nil {
			r.Drain(&to.Latency)
		}
	}
	w.mu.Lock()
	failed := maps.Clone(w.errors)
	clear(w.errors)
	w.mu.Unlock()
	for name, n := range failed {
		i.Errors[name] += n
	}
}
