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
// members, of which so many speak the classic protocol.
func (c *consumer) mayDowngrade(members, classicMembers int) bool {
	return members > 0 && classicMembers == members && c.m.cfg.Migration.Downgrade && members <= int(c.m.cfg.MaxSize)
}

// downgrade makes the group a classic one with the members that are not leaving, who
// keep what they are to have. rebalance asks them to share it out among themselves.
func (c *consumer) downgrade(s *coordinator.Step, rebalance bool, leaving ...*consumerMember) {
	var stay []*consumerMember
	for _, id := range slices.Sorted(maps.Keys(c.members)) {
		if m := c.members[id]; !slices.Contains(leaving, m) {
			stay = append(stay, m)
		}
	}
	m, id, protocol := c.m, c.g.id, chooseProtocol(stay)
	v := &records.GroupMetadataValue{
		ProtocolType: consumerProtocolType, Generation: c.epoch, Protocol: &protocol, CurrentStateTimestamp: s.WallMs,
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
