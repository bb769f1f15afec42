package group

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"ringmain/coordinator"
	"ringmain/coordinator/group/records"
)

// OffsetDelete is API 47.
//
//   - A group with members that do not speak the protocol of consumers is refused as a
//     whole: nobody can tell what they read.
//   - Offsets of topics that a member subscribes to are refused.
//   - An offset that is not there is deleted all the same.
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
		resp.Topics = make([]kmsg.OffsetDeleteResponseTopic, len(req.Topics))
		for i := range req.Topics {
			resp.Topics[i] = m.deleteOffsets(s, g, &req.Topics[i])
		}
	}
	coordinator.Answer(s, reply, resp)
}

func (m *Machine) deleteOffsets(s *coordinator.Step, g *group, req *kmsg.OffsetDeleteRequestTopic) kmsg.OffsetDeleteResponseTopic {
	topic := s.Image.Topic(req.Topic)
	inUse := g.reads(req.Topic)
	partitions := make([]kmsg.OffsetDeleteResponseTopicPartition, len(req.Partitions))
	for i := range req.Partitions {
		partition := req.Partitions[i].Partition
		code := existence(topic, false, partition)
		if code == 0 && inUse {
			code = kerr.GroupSubscribedToTopic.Code
		}
		if _, _, ok := g.offsets.get(req.Topic, partition); ok && code == 0 {
			m.write(s, records.OffsetCommit(g.id, req.Topic, partition, nil))
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
