package group

import (
	"bytes"
	"maps"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"ringmain/coordinator"
	"ringmain/metadata"
	"ringmain/model"
)

// ConsumerGroupDescribe (69) tells where a group and its members are.
func (m *Machine) ConsumerGroupDescribe(s *coordinator.Step, id string, reply func(kmsg.ConsumerGroupDescribeResponseGroup, error)) {
	response := kmsg.NewConsumerGroupDescribeResponseGroup()
	response.Group = id
	if c, r := m.findConsumerGroup(id); r != nil {
		response.ErrorCode, response.ErrorMessage = r.code, &r.text
	} else {
		c.describe(s, &response)
	}
	coordinator.Answer(s, reply, response)
}

func (c *consumer) describe(s *coordinator.Step, response *kmsg.ConsumerGroupDescribeResponseGroup) {
	response.State = c.state(s)
	response.Epoch, response.AssignmentEpoch = c.epoch, c.assignmentEpoch
	response.AssignorName = c.assignorName()
	for _, id := range slices.Sorted(maps.Keys(c.members)) {
		response.Members = append(response.Members, c.members[id].describe(s.Image, c.target[id]))
	}
}

// The kinds of members in ConsumerGroupDescribe.
const (
	classicMemberType  = 0
	consumerMemberType = 1
)

func (m *consumerMember) describe(img *metadata.Image, target map[model.TopicID][]int32) kmsg.ConsumerGroupDescribeResponseGroupMember {
	d := kmsg.NewConsumerGroupDescribeResponseGroupMember()
	d.MemberID, d.MemberEpoch, d.MemberType = m.id, m.epoch, consumerMemberType
	if m.said.ClassicMemberMetadata != nil {
		d.MemberType = classicMemberType
	}
	d.InstanceID, d.RackID = m.said.InstanceID, m.said.RackID
	d.ClientID, d.ClientHost = m.said.ClientID, m.said.ClientHost
	d.SubscribedTopics, d.SubscribedTopicRegex = m.said.SubscribedTopicNames, m.said.SubscribedTopicRegex
	// A member has what it was told to give up until it says that it did.
	has := make(partitions, len(m.assigned)+len(m.revoking))
	maps.Copy(has, m.assigned)
	maps.Copy(has, m.revoking)
	has.byTopic(func(id model.TopicID, partitions []int32) {
		d.Assignment.TopicPartitions = describeTopic(d.Assignment.TopicPartitions, img, id, partitions)
	})
	for _, id := range slices.SortedFunc(maps.Keys(target), func(a, b model.TopicID) int { return bytes.Compare(a[:], b[:]) }) {
		d.TargetAssignment.TopicPartitions = describeTopic(d.TargetAssignment.TopicPartitions, img, id, target[id])
	}
	return d
}

// describeTopic leaves out a topic that is gone: it has no name.
func describeTopic(list []kmsg.AssignmentTopicPartition, img *metadata.Image, id model.TopicID, partitions []int32) []kmsg.AssignmentTopicPartition {
	if topic := img.TopicByID(id); topic != nil {
		list = append(list, kmsg.AssignmentTopicPartition{TopicID: id, Topic: topic.Name, Partitions: partitions})
	}
	return list
}
