package group

import (
	"slices"

	"ringmain/coordinator/group/records"
)

// consumerGroup gives the group's membership for a record of the consumer protocol.
// Whatever the group was before, later records count.
func (m *Machine) consumerGroup(id string) *consumer {
	g := m.ensure(id)
	c, ok := g.members.(*consumer)
	if !ok {
		g.members.gone()
		c = newConsumer(m, g)
		g.members = c
	}
	return c
}

// knownConsumerGroup is for tombstones, which make no group; nil where there is none.
func (m *Machine) knownConsumerGroup(id string) *consumer {
	if g := m.groups[id]; g != nil {
		c, _ := g.members.(*consumer)
		return c
	}
	return nil
}

func (m *Machine) applyConsumerGroupMetadata(id string, v *records.ConsumerGroupMetadataValue) {
	if v != nil {
		c := m.consumerGroup(id)
		c.epoch, c.metadataHash = v.Epoch, v.MetadataHash
		return
	}
	if c := m.knownConsumerGroup(id); c != nil {
		c.gone()
		c.g.members = newClassic(m, c.g)
		m.dropBare(c.g)
	}
}

func (m *Machine) applyConsumerGroupMemberMetadata(id, member string, v *records.ConsumerGroupMemberMetadataValue) {
	if v != nil {
		c := m.consumerGroup(id)
		cm := c.member(member)
		c.count(cm, -1)
		cm.said = *v
		c.count(cm, 1)
		return
	}
	c := m.knownConsumerGroup(id)
	if c == nil || c.members[member] == nil {
		return
	}
	cm := c.members[member]
	c.count(cm, -1)
	c.have(cm, currentAssignment{})
	c.cancelDeadlines(cm)
	delete(c.members, member)
}

func (m *Machine) applyConsumerGroupTargetAssignmentMetadata(id string, v *records.ConsumerGroupTargetAssignmentMetadataValue) {
	if v != nil {
		c := m.consumerGroup(id)
		c.assignmentEpoch, c.assignedAtMs = v.AssignmentEpoch, v.AssignmentTimestamp
	} else if c := m.knownConsumerGroup(id); c != nil {
		c.assignmentEpoch, c.assignedAtMs = left, 0
	}
}

func (m *Machine) applyConsumerGroupTargetAssignmentMember(id, member string, v *records.ConsumerGroupTargetAssignmentMemberValue) {
	if v != nil {
		m.consumerGroup(id).target[member] = assignmentOf(v.TopicPartitions)
	} else if c := m.knownConsumerGroup(id); c != nil {
		delete(c.target, member)
	}
}

func (m *Machine) applyConsumerGroupCurrentMemberAssignment(id, member string, v *records.ConsumerGroupCurrentMemberAssignmentValue) {
	if v != nil {
		c := m.consumerGroup(id)
		c.have(c.member(member), currentAssignment{
			epoch: v.MemberEpoch, previous: v.PreviousMemberEpoch, state: memberState(v.State),
			assigned: partitionsOf(v.AssignedPartitions, v.MemberEpoch),
			revoking: partitionsOf(v.PartitionsPendingRevocation, v.MemberEpoch),
		})
	} else if c := m.knownConsumerGroup(id); c != nil && c.members[member] != nil {
		c.have(c.members[member], currentAssignment{epoch: left, previous: left})
	}
}

func (m *Machine) applyConsumerGroupRegularExpression(id, regex string, v *records.ConsumerGroupRegularExpressionValue) {
	c := m.knownConsumerGroup(id)
	if v != nil {
		c = m.consumerGroup(id)
	} else if c == nil {
		return
	}
	r := c.regexes[regex]
	if r == nil {
		r = &topicRegex{}
		c.regexes[regex] = r
	}
	for _, name := range r.topics {
		c.countTopic(name, -1)
	}
	r.resolved, r.topics = false, nil
	if v != nil {
		r.resolved, r.topics = true, slices.Sorted(slices.Values(v.Topics))
		r.version, r.atMs = v.Version, v.Timestamp
	}
	for _, name := range r.topics {
		c.countTopic(name, 1)
	}
	if !r.resolved && r.members == 0 {
		delete(c.regexes, regex)
	}
}

// member gives the member, made new if it is not there.
func (c *consumer) member(id string) *consumerMember {
	m := c.members[id]
	if m == nil {
		m = c.newMember(id)
		c.members[id] = m
	}
	return m
}

// count adds what the member said to what is counted over all members, or takes it
// away.
func (c *consumer) count(m *consumerMember, one int) {
	for _, name := range m.said.SubscribedTopicNames {
		c.countTopic(name, one)
	}
	if regex := m.regex(); regex != "" {
		r := c.regexes[regex]
		if r == nil {
			r = &topicRegex{}
			c.regexes[regex] = r
		}
		if r.members += one; r.members == 0 && !r.resolved {
			delete(c.regexes, regex)
		}
	}
	if m.said.ServerAssignor != nil {
		c.votes[*m.said.ServerAssignor] += one
	}
	if m.said.InstanceID != nil {
		switch {
		case one > 0:
			c.static[*m.said.InstanceID] = m
		case c.static[*m.said.InstanceID] == m:
			delete(c.static, *m.said.InstanceID)
		}
	}
	if classic := m.said.ClassicMemberMetadata; classic != nil {
		c.classicMembers += one
		for i := range classic.SupportedProtocols {
			name := classic.SupportedProtocols[i].Name
			if c.support[name] += one; c.support[name] == 0 {
				delete(c.support, name)
			}
		}
	}
}

func (c *consumer) countTopic(name string, one int) {
	if c.topics[name] += one; c.topics[name] == 0 {
		delete(c.topics, name)
		delete(c.topicHashes, name)
	}
}

// have makes the member have what it has now. A partition that another member took
// over meanwhile stays that one's: while a log is loaded the records of two members
// may come in an order that they never had.
func (c *consumer) have(m *consumerMember, now currentAssignment) {
	for _, before := range []partitions{m.assigned, m.revoking} {
		for tp := range before {
			if c.owners[tp] == m {
				delete(c.owners, tp)
			}
		}
	}
	m.currentAssignment = now
	for _, after := range []partitions{m.assigned, m.revoking} {
		for tp := range after {
			c.owners[tp] = m
		}
	}
}
