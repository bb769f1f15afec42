package group

import (
	"ringmain/coordinator"
	"ringmain/coordinator/group/records"
	"ringmain/metadata"
)

// dropTopics deletes the offsets of deleted topics. What is left to a later step is
// forgotten if the partition is loaded anew meanwhile; it expires like offsets of any
// topic that nobody reads.
func (m *Machine) dropTopics(s *coordinator.Step, deleted []*metadata.Topic) {
	if len(deleted) == 0 {
		return
	}
	m.deletedTopics = append(m.deletedTopics, deleted...)
	m.dropNext(s)
}

// dropNext goes on with the topics in deletedTopics.
func (m *Machine) dropNext(s *coordinator.Step) {
	for _, g := range m.groups {
		for _, topic := range m.deletedTopics {
			m.dropTopic(s, g, topic)
			if len(s.Records) >= maxTombstones {
				m.deadlines.Put(&m.dropping, s.NowMs+1)
				return
			}
		}
	}
	m.deletedTopics = nil
}

// dropTopic deletes the group's offsets of a topic. Those of a topic that has the
// name now stay, unless it was not recorded whose they are.
func (m *Machine) dropTopic(s *coordinator.Step, g *group, topic *metadata.Topic) {
	t := g.offsets.topics[topic.Name]
	if t == nil {
		return
	}
	for partition, c := range t.commits {
		if !c.topicID.IsZero() && c.topicID != topic.ID {
			continue
		}
		m.write(s, records.OffsetCommit(g.id, topic.Name, partition, nil))
		if len(s.Records) >= maxTombstones {
			return
		}
	}
}
