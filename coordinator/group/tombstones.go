package group

import (
	"ringmain/coordinator"
	"ringmain/coordinator/group/records"
)

// maxTombstoneBytes is about how much one step of expiry, or one for deleted topics,
// writes before it leaves the rest to the next: a step is one write, and requests
// that come meanwhile wait for it.
const maxTombstoneBytes = 1 << 20

// recordOverhead is about what a record takes beside its key and value.
const recordOverhead = 20

// tombstones delete offsets, as many as one step may.
type tombstones struct {
	m     *Machine
	s     *coordinator.Step
	bytes int
}

// full reports that the rest is for the next step.
func (t *tombstones) full() bool { return t.bytes >= maxTombstoneBytes }

func (t *tombstones) write(g *group, topic string, partition int32) {
	r := records.OffsetCommit(g.id, topic, partition, nil)
	t.bytes += len(r.Key) + recordOverhead
	t.m.write(t.s, r)
}
