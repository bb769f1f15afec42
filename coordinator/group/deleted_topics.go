package group

import (
	"ringmain/coordinator"
	"ringmain/metadata"
	"ringmain/model"
)

// deletedTopic is a topic whose offsets are to be deleted.
type deletedTopic struct {
	name string
	id   model.TopicID
	// unidentified says that offsets which were recorded without an id are its, too.
	unidentified bool
}

// dropTopics deletes the offsets of deleted topics. What is left to a later step when the
// partition is loaded anew is found by dropOrphans.
func (m *Machine) dropTopics(s *coordinator.Step, deleted []*metadata.Topic) {
	for _, topic := range deleted {
		m.deletedTopics = append(m.deletedTopics, deletedTopic{topic.Name, topic.ID, true})
	}
	m.dropNext(s)
}

// dropOrphans deletes the offsets of topics whose deletion the machine was not told of:
// the process had ended, or the partition was being read. Of offsets without an id only
// those go whose topic's name is not there any more.
func (m *Machine) dropOrphans(s *coordinator.Step) {
	seen := map[deletedTopic]bool{}
	for _, g := range m.groups {
		for name, t := range g.offsets.topics {
			for _, c := range t.commits {
				topic := deletedTopic{name: name, id: c.topicID}
				if seen[topic] {
					continue
				}
				seen[topic] = true
				if !topic.exists(s.Image) {
					m.deletedTopics = append(m.deletedTopics, topic)
				}
			}
		}
	}
	m.dropNext(s)
}

func (t *deletedTopic) exists(img *metadata.Image) bool {
	if t.id.IsZero() {
		return img.Topic(t.name) != nil
	}
	return img.TopicByID(t.id) != nil
}

// dropNext goes on with the topics in deletedTopics.
func (m *Machine) dropNext(s *coordinator.Step) {
	if len(m.deletedTopics) == 0 {
		return
	}
	t := &tombstones{m: m, s: s}
	for _, g := range m.groups {
		for i := range m.deletedTopics {
			t.drop(g, &m.deletedTopics[i])
			if t.full() {
				m.deadlines.Put(&m.dropping, s.NowMs+1)
				return
			}
		}
	}
	m.deletedTopics = nil
}

// drop deletes the group's offsets of a topic. Those of a topic that has the name now
// stay.
func (t *tombstones) drop(g *group, topic *deletedTopic) {
	offsets := g.offsets.topics[topic.name]
	if offsets == nil {
		return
	}
	for partition, c := range offsets.commits {
		if c.topicID != topic.id && !(topic.unidentified && c.topicID.IsZero()) {
			continue
		}
		if t.full() {
			return
		}
		t.write(g, topic.name, partition)
	}
}
