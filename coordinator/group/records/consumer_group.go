package records

import "ringmain/coordinator"

// consumerGroupVersion is the one version of each value of KIP-848.
const consumerGroupVersion = 0

// ConsumerGroupMetadataValue is a group of the consumer protocol.
type ConsumerGroupMetadataValue struct {
	Epoch        int32
	MetadataHash int64 // of the topics that it subscribes to; 0: not computed
}

// ConsumerGroupMemberMetadataValue is a member as it described itself.
type ConsumerGroupMemberMetadataValue struct {
	InstanceID           *string
	RackID               *string
	ClientID             string
	ClientHost           string
	SubscribedTopicNames []string
	SubscribedTopicRegex *string
	RebalanceTimeoutMs   int32
	ServerAssignor       *string
	// ClassicMemberMetadata is set for members that speak the classic protocol.
	ClassicMemberMetadata *ClassicMemberMetadata
}

// ClassicMemberMetadata is what a member said of itself in the classic protocol.
type ClassicMemberMetadata struct {
	SessionTimeoutMs   int32
	SupportedProtocols []ClassicProtocol
}

// ClassicProtocol is an assignor of a client, with the client's subscription.
type ClassicProtocol struct {
	Name     string
	Metadata []byte
}

// ConsumerGroupTargetAssignmentMetadataValue says of which group epoch the target
// assignment is.
type ConsumerGroupTargetAssignmentMetadataValue struct {
	AssignmentEpoch     int32
	AssignmentTimestamp int64 // when it was computed (KIP-1263); 0: not recorded
}

// ConsumerGroupTargetAssignmentMemberValue is what a member shall have.
type ConsumerGroupTargetAssignmentMemberValue struct {
	TopicPartitions []TopicPartitions
}

// ConsumerGroupCurrentMemberAssignmentValue is what a member has.
type ConsumerGroupCurrentMemberAssignmentValue struct {
	MemberEpoch                 int32
	PreviousMemberEpoch         int32
	State                       int8
	AssignedPartitions          []TopicPartitions
	PartitionsPendingRevocation []TopicPartitions
}

// ConsumerGroupRegularExpressionValue are the topics that an expression stands for.
type ConsumerGroupRegularExpressionValue struct {
	Topics    []string
	Version   int64 // of the metadata that it was resolved with
	Timestamp int64 // when
}

// ConsumerGroupMetadata is the record of a group; a tombstone if v is nil.
func ConsumerGroupMetadata(group string, v *ConsumerGroupMetadataValue) coordinator.Record {
	r := coordinator.Record{Key: key(ConsumerGroupMetadataKind, group)}
	if v != nil {
		r.Value = epochValue(v.Epoch, v.MetadataHash)
	}
	return r
}

func decodeConsumerGroupMetadata(c *cursor) *ConsumerGroupMetadataValue {
	epoch, hash := c.epochValue()
	return &ConsumerGroupMetadataValue{Epoch: epoch, MetadataHash: hash}
}

// ConsumerGroupMemberMetadata is the record of a member; a tombstone if v is nil.
func ConsumerGroupMemberMetadata(group, member string, v *ConsumerGroupMemberMetadataValue) coordinator.Record {
	r := coordinator.Record{Key: key(ConsumerGroupMemberMetadataKind, group, member)}
	if v == nil {
		return r
	}
	b := appendNullableString(begin(), v.InstanceID)
	b = appendNullableString(b, v.RackID)
	b = appendString(b, v.ClientID)
	b = appendString(b, v.ClientHost)
	b = appendStrings(b, v.SubscribedTopicNames)
	b = appendNullableString(b, v.SubscribedTopicRegex)
	b = appendInt32(b, v.RebalanceTimeoutMs)
	b = appendNullableString(b, v.ServerAssignor)
	classic := []byte{absent} // Kafka writes it, though it is the default
	if m := v.ClassicMemberMetadata; m != nil {
		classic[0] = present
		classic = appendInt32(classic, m.SessionTimeoutMs)
		classic = appendLength(classic, len(m.SupportedProtocols))
		for i := range m.SupportedProtocols {
			classic = appendString(classic, m.SupportedProtocols[i].Name)
			classic = appendBytes(classic, m.SupportedProtocols[i].Metadata)
			classic = appendTag(classic, nil)
		}
		classic = appendTag(classic, nil)
	}
	r.Value = appendTag(b, classic)
	return r
}

// A structure that may be null begins with one of these.
const absent, present = 0, 1

