package group

import "ringmain/coordinator"

// deletion is a request that deletes offsets, more than fit into one step perhaps. It is
// answered when it is through.
type deletion struct {
	// next deletes on until it is through (done), and then answers, or until t is full.
	next func(t *tombstones) (done bool)
	// unload gives err to who waits.
	unload func(err error)
}

// begin does the first step of a deletion; most have no other.
func (m *Machine) begin(s *coordinator.Step, d deletion) {
	if d.next(&tombstones{m: m, s: s}) {
		return
	}
	m.deletions = append(m.deletions, d)
	m.deadlines.Put(&m.deleting, s.NowMs+1)
}

// deleteOn does one more step of the oldest deletion.
func (m *Machine) deleteOn(s *coordinator.Step) {
	if m.deletions[0].next(&tombstones{m: m, s: s}) {
		m.deletions[0] = deletion{}
		m.deletions = m.deletions[1:]
	}
	if len(m.deletions) > 0 {
		m.deadlines.Put(&m.deleting, s.NowMs+1)
	}
}
