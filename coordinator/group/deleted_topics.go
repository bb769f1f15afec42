package group

import (
	"ringmain/coordinator"
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
	t := &tombstones{m: m, s: s}
	for _, g := range m.groups {
		for _, topic := range m.deletedTopics {
			t.drop(g, topic)
			if t.full() {
				m.deadlines.Put(&m.dropping, s.NowMs+1)
				return
			}
		}
	}
	m.deletedTopics = nil
}

// drop deletes the group's offsets of a topic. Those of a topic that has the name now
// stay, unless it was not recorded whose they are.
func (t *tombstones) drop(g *group, topic *metadata.Topic) {
	offsets := g.offsets.topics[topic.Name]
	if offsets == nil {
		return
	}
	for partition, c := range offsets.commits {
		if !c.topicID.IsZero() && c.topicID != topic.ID {
			continue
		}
		if t.full() {
			return
		}
		t.write(g, topic.Name, partition)
	}
}
