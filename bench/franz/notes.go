package franz

import (
	"sync"
	"time"

	"ringmain/bench/load"
)

// maxNotes is how many workers of the meter, and how many payloads, all clients
// of a sort share: each takes half a megabyte or more, and there can be thousands
// of clients. Up to so many clients have one each.
const maxNotes = 16

// notes is a worker of the meter behind a lock, for the goroutines of franz-go.
type notes struct {
	mu     sync.Mutex
	worker *load.Worker
}

// newNotes makes the notes of n clients of a sort.
func newNotes(m *load.Meter, n int) []*notes {
	all := make([]*notes, min(n, maxNotes))
	for i := range all {
		all[i] = &notes{worker: m.Worker()}
	}
	return all
}

func (n *notes) done(s load.Section, intended, sent, done time.Duration) {
	n.mu.Lock()
	n.worker.Done(s, 0, 0, intended, sent, done)
	n.mu.Unlock()
}

// failed needs no lock: the worker has one of its own for it.
func (n *notes) failed(err error) { n.worker.Failed(nameOf(err)) }