func decodeConsumerGroupMemberMetadata(c *cursor) *ConsumerGroupMemberMetadataValue {
	v := &ConsumerGroupMemberMetadataValue{
		InstanceID:           c.nullableString(),
		RackID:               c.nullableString(),
		ClientID:             c.string(),
		ClientHost:           c.string(),
		SubscribedTopicNames: c.strings(),
		SubscribedTopicRegex: c.nullableString(),
		RebalanceTimeoutMs:   c.int32(),
		ServerAssignor:       c.nullableString(),
	}
	c.tags(func(c *cursor) {
		if c.int8() != present {
			return
		}
		m := &ClassicMemberMetadata{SessionTimeoutMs: c.int32()}
		for range c.count(3) {
			m.SupportedProtocols = append(m.SupportedProtocols, ClassicProtocol{Name: c.string(), Metadata: c.bytes()})
			c.tags(nil)
		}
		c.tags(nil)
		v.ClassicMemberMetadata = m
	})
	return v
}

// ConsumerGroupTargetAssignmentMetadata is the record that a target assignment is
// whole; a tombstone if v is nil.
func ConsumerGroupTargetAssignmentMetadata(group string, v *ConsumerGroupTargetAssignmentMetadataValue) coordinator.Record {
	r := coordinator.Record{Key: key(ConsumerGroupTargetAssignmentMetadataKind, group)}
	if v != nil {
		r.Value = epochValue(v.AssignmentEpoch, v.AssignmentTimestamp)
	}
	return r
}

func decodeConsumerGroupTargetAssignmentMetadata(c *cursor) *ConsumerGroupTargetAssignmentMetadataValue {
	epoch, timestamp := c.epochValue()
	return &ConsumerGroupTargetAssignmentMetadataValue{AssignmentEpoch: epoch, AssignmentTimestamp: timestamp}
}

// ConsumerGroupTargetAssignmentMember is the record of what a member shall have; a
// tombstone if v is nil.
func ConsumerGroupTargetAssignmentMember(group, member string, v *ConsumerGroupTargetAssignmentMemberValue) coordinator.Record {
	r := coordinator.Record{Key: key(ConsumerGroupTargetAssignmentMemberKind, group, member)}
	if v != nil {
		b := appendTopicPartitions(begin(), v.TopicPartitions, false)
		r.Value = appendTag(b, nil)
	}
	return r
}

func decodeConsumerGroupTargetAssignmentMember(c *cursor) *ConsumerGroupTargetAssignmentMemberValue {
	v := &ConsumerGroupTargetAssignmentMemberValue{TopicPartitions: c.topicPartitions(false)}
	c.tags(nil)
	return v
}

// ConsumerGroupCurrentMemberAssignment is the record of what a member has; a
// tombstone if v is nil.
func ConsumerGroupCurrentMemberAssignment(group, member string, v *ConsumerGroupCurrentMemberAssignmentValue) coordinator.Record {
	r := coordinator.Record{Key: key(ConsumerGroupCurrentMemberAssignmentKind, group, member)}
	if v != nil {
		b := appendInt32(begin(), v.MemberEpoch)
		b = appendInt32(b, v.PreviousMemberEpoch)
		b = append(b, byte(v.State))
		b = appendTopicPartitions(b, v.AssignedPartitions, true)
		b = appendTopicPartitions(b, v.PartitionsPendingRevocation, true)
		r.Value = appendTag(b, nil)
	}
	return r
}

func decodeConsumerGroupCurrentMemberAssignment(c *cursor) *ConsumerGroupCurrentMemberAssignmentValue {
	v := &ConsumerGroupCurrentMemberAssignmentValue{
		MemberEpoch:                 c.int32(),
		PreviousMemberEpoch:         c.int32(),
		State:                       c.int8(),
		AssignedPartitions:          c.topicPartitions(true),
		PartitionsPendingRevocation: c.topicPartitions(true),
	}
	c.tags(nil)
	return v
}

// ConsumerGroupRegularExpression is the record of a resolved expression; a
// tombstone if v is nil.
func ConsumerGroupRegularExpression(group, regex string, v *ConsumerGroupRegularExpressionValue) coordinator.Record {
	r := coordinator.Record{Key: key(ConsumerGroupRegularExpressionKind, group, regex)}
	if v != nil {
		b := appendStrings(begin(), v.Topics)
		b = appendInt64(b, v.Version)
		b = appendInt64(b, v.Timestamp)
		r.Value = appendTag(b, nil)
	}
	return r
}

func decodeConsumerGroupRegularExpression(c *cursor) *ConsumerGroupRegularExpressionValue {
	v := &ConsumerGroupRegularExpressionValue{Topics: c.strings(), Version: c.int64(), Timestamp: c.int64()}
	c.tags(nil)
	return v
}

// begin is a value of which only the version is there.
func begin() []byte { return []byte{0, consumerGroupVersion} }

// epochValue is an epoch, with a number that goes with it in a tagged field; 0 is not
// written.
func epochValue(epoch int32, number int64) []byte {
	var tag []byte
	if number != 0 {
		tag = appendInt64(nil, number)
	}
	return appendTag(appendInt32(begin(), epoch), tag)
}

func (c *cursor) epochValue() (epoch int32, number int64) {
	epoch = c.int32()
	c.tags(func(c *cursor) { number = c.int64() })
	return epoch, number
}
