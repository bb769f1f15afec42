package group

import (
	"math"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"ringmain/coordinator"
	"ringmain/coordinator/group/records"
	"ringmain/metadata"
	"ringmain/model"
)

// maxCommitBytes is about how much one request may store: its records are one write,
// and each has the group's id in it, so that they can be far larger than the request.
const maxCommitBytes = 16 << 20

// lowestCommit is the lowest offset that somebody means something by: kafkajs commits -2
// to set a group to the start of a partition, and -1 for its end. Kafka stores anything.
const lowestCommit = -2

// OffsetCommit is API 8, versions 2 to 10.
//
//   - Partitions that do not exist get their own error, whoever commits; where none
//     exists nobody asks who commits. The group's error, if there is one, is that of
//     all the others.
//   - A commit of a group that is not there makes it, if it names no generation.
//   - The same offset again is stored again: its time counts for expiry.
//   - An offset is -2 or more (lowestCommit). Below zero it is none to consumers.
//   - Version 10 names topics by id.
//   - A topic that exists and none of whose partitions is named is not answered; one that
//     does not exist is.
func (m *Machine) OffsetCommit(s *coordinator.Step, req *kmsg.OffsetCommitRequest, _ Client, reply func(*kmsg.OffsetCommitResponse, error)) {
	resp := req.ResponseKind().(*kmsg.OffsetCommitResponse)
	req.Topics = slices.DeleteFunc(req.Topics, func(t kmsg.OffsetCommitRequestTopic) bool {
		return len(t.Partitions) == 0 && commitTopic(s.Image, req.Version, &t) != nil
	})
	resp.Topics = make([]kmsg.OffsetCommitResponseTopic, len(req.Topics))
	topics := make([]*metadata.Topic, len(req.Topics)) // nil where there is none
	exists := false
	for i := range req.Topics {
		t := &req.Topics[i]
		topics[i] = commitTopic(s.Image, req.Version, t)
		partitions := make([]kmsg.OffsetCommitResponseTopicPartition, len(t.Partitions))
		for j := range t.Partitions {
			partitions[j] = kmsg.OffsetCommitResponseTopicPartition{Partition: t.Partitions[j].Partition}
			partitions[j].ErrorCode = existence(topics[i], req.Version >= 10, t.Partitions[j].Partition)
			exists = exists || partitions[j].ErrorCode == 0
		}
		resp.Topics[i] = kmsg.OffsetCommitResponseTopic{Topic: t.Topic, TopicID: t.TopicID, Partitions: partitions}
	}
	if exists {
		code, per := m.mayCommit(s, req)
		if code == 0 {
			code = m.checkCommits(req, resp, topics, per)
		}
		m.commit(s, req, resp, topics, code)
	}
	coordinator.Answer(s, reply, resp)
}

// commitOverhead is about what the record of a commit takes beside its texts.
const commitOverhead = 80

// commitTopic gives the topic that a request means, or nil.
func commitTopic(img *metadata.Image, version int16, t *kmsg.OffsetCommitRequestTopic) *metadata.Topic {
	if version >= 10 {
		return img.TopicByID(t.TopicID)
	}
	return img.Topic(t.Topic)
}

// existence gives the error code for a partition of topic, which is nil if it is not
// there.
func existence(topic *metadata.Topic, byID bool, partition int32) int16 {
	switch {
	case topic == nil && byID:
		return kerr.UnknownTopicID.Code
	case topic == nil || topic.Partition(partition) == nil:
		return kerr.UnknownTopicOrPartition.Code
	}
	return 0
}

// mayCommit gives the group's error for the whole request, or what it says of each
// partition; per is nil if it has nothing to say.
func (m *Machine) mayCommit(s *coordinator.Step, req *kmsg.OffsetCommitRequest) (code int16, per func(topic string, partition int32) int16) {
	g := m.groups[req.Group]
	switch {
	case len(req.Group) > records.MaxString:
		return kerr.InvalidGroupID.Code, nil
	case g == nil && req.Generation < 0:
		return 0, nil
	case g == nil && req.Version >= 9:
		return kerr.GroupIDNotFound.Code, nil
	case g == nil:
		return kerr.IllegalGeneration.Code, nil
	}
	who := commitCredentials{version: req.Version, memberID: req.MemberID, instance: req.InstanceID, generation: req.Generation}
	return g.members.mayCommit(s, &who)
}

