package group

import (
	"ringmain/coordinator"
	"ringmain/coordinator/group/records"
)

// maxStepBytes is about how much a step writes before it leaves the rest to the next,
// where it can: a step is one write, and requests that come meanwhile wait for it.
const maxStepBytes = 1 << 20

// tombstones delete offsets, as many as one step may.
type tombstones struct {
	m     *Machine
	s     *coordinator.Step
	bytes int
}

// full reports that the rest is for the next step.
func (t *tombstones) full() bool { return t.bytes >= maxStepBytes }

func (t *tombstones) write(g *group, topic string, partition int32) {
	r := records.OffsetCommit(g.id, topic, partition, nil)
	t.bytes += r.Size()
	t.m.write(t.s, r)
}

// forget deletes what is stored of a group beside its offsets.
func (t *tombstones) forget(g *group) {
	before := len(t.s.Records)
	g.members.forget(t.s)
	for i := range t.s.Records[before:] {
		t.bytes += t.s.Records[before+i].Size()
	}
}
