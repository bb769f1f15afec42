package group

import (
	"github.com/twmb/franz-go/pkg/kerr"

	"ringmain/coordinator"
	"ringmain/coordinator/group/records"
)

// consumerMember is a member of a group of the consumer protocol.
type consumerMember struct {
	id   string
	said records.ConsumerGroupMemberMetadataValue // of itself
	currentAssignment

	// session ends when nothing was heard of the member for too long.
	session coordinator.Deadline
	// rebalance ends the time to give up what is in revoking.
	rebalance coordinator.Deadline
	// join and sync end the time of a member of the classic protocol to come with
	// JoinGroup once it was told to, and with SyncGroup after that.
	join, sync coordinator.Deadline
}

// currentAssignment is what a member has on its way to its target.
type currentAssignment struct {
	epoch    int32
	previous int32 // a member whose answer was lost comes with it again
	state    memberState
	assigned partitions
	revoking partitions // told to give up, and not confirmed yet
}

// memberState is Kafka's number in records.
type memberState int8

const (
	// stable: has reached its target, as far as it knew of one.
	stable memberState = iota
	// unrevoked: has to give up partitions before it gets on.
	unrevoked
	// unreleased: has reached the epoch, and waits for partitions that others have.
	unreleased
)

// left is the epoch of a member that leaves, and of one whose records are being
// deleted.
const left = -1

// leftForAWhile is the epoch of a static member that is about to come back.
const leftForAWhile = -2

// reached reports whether the member has everything of this assignment epoch.
func (m *consumerMember) reached(epoch int32) bool { return m.state == stable && m.epoch == epoch }

// wrongEpoch is the error code for an epoch that the member has not, in the words of
// the protocol that it speaks.
func (m *consumerMember) wrongEpoch() int16 {
	if m.said.ClassicMemberMetadata != nil {
		return kerr.IllegalGeneration.Code
	}
	return kerr.StaleMemberEpoch.Code
}

func (m *consumerMember) regex() string {
	if m.said.SubscribedTopicRegex == nil {
		return ""
	}
	return *m.said.SubscribedTopicRegex
}

// newMember makes a member that nothing is known of; the group does not have it yet.
func (c *consumer) newMember(id string) *consumerMember {
	m := &consumerMember{id: id, currentAssignment: currentAssignment{previous: left}}
	fence := func(s *coordinator.Step) { c.fence(s, m) }
	m.session.Fire, m.rebalance.Fire, m.join.Fire, m.sync.Fire = fence, fence, fence, fence
	return m
}

// renew begins the member's session again.
func (c *consumer) renew(s *coordinator.Step, m *consumerMember) {
	timeoutMs := c.settings(s).SessionTimeoutMs
	if m.said.ClassicMemberMetadata != nil {
		timeoutMs = m.said.ClassicMemberMetadata.SessionTimeoutMs
	}
	c.m.deadlines.Put(&m.session, s.NowMs+int64(timeoutMs))
}

// awaitRevocation gives the member its rebalance timeout to confirm.
func (c *consumer) awaitRevocation(s *coordinator.Step, m *consumerMember) {
	c.m.deadlines.Put(&m.rebalance, s.NowMs+int64(m.said.RebalanceTimeoutMs))
}

func (c *consumer) cancelDeadlines(m *consumerMember) {
	for _, d := range []*coordinator.Deadline{&m.session, &m.rebalance, &m.join, &m.sync} {
		c.m.deadlines.Cancel(d)
	}
}

func (c *consumer) settings(s *coordinator.Step) ConsumerSettings {
	return c.m.cfg.ConsumerSettings(s.Image, c.g.id)
}

// fence removes members, and begins to share out what they had. Where only members
// of the classic protocol are left the group becomes a classic one.
func (c *consumer) fence(s *coordinator.Step, members ...*consumerMember) {
	classic := c.classicMembers
	for _, m := range members {
		if m.said.ClassicMemberMetadata != nil {
			classic--
		}
	}
	if c.mayDowngrade(s, len(c.members)-len(members), classic, 0) {
		c.downgrade(s, c.epoch, true, members...)
		return
	}
	for _, m := range members {
		c.remove(s, m.id)
	}
	c.dropRegexes(s)
	c.bump(s, c.hash(s.Image))
	if len(c.members) == 0 {
		c.m.write(s, records.ConsumerGroupTargetAssignmentMetadata(c.g.id,
			&records.ConsumerGroupTargetAssignmentMetadataValue{AssignmentEpoch: c.epoch}))
	}
}

// remove writes the tombstones of a member.
func (c *consumer) remove(s *coordinator.Step, member string) {
	c.m.write(s, records.ConsumerGroupCurrentMemberAssignment(c.g.id, member, nil))
	c.m.write(s, records.ConsumerGroupTargetAssignmentMember(c.g.id, member, nil))
	c.m.write(s, records.ConsumerGroupMemberMetadata(c.g.id, member, nil))
}

// replace gives the place of a static member to another one, with its subscription,
// its target and its partitions.
func (c *consumer) replace(s *coordinator.Step, old *consumerMember, id string) {
	said, target, current := old.said, c.target[old.id], old.currentAssignment
	current.epoch, current.previous = 0, 0
	c.remove(s, old.id)
	c.m.write(s, records.ConsumerGroupMemberMetadata(c.g.id, id, &said))
	c.m.write(s, records.ConsumerGroupTargetAssignmentMember(c.g.id, id,
		&records.ConsumerGroupTargetAssignmentMemberValue{TopicPartitions: assignmentRecord(target)}))
	c.setCurrent(s, id, current)
}

// setCurrent writes what a member has.
func (c *consumer) setCurrent(s *coordinator.Step, member string, to currentAssignment) {
	c.m.write(s, records.ConsumerGroupCurrentMemberAssignment(c.g.id, member, &records.ConsumerGroupCurrentMemberAssignmentValue{
		MemberEpoch: to.epoch, PreviousMemberEpoch: to.previous, State: int8(to.state),
		AssignedPartitions: to.assigned.record(), PartitionsPendingRevocation: to.revoking.record(),
	}))
}
