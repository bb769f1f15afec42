package group

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"ringmain/coordinator"
)

// SyncGroup (14) asks for a member's share of its generation; the leader's brings
// everybody's. It is answered when that is in the log.
func (m *Machine) SyncGroup(s *coordinator.Step, req *kmsg.SyncGroupRequest, reply func(*kmsg.SyncGroupResponse, error)) {
	p := &syncing{req.ResponseKind().(*kmsg.SyncGroupResponse), reply}
	// Since version 5 (KIP-559) a member says what it believes the group to be.
	unnamed := req.Version >= 5 && (req.ProtocolType == nil || req.Protocol == nil)
	g := m.groups[req.Group]
	switch {
	case unnamed:
		p.refuse(s, kerr.InconsistentGroupProtocol.Code)
	case req.Group == "":
		p.refuse(s, kerr.InvalidGroupID.Code)
	case g == nil:
		p.refuse(s, kerr.UnknownMemberID.Code)
	case g.members.kind() == Consumer:
		m.syncConsumerGroup(s, g, req, reply)
	default:
		g.members.(*classic).syncGroup(s, req, p)
	}
}

// syncing is a SyncGroup that is not answered yet.
type syncing struct {
	response *kmsg.SyncGroupResponse // of the request's version
	reply    func(*kmsg.SyncGroupResponse, error)
}

func (p *syncing) answer(s *coordinator.Step) { coordinator.Answer(s, p.reply, p.response) }

func (p *syncing) refuse(s *coordinator.Step, code int16) {
	p.response.ErrorCode = code
	p.answer(s)
}

func (c *classic) syncGroup(s *coordinator.Step, req *kmsg.SyncGroupRequest, p *syncing) {
	m, code := c.known(req.MemberID, req.InstanceID)
	switch {
	case code != 0:
		p.refuse(s, code)
	case req.Generation != c.generation:
		p.refuse(s, kerr.IllegalGeneration.Code)
	case differ(req.ProtocolType, &c.typ), differ(req.Protocol, c.protocol):
		p.refuse(s, kerr.InconsistentGroupProtocol.Code)
	case c.current == classicPreparing:
		p.refuse(s, kerr.RebalanceInProgress.Code)
	case c.current == classicStable:
		c.synced(m)
		c.give(s, m, p)
	default:
		c.refuseSync(s, m, kerr.RebalanceInProgress.Code) // it was sent again
		m.sync = p
		c.synced(m)
		c.m.deadlines.Cancel(&m.session)
		if m.id == c.leader {
			c.assign(s, req.GroupAssignment)
		}
	}
}

// differ reports whether a request says something else than what is.
func differ(said, is *string) bool {
	return said != nil && is != nil && *said != *is
}

// assign makes the leader's assignment the group's. Members whom it leaves out get
// an empty share, and ids that are no members' are passed over.
func (c *classic) assign(s *coordinator.Step, shares []kmsg.SyncGroupRequestGroupAssignment) {
	byID := make(map[string][]byte, len(shares))
	for i := range shares {
		byID[shares[i].MemberID] = shares[i].MemberAssignment
	}
	share := func(m *classicMember) []byte { return byID[m.id] }
	if !c.fits(s, share) {
		c.refuseAssignment(s)
		return
	}
	c.persist(s, share)
	for _, m := range c.members {
		if p := m.sync; p != nil {
			m.sync = nil
			c.give(s, m, p)
		}
	}
}

// refuseAssignment tells all who wait that the leader's assignment cannot be stored, as
// Kafka does, and asks everybody to join again: with fewer members, or after the topic's
// max.message.bytes was raised, it can be.
func (c *classic) refuseAssignment(s *coordinator.Step) {
	for _, m := range c.members {
		c.refuseSync(s, m, kerr.UnknownServerError.Code)
		c.renew(s, m)
	}
	c.rebalance(s)
}

// give answers a member with its share.
func (c *classic) give(s *coordinator.Step, m *classicMember, p *syncing) {
	p.response.ProtocolType, p.response.Protocol = kmsg.StringPtr(c.typ), c.protocol
	p.response.MemberAssignment = m.assignment
	p.answer(s)
	c.renew(s, m)
}
