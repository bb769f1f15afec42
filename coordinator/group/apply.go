package group

import "ringmain/coordinator/group/records"

// apply makes the machine's state what a record says. It is all that changes what
// survives: the same records give the same state, written just now or loaded. Kinds
// that this release has no groups for are passed over, as in Kafka.
func (m *Machine) apply(timestampMs int64, key, value []byte) error {
	d, err := records.Decode(key, value)
	if err != nil {
		return err
	}
	switch d.Kind {
	case records.OffsetCommitKind:
		m.applyOffsetCommit(&d)
	case records.GroupMetadataKind:
		return m.applyGroupMetadata(timestampMs, d.Group, d.GroupMetadata)
	case records.ConsumerGroupMetadataKind:
		m.applyConsumerGroupMetadata(d.Group, d.ConsumerGroupMetadata)
	case records.ConsumerGroupMemberMetadataKind:
		m.applyConsumerGroupMemberMetadata(d.Group, d.Member, d.ConsumerGroupMemberMetadata)
	case records.ConsumerGroupTargetAssignmentMetadataKind:
		m.applyConsumerGroupTargetAssignmentMetadata(d.Group, d.ConsumerGroupTargetAssignmentMetadata)
	case records.ConsumerGroupTargetAssignmentMemberKind:
		m.applyConsumerGroupTargetAssignmentMember(d.Group, d.Member, d.ConsumerGroupTargetAssignmentMember)
	case records.ConsumerGroupCurrentMemberAssignmentKind:
		m.applyConsumerGroupCurrentMemberAssignment(d.Group, d.Member, d.ConsumerGroupCurrentMemberAssignment)
	case records.ConsumerGroupRegularExpressionKind:
		m.applyConsumerGroupRegularExpression(d.Group, d.Regex, d.ConsumerGroupRegularExpression)
	}
	return nil
}

// applyOffsetCommit makes a group of a client that only commits: no other record
// tells of it. Without its last offset the group stays, until expire finds it.
func (m *Machine) applyOffsetCommit(d *records.Decoded) {
	if !d.Tombstone {
		m.ensure(d.Group).offsets.put(d.Topic, d.Partition, d.OffsetCommit)
	} else if g := m.groups[d.Group]; g != nil {
		g.offsets.remove(d.Topic, d.Partition)
	}
}

// dropBare drops a group whose records of members are gone, unless it has offsets:
// a group that changes its protocol keeps them.
func (m *Machine) dropBare(g *group) {
	if g.offsets.empty() {
		delete(m.groups, g.id)
	}
}
