package group

import (
	"github.com/twmb/franz-go/pkg/kerr"

	"ringmain/coordinator"
	"ringmain/coordinator/group/records"
)

// DeleteGroup is one group of API 42: its offsets go, and all else that is stored of
// it. Groups with members stay.
func (m *Machine) DeleteGroup(s *coordinator.Step, id string, reply func(code int16, err error)) {
	coordinator.Answer(s, reply, m.deleteGroup(s, id))
}

func (m *Machine) deleteGroup(s *coordinator.Step, id string) int16 {
	g := m.groups[id]
	if g == nil {
		return kerr.GroupIDNotFound.Code
	}
	if code := g.members.mayDelete(); code != 0 {
		return code
	}
	for topic, t := range g.offsets.topics {
		for partition := range t.commits {
			m.write(s, records.OffsetCommit(id, topic, partition, nil))
		}
	}
	g.members.forget(s)
	return 0
}
