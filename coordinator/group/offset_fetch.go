package group

import (
	"maps"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"ringmain/coordinator"
	"ringmain/metadata"
	"ringmain/model"
)

// OffsetFetch is one group of API 9, versions 1 to 10; nil topics are all that have
// offsets.
//
//   - What is not there, be it the group, the partition or the commit, is offset -1
//     without an error.
//   - Version 9 and newer may name a member, which is checked if the group is there.
//   - Version 10 names topics by id.
//   - An offset that was committed for a deleted topic is not that of a topic which has its
//     name now: it reads as -1.
//   - stable makes no difference: only commits of transactions are ever unstable.
func (m *Machine) OffsetFetch(s *coordinator.Step, version int16, stable bool, req *kmsg.OffsetFetchRequestGroup, reply func(kmsg.OffsetFetchResponseGroup, error)) {
	resp := kmsg.NewOffsetFetchResponseGroup()
	resp.Group = req.Group
	g := m.groups[req.Group]
	if g != nil && (req.MemberID != nil || req.MemberEpoch >= 0) { // an admin client names nobody
		memberID := ""
		if req.MemberID != nil {
			memberID = *req.MemberID
		}
		resp.ErrorCode = g.members.mayFetch(s, memberID, req.MemberEpoch)
	}
	switch {
	case resp.ErrorCode != 0:
	case req.Topics != nil:
		resp.Topics = g.fetch(s.Image, version, req.Topics)
	case g != nil:
		resp.Topics = g.fetchAll(s.Image, version)
	}
	coordinator.Answer(s, reply, resp)
}

// fetch gives the offsets of these topics; g may be nil.
func (g *group) fetch(img *metadata.Image, version int16, topics []kmsg.OffsetFetchRequestGroupTopic) []kmsg.OffsetFetchResponseGroupTopic {
	list := make([]kmsg.OffsetFetchResponseGroupTopic, len(topics))
	for i := range topics {
		t := &topics[i]
		name, id, code := t.Topic, model.TopicID{}, int16(0)
		if version >= 10 {
			id = t.TopicID
			if topic := img.TopicByID(id); topic != nil {
				name = topic.Name
			} else {
				code = kerr.UnknownTopicID.Code
			}
		} else if topic := img.Topic(name); topic != nil {
			id = topic.ID
		}
		partitions := make([]kmsg.OffsetFetchResponseGroupTopicPartition, len(t.Partitions))
		for j, p := range t.Partitions {
			if partitions[j] = noOffset(p); code != 0 {
				partitions[j].ErrorCode = code
			} else if g != nil {
				g.fetchPartition(name, id, &partitions[j])
			}
		}
		list[i] = kmsg.OffsetFetchResponseGroupTopic{Topic: name, TopicID: t.TopicID, Partitions: partitions}
	}
	return list
}

// fetchAll gives all offsets of the group. Version 10 cannot tell of those whose topic
// is not there any more.
func (g *group) fetchAll(img *metadata.Image, version int16) []kmsg.OffsetFetchResponseGroupTopic {
	var list []kmsg.OffsetFetchResponseGroupTopic
	for _, name := range slices.Sorted(maps.Keys(g.offsets.topics)) {
		answer := kmsg.OffsetFetchResponseGroupTopic{Topic: name}
		id := model.TopicID{}
		if topic := img.Topic(name); topic != nil {
			id = topic.ID
		}
		if version >= 10 {
			if id.IsZero() {
				continue
			}
			answer.TopicID = id
		}
		for _, p := range slices.Sorted(maps.Keys(g.offsets.topics[name].commits)) {
			partition := noOffset(p)
			if g.fetchPartition(name, id, &partition) {
				answer.Partitions = append(answer.Partitions, partition)
			}
		}
		if len(answer.Partitions) > 0 {
			list = append(list, answer)
		}
	}
	return list
}

// fetchPartition fills in the partition's offset, and reports whether there is one; it
// has to be one of topic id if that is not zero, or of an unknown id.
func (g *group) fetchPartition(topic string, id model.TopicID, answer *kmsg.OffsetFetchResponseGroupTopicPartition) bool {
	c, metadata, ok := g.offsets.get(topic, answer.Partition)
	if !ok || !id.IsZero() && !c.topicID.IsZero() && c.topicID != id {
		return false
	}
	answer.Offset, answer.LeaderEpoch, answer.Metadata = c.offset, c.leaderEpoch, &metadata
	return true
}

func noOffset(partition int32) kmsg.OffsetFetchResponseGroupTopicPartition {
	return kmsg.OffsetFetchResponseGroupTopicPartition{
		Partition:   partition,
		Offset:      -1,
		LeaderEpoch: model.NoEpoch,
		Metadata:    kmsg.StringPtr(""),
	}
}