// checkCommits notes in resp what is wrong with single commits. What per says of a
// partition is the error of all, as in Kafka: nothing of the request is stored then. So
// it is when there is too much of it.
func (m *Machine) checkCommits(req *kmsg.OffsetCommitRequest, resp *kmsg.OffsetCommitResponse, topics []*metadata.Topic, per func(string, int32) int16) int16 {
	bytes := 0
	for i := range req.Topics {
		for j := range req.Topics[i].Partitions {
			p, code := &req.Topics[i].Partitions[j], &resp.Topics[i].Partitions[j].ErrorCode
			switch {
			case *code != 0:
			case m.metadataTooLarge(req, p):
				*code = kerr.OffsetMetadataTooLarge.Code
			case p.Offset < lowestCommit:
				*code = kerr.InvalidRequest.Code
			default:
				if per != nil {
					if code := per(topics[i].Name, p.Partition); code != 0 {
						return code
					}
				}
				bytes += commitOverhead + len(req.Group) + len(topics[i].Name)
				if p.Metadata != nil {
					bytes += len(*p.Metadata)
				}
			}
		}
	}
	if bytes > maxCommitBytes {
		return kerr.InvalidCommitOffsetSize.Code
	}
	return 0
}

// commit stores what has no error, or gives it the group's.
func (m *Machine) commit(s *coordinator.Step, req *kmsg.OffsetCommitRequest, resp *kmsg.OffsetCommitResponse, topics []*metadata.Topic, code int16) {
	for i := range req.Topics {
		for j := range req.Topics[i].Partitions {
			p, answer := &req.Topics[i].Partitions[j], &resp.Topics[i].Partitions[j]
			switch {
			case existence(topics[i], false, p.Partition) != 0:
			case code != 0:
				answer.ErrorCode = code
			case answer.ErrorCode == 0:
				m.write(s, records.OffsetCommit(req.Group, topics[i].Name, p.Partition, committedValue(s, req, topics[i].ID, p)))
			}
		}
	}
}

func committedValue(s *coordinator.Step, req *kmsg.OffsetCommitRequest, id model.TopicID, p *kmsg.OffsetCommitRequestTopicPartition) *records.OffsetCommitValue {
	v := &records.OffsetCommitValue{
		Offset:          p.Offset,
		LeaderEpoch:     p.LeaderEpoch,
		CommitTimestamp: s.WallMs,
		ExpireTimestamp: records.NoTimestamp,
		TopicID:         id,
	}
	if p.Metadata != nil {
		v.Metadata = *p.Metadata
	}
	if ownRetention(req) {
		v.ExpireTimestamp = max(0, s.WallMs+min(req.RetentionTimeMillis, math.MaxInt64-s.WallMs))
	}
	return v
}

// ownRetention reports whether the request says how long its offsets are to be kept,
// as versions 2 to 4 can.
func ownRetention(req *kmsg.OffsetCommitRequest) bool { return req.RetentionTimeMillis != -1 }

// metadataTooLarge counts as Kafka does, in UTF-16. The record of an offset with a
// retention of its own has two bytes for the length, whatever the configuration.
func (m *Machine) metadataTooLarge(req *kmsg.OffsetCommitRequest, p *kmsg.OffsetCommitRequestTopicPartition) bool {
	if p.Metadata == nil {
		return false
	}
	limit := int(m.cfg.MaxMetadataBytes)
	n := len(*p.Metadata)
	if n > records.MaxString && ownRetention(req) {
		return true
	}
	if n <= limit || n > 3*limit { // a unit of UTF-16 has three bytes at most
		return n > limit
	}
	units := 0
	for _, r := range *p.Metadata {
		units++
		if r > math.MaxUint16 {
			units++
		}
	}
	return units > limit
}
