package group

import (
	"maps"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"ringmain/coordinator"
	"ringmain/coordinator/group/records"
	"ringmain/model"
)

// mayDowngrade reports whether the group becomes a classic one when it has this many
// members, of which so many speak the classic protocol. One of them, which comes now,
// says so much.
func (c *consumer) mayDowngrade(s *coordinator.Step, members, classicMembers, saidNow int) bool {
	return members > 0 && classicMembers == members && c.m.cfg.Migration.Downgrade && members <= int(c.m.cfg.MaxSize) &&
		c.classicSize()+saidNow <= s.MaxRecordBytes
}

// classicSize is how large the record of the group would be as a classic one, at most:
// all its members are in that one.
func (c *consumer) classicSize() int {
	size := recordRoom + len(c.g.id)
	for _, m := range c.members {
		size += memberRoom + len(m.id) + len(m.said.ClientID) + len(m.said.ClientHost)
		if m.said.InstanceID != nil {
			size += len(*m.said.InstanceID)
		}
		if classic := m.said.ClassicMemberMetadata; classic != nil {
			largest := 0
			for _, p := range classic.SupportedProtocols {
				largest = max(largest, len(p.Name)+len(p.Metadata))
			}
			size += largest
		}
		for _, partitions := range c.target[m.id] {
			size += topicNameRoom + 4*len(partitions)
		}
	}
	return size
}

// topicNameRoom is what a topic takes at most in the assignment of a classic member,
// but for its partitions.
const topicNameRoom = 256

// downgrade makes the group a classic one of this generation, with the members that
// are not leaving, who keep what they are to have. rebalance asks them to share it out
// among themselves.
func (c *consumer) downgrade(s *coordinator.Step, generation int32, rebalance bool, leaving ...*consumerMember) {
	gone := make(map[*consumerMember]bool, len(leaving))
	for _, m := range leaving {
		gone[m] = true
	}
	var stay []*consumerMember
	for _, id := range slices.Sorted(maps.Keys(c.members)) {
		if m := c.members[id]; !gone[m] {
			stay = append(stay, m)
		}
	}
	m, id, protocol := c.m, c.g.id, chooseProtocol(stay)
	v := &records.GroupMetadataValue{
		ProtocolType: consumerProtocolType, Generation: generation, Protocol: &protocol, CurrentStateTimestamp: s.WallMs,
	}
	protocols := map[string][]kmsg.JoinGroupRequestProtocol{}
	for _, member := range stay {
		classic := member.said.ClassicMemberMetadata
		subscription := classic.SupportedProtocols[0].Metadata
		for _, p := range classic.SupportedProtocols {
			protocols[member.id] = append(protocols[member.id], kmsg.JoinGroupRequestProtocol{Name: p.Name, Metadata: p.Metadata})
			if p.Name == protocol {
				subscription = p.Metadata
			}
		}
		target := c.target[member.id]
		v.Members = append(v.Members, records.MemberMetadata{
			MemberID: member.id, GroupInstanceID: member.said.InstanceID,
			ClientID: member.said.ClientID, ClientHost: member.said.ClientHost,
			RebalanceTimeout: member.said.RebalanceTimeoutMs, SessionTimeout: classic.SessionTimeoutMs,
			Subscription: subscription,
			Assignment: encodeAssignment(s.Image, subscription, func(visit func(model.TopicID, []int32)) {
				for _, t := range assignmentRecord(target) {
					visit(t.TopicID, t.Partitions)
				}
			}),
		})
	}
	c.forget(s)
	m.write(s, records.GroupMetadata(id, v))
	to := m.groups[id].members.(*classic)
	for _, member := range to.members {
		// The record has one protocol of each; the others are known still.
		to.count(member, -1)
		member.protocols = protocols[member.id]
		to.count(member, 1)
		to.renew(s, member)
	}
	to.topics = to.subscriptions()
	if rebalance {
		to.rebalance(s)
	}
}

// chooseProtocol is the protocol that most members like best of those that all of
// them speak.
func chooseProtocol(members []*consumerMember) string {
	speakers := map[string]int{}
	for _, m := range members {
		for _, p := range m.said.ClassicMemberMetadata.SupportedProtocols {
			speakers[p.Name]++
		}
	}
	votes, best := map[string]int{}, ""
	for _, m := range members {
		for _, p := range m.said.ClassicMemberMetadata.SupportedProtocols {
			if speakers[p.Name] == len(members) {
				if votes[p.Name]++; votes[p.Name] > votes[best] {
					best = p.Name
				}
				break
			}
		}
	}
	return best
}
