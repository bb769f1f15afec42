package group

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"ringmain/coordinator"
)

// OffsetDelete is API 47.
//
//   - A group with members that do not speak the protocol of consumers is refused as a
//     whole: nobody can tell what they read.
//   - Offsets of topics that a member subscribes to are refused.
//   - An offset that is not there is deleted all the same.
//   - A topic that exists and none of whose partitions is named is not answered.
func (m *Machine) OffsetDelete(s *coordinator.Step, req *kmsg.OffsetDeleteRequest, reply func(*kmsg.OffsetDeleteResponse, error)) {
	resp := req.ResponseKind().(*kmsg.OffsetDeleteResponse)
	g := m.groups[req.Group]
	switch {
	case req.Group == "":
		resp.ErrorCode = kerr.InvalidGroupID.Code
	case g == nil:
		resp.ErrorCode = kerr.GroupIDNotFound.Code
	case g.members.protocolType() != consumerProtocolType && g.members.mayDelete() != 0:
		resp.ErrorCode = kerr.NonEmptyGroup.Code
	default:
		resp.Topics = make([]kmsg.OffsetDeleteResponseTopic, 0, len(req.Topics))
		for i := range req.Topics {
			if t := &req.Topics[i]; len(t.Partitions) > 0 || s.Image.Topic(t.Topic) == nil {
				resp.Topics = append(resp.Topics, deletable(s, g, t))
			}
		}
		m.deleteOffsets(s, req.Group, resp, reply)
		return
	}
	coordinator.Answer(s, reply, resp)
}

// deleteOffsets deletes what has no error in resp.
func (m *Machine) deleteOffsets(s *coordinator.Step, id string, resp *kmsg.OffsetDeleteResponse, reply func(*kmsg.OffsetDeleteResponse, error)) {
	i, j := 0, 0 // how far it is
	m.begin(s, deletion{
		next: func(t *tombstones) (done bool) {
			for ; i < len(resp.Topics); i, j = i+1, 0 {
				topic := &resp.Topics[i]
				for ; j < len(topic.Partitions); j++ {
					if t.full() {
						return false
					}
					if p := &topic.Partitions[j]; p.ErrorCode == 0 {
						t.delete(id, topic.Topic, p.Partition)
					}
				}
			}
			coordinator.Answer(t.s, reply, resp)
			return true
		},
		unload: func(err error) { reply(nil, err) },
	})
}

// delete deletes an offset if it is there.
func (t *tombstones) delete(group, topic string, partition int32) {
	if g := t.m.groups[group]; g != nil {
		if _, _, ok := g.offsets.get(topic, partition); ok {
			t.write(g, topic, partition)
		}
	}
}

// deletable says which offsets of a topic may be deleted.
func deletable(s *coordinator.Step, g *group, req *kmsg.OffsetDeleteRequestTopic) kmsg.OffsetDeleteResponseTopic {
	topic := s.Image.Topic(req.Topic)
	inUse := g.reads(req.Topic)
	partitions := make([]kmsg.OffsetDeleteResponseTopicPartition, len(req.Partitions))
	for i := range req.Partitions {
		partition := req.Partitions[i].Partition
		code := existence(topic, false, partition)
		if code == 0 && inUse {
			code = kerr.GroupSubscribedToTopic.Code
		}
		partitions[i] = kmsg.OffsetDeleteResponseTopicPartition{Partition: partition, ErrorCode: code}
	}
	return kmsg.OffsetDeleteResponseTopic{Topic: req.Topic, Partitions: partitions}
}

// reads reports whether a member reads the topic, or might: that of consumers whose
// subscriptions cannot be read is not known.
func (g *group) reads(topic string) bool {
	yes, known := g.members.subscribed(topic)
	return yes || !known && g.members.protocolType() == consumerProtocolType
}
