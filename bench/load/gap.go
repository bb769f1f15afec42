package load

import "sync"

// Gap is a range of offsets that a consumer was led past although the partition has no
// reason to lack any (Env.Dense).
type Gap struct {
	Topic     string
	Partition int32
	From, To  int64 // offsets; the last one is To-1
	Records   int64 // missing among them
}

// gaps is what all consumers of a meter were led past.
type gaps struct {
	mu      sync.Mutex
	records int64
	first   Gap
}

// Missed notes a gap. It is for any goroutine; where nothing is wrong nobody calls it.
func (m *Meter) Missed(g Gap) {
	m.gaps.mu.Lock()
	defer m.gaps.mu.Unlock()
	if m.gaps.records == 0 {
		m.gaps.first = g
	}
	m.gaps.records += g.Records
}

// Missing is how many records all gaps so far lack, each counted as often as a consumer
// was led past it, and the gap that was noted first.
func (m *Meter) Missing() (records int64, first Gap) {
	m.gaps.mu.Lock()
	defer m.gaps.mu.Unlock()
	return m.gaps.records, m.gaps.first
}
