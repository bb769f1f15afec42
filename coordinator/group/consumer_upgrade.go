package group

import (
	"errors"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"ringmain/coordinator"
	"ringmain/coordinator/group/records"
)

// upgrade makes a classic group with members one of the consumer protocol, because a
// member of that joins. The others stay what they are and keep what they have.
type upgrade struct {
	m       *Machine
	from    *classic
	members []upgradedMember // in the order of ids
}

type upgradedMember struct {
	id       string
	said     records.ConsumerGroupMemberMetadataValue
	assigned []records.TopicPartitions
}

// upgradeMaxBytes is how much the members of a group may say of themselves in all
// protocols, for it to be upgraded: it is one write.
const upgradeMaxBytes = 16 << 20

// planUpgrade refuses a group whose members could not go on. Nothing is changed yet.
func (m *Machine) planUpgrade(s *coordinator.Step, from *classic) (*upgrade, *refusal) {
	id := from.g.id
	switch {
	case !m.cfg.Migration.Upgrade:
		return nil, refuse(kerr.GroupIDNotFound, "Cannot upgrade classic group %s to consumer group because online upgrade is disabled.", id)
	case from.protocolType() != consumerProtocolType:
		return nil, refuse(kerr.GroupIDNotFound, "Cannot upgrade classic group %s to consumer group because the group does not use the consumer embedded protocol.", id)
	case from.size() > int(m.cfg.ConsumerMaxSize):
		return nil, refuse(kerr.GroupIDNotFound, "Cannot upgrade classic group %s to consumer group because the group size exceeds the consumer group maximum size.", id)
	}
	bytes := 0
	for _, member := range from.members {
		bytes += said(member.protocols)
	}
	if bytes > upgradeMaxBytes {
		return nil, refuse(kerr.GroupIDNotFound, "Cannot upgrade classic group %s to consumer group because its members say %d bytes of themselves, more than %d. Let them speak fewer protocols.", id, bytes, upgradeMaxBytes)
	}
	u := &upgrade{m: m, from: from}
	taken := partitions{}
	for _, member := range from.members {
		up, err := u.member(s, member, taken)
		switch {
		case errors.Is(err, errUserData):
			return nil, refuse(kerr.GroupIDNotFound, "Cannot upgrade classic group %s to consumer group because an unsupported custom assignor is in use. Switch to a default assignor before upgrading again.", id)
		case err != nil:
			return nil, refuse(kerr.GroupIDNotFound, "Cannot upgrade classic group %s to consumer group because the embedded consumer protocol is malformed.", id)
		}
		u.members = append(u.members, *up)
	}
	slices.SortFunc(u.members, func(a, b upgradedMember) int { return strings.Compare(a.id, b.id) })
	return u, nil
}

// member is a classic member in the words of the consumer protocol. taken are the
// partitions that others have; a leader may have given one to two.
func (u *upgrade) member(s *coordinator.Step, m *classicMember, taken partitions) (*upgradedMember, error) {
	if len(m.protocols) == 0 {
		return nil, errEmbedded
	}
	metadata := m.protocols[0].Metadata
	if u.from.protocol != nil {
		if chosen, ok := m.metadata(*u.from.protocol); ok {
			metadata = chosen
		}
	}
	subscription, err := decodeSubscription(metadata)
	if err != nil {
		return nil, err
	}
	assigned, err := decodeAssignment(s.Image, m.assignment)
	if err != nil {
		return nil, err
	}
	for i := range assigned {
		assigned[i].Partitions = slices.DeleteFunc(assigned[i].Partitions, func(p int32) bool {
			tp := topicPartition{assigned[i].TopicID, p}
			_, has := taken[tp]
			taken[tp] = 0
			return has
		})
	}
	up := &upgradedMember{id: m.id, assigned: assigned}
	updateClassic(&up.said, &kmsg.JoinGroupRequest{
		InstanceID: m.instance, Protocols: m.protocols,
		RebalanceTimeoutMillis: m.rebalanceTimeoutMs, SessionTimeoutMillis: m.sessionTimeoutMs,
	}, Client{m.clientID, m.clientHost}, subscription)
	return up, nil
}

// checkRoom refuses the member that joins where it would be one too many.
func (u *upgrade) checkRoom(req *kmsg.ConsumerGroupHeartbeatRequest) *refusal {
	if u.from.byID[req.MemberID] != nil || req.InstanceID != nil && u.from.static[*req.InstanceID] != nil {
		return nil
	}
	return u.m.room(u.from.size())
}

// run writes the group anew. Who waits in JoinGroup or SyncGroup is told to join
// again, and is served by the new group then.
func (u *upgrade) run(s *coordinator.Step) *consumer {
	m, id, epoch := u.m, u.from.g.id, u.from.generation
	for _, member := range u.from.members {
		u.from.refuseJoin(s, member, member.id, kerr.RebalanceInProgress.Code)
		u.from.refuseSync(s, member, kerr.RebalanceInProgress.Code)
	}
	u.from.forget(s)
	for i := range u.members {
		m.write(s, records.ConsumerGroupMemberMetadata(id, u.members[i].id, &u.members[i].said))
	}
	c := m.knownConsumerGroup(id)
	m.write(s, records.ConsumerGroupMetadata(id, &records.ConsumerGroupMetadataValue{Epoch: epoch, MetadataHash: c.hash(s.Image)}))
	for i := range u.members {
		m.write(s, records.ConsumerGroupTargetAssignmentMember(id, u.members[i].id,
			&records.ConsumerGroupTargetAssignmentMemberValue{TopicPartitions: assignmentRecord(assignmentOf(u.members[i].assigned))}))
	}
	m.write(s, records.ConsumerGroupTargetAssignmentMetadata(id, &records.ConsumerGroupTargetAssignmentMetadataValue{AssignmentEpoch: epoch}))
	for i := range u.members {
		c.setCurrent(s, u.members[i].id, currentAssignment{
			epoch: epoch, previous: epoch, assigned: partitionsOf(u.members[i].assigned, epoch),
		})
		c.renew(s, c.members[u.members[i].id])
	}
	return c
}
