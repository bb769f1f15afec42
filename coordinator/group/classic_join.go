package group

import (
	"bytes"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"ringmain/coordinator"
	"ringmain/coordinator/group/records"
)

// JoinGroup (11) asks to be in the next generation of a classic group. It is
// answered when that begins, or at once where nothing changes by it.
func (m *Machine) JoinGroup(s *coordinator.Step, req *kmsg.JoinGroupRequest, client Client, reply func(*kmsg.JoinGroupResponse, error)) {
	p := &joining{req.ResponseKind().(*kmsg.JoinGroupResponse), reply}
	p.response.Generation = -1
	p.response.MemberID = req.MemberID
	if req.Version == 0 {
		req.RebalanceTimeoutMillis = req.SessionTimeoutMillis
	}
	req.Protocols = distinct(req.Protocols)

	g := m.groups[req.Group]
	consumer := g != nil && g.members.kind() == Consumer
	switch {
	case req.Group == "" || len(req.Group) > records.MaxString:
		p.refuse(s, kerr.InvalidGroupID.Code)
	case tooLong(req, client), said(req.Protocols) > s.MaxRecordBytes:
		p.response.MemberID = ""
		p.refuse(s, kerr.InvalidRequest.Code)
	case req.SessionTimeoutMillis < m.cfg.MinSessionTimeoutMs || req.SessionTimeoutMillis > m.cfg.MaxSessionTimeoutMs:
		p.refuse(s, kerr.InvalidSessionTimeout.Code)
	case consumer && g.members.size() > 0:
		m.joinConsumerGroup(s, g, req, client, reply)
	case req.MemberID != "" && (g == nil || consumer):
		p.refuse(s, kerr.UnknownMemberID.Code)
	default:
		if consumer { // nobody is in it any more: it becomes a classic group
			g.members.forget(s)
		}
		c := m.ensure(req.Group).members.(*classic)
		c.joinGroup(s, req, client, p)
		c.dropUnused() // of a member that was refused
	}
}

// distinct leaves out protocols whose name came before. It changes the slice.
func distinct(protocols []kmsg.JoinGroupRequestProtocol) []kmsg.JoinGroupRequestProtocol {
	seen := make(map[string]bool, len(protocols))
	return slices.DeleteFunc(protocols, func(p kmsg.JoinGroupRequestProtocol) bool {
		again := seen[p.Name]
		seen[p.Name] = true
		return again
	})
}

// kept is a copy of what a request says, whose bytes are the frame's.
func kept(protocols []kmsg.JoinGroupRequestProtocol) []kmsg.JoinGroupRequestProtocol {
	protocols = slices.Clone(protocols)
	for i := range protocols {
		protocols[i].Metadata = bytes.Clone(protocols[i].Metadata)
	}
	return protocols
}

// memberIDRest is what a member id has after the client's own words.
const memberIDRest = len("-00000000-0000-0000-0000-000000000000")

// tooLong reports whether the group's record could not be written with what a client
// says: it has two bytes for the length of a string, as older answers have. Requests
// from version 6 on may have longer ones.
func tooLong(req *kmsg.JoinGroupRequest, client Client) bool {
	own := client.ID
	if req.InstanceID != nil {
		own = *req.InstanceID
	}
	return len(own)+memberIDRest > records.MaxString || len(req.ProtocolType) > records.MaxString ||
		slices.ContainsFunc(req.Protocols, func(p kmsg.JoinGroupRequestProtocol) bool { return len(p.Name) > records.MaxString })
}

// protocolRoom is about what a protocol takes in memory beside its name and metadata.
const protocolRoom = 64

// said is how much memory a member's protocols take. A member may say as much as a
// record of the group may have: with more the group could never be stored, but it would
// be kept for as long as the member waits.
func said(protocols []kmsg.JoinGroupRequestProtocol) (bytes int) {
	for i := range protocols {
		bytes += protocolRoom + len(protocols[i].Name) + len(protocols[i].Metadata)
	}
	return bytes
}

// joining is a JoinGroup that is not answered yet.
type joining struct {
	response *kmsg.JoinGroupResponse // of the request's version
	reply    func(*kmsg.JoinGroupResponse, error)
}

func (p *joining) answer(s *coordinator.Step) { coordinator.Answer(s, p.reply, p.response) }

func (p *joining) refuse(s *coordinator.Step, code int16) {
	p.response.ErrorCode = code
	p.answer(s)
}

func (c *classic) joinGroup(s *coordinator.Step, req *kmsg.JoinGroupRequest, client Client, p *joining) {
	member := c.byID[req.MemberID]
	if req.MemberID == "" && req.InstanceID != nil {
		member = c.static[*req.InstanceID] // whose place it takes
	}
	switch {
	case !c.hasRoom(member):
		c.turnAway(s, req.MemberID, p)
	case !c.supports(req.ProtocolType, req.Protocols):
		p.refuse(s, kerr.InconsistentGroupProtocol.Code)
	case req.MemberID != "":
		c.joinKnown(s, req, client, p)
	case req.InstanceID != nil:
		id := *req.InstanceID + "-" + c.m.cfg.NewID()
		if member != nil {
			c.replace(s, req, member, id, p)
		} else {
			c.joinNew(s, req, client, id, p)
		}
	default:
		id := client.ID + "-" + c.m.cfg.NewID()
		if req.Version < 4 {
			c.joinNew(s, req, client, id, p)
			return
		}
		// KIP-394: a client that loses this answer leaves no member behind.
		c.expect(s, id, req.SessionTimeoutMillis)
		p.response.MemberID = id
		p.refuse(s, kerr.MemberIDRequired.Code)
	}
}

// hasRoom reports whether a member, or a new one (nil), fits into group.max.size.
// While members join, those who have joined count, so that a group that is too large
// loses those who come last.
func (c *classic) hasRoom(m *classicMember) bool {
	limit := int(c.m.cfg.MaxSize)
	switch c.current {
	case classicEmpty:
		return true
	case classicPreparing:
		return m != nil && m.join != nil || c.parked < limit
	default:
		return m != nil || len(c.members) < limit
	}
}

// turnAway refuses one member too many. If it was in the group it is not any more.
func (c *classic) turnAway(s *coordinator.Step, id string, p *joining) {
	p.response.MemberID = ""
	p.refuse(s, kerr.GroupMaxSizeReached.Code)
	c.unexpect(id)
	if m := c.byID[id]; m != nil {
		c.remove(s, m)
	}
	c.completeIfJoined(s)
}

// supports reports whether somebody with these protocols can be in the group: all
// members speak one of them.
func (c *classic) supports(protocolType string, protocols []kmsg.JoinGroupRequestProtocol) bool {
	if c.current == classicEmpty {
		return protocolType != "" && len(protocols) > 0
	}
	return protocolType == c.typ && slices.ContainsFunc(protocols, func(p kmsg.JoinGroupRequestProtocol) bool {
		return c.support[p.Name] == len(c.members)
	})
}

// joinNew takes in a member that was in no generation yet.
func (c *classic) joinNew(s *coordinator.Step, req *kmsg.JoinGroupRequest, client Client, id string, p *joining) {
	m := &classicMember{
		id:                 id,
		instance:           req.InstanceID,
		clientID:           client.ID,
		clientHost:         client.Host,
		rebalanceTimeoutMs: req.RebalanceTimeoutMillis,
		sessionTimeoutMs:   req.SessionTimeoutMillis,
		protocols:          kept(req.Protocols),
	}
	if len(c.members) == 0 {
		c.typ = req.ProtocolType
	}
	if c.initial != nil {
		c.initial.joined = true
	}
	c.add(m)
	c.joinNext(s, m, p)
}

// joinKnown is the JoinGroup of a member id that was given out.
func (c *classic) joinKnown(s *coordinator.Step, req *kmsg.JoinGroupRequest, client Client, p *joining) {
	if c.pending[req.MemberID] != nil {
		if req.InstanceID != nil { // it had none when it was given the id
			p.response.MemberID = ""
			p.refuse(s, kerr.UnknownServerError.Code)
			return
		}
		c.unexpect(req.MemberID)
		c.joinNew(s, req, client, req.MemberID, p)
		return
	}
	m, code := c.known(req.MemberID, req.InstanceID)
	if code != 0 {
		p.refuse(s, code)
		return
	}
	same := m.says(req.Protocols)
	// A leader that joins a Stable group wants to assign anew, for partitions that
	// were added, say. Others who say the same again have lost their answer.
	if c.current == classicCompleting && same || c.current == classicStable && same && m.id != c.leader {
		c.admit(p.response, m)
		p.answer(s)
		c.renew(s, m)
		return
	}
	c.update(m, req)
	c.joinNext(s, m, p)
}

// joinNext parks a member until the next generation.
func (c *classic) joinNext(s *coordinator.Step, m *classicMember, p *joining) {
	c.park(s, m, p)
	if c.current == classicPreparing {
		c.completeIfJoined(s)
	} else {
		c.rebalance(s)
	}
}

// replace gives a static member's place to a client that came without a member id:
// the same one after a restart, as a rule, so a Stable group stays as it is. The
// log learns the new id, for else the old one would be back after a failover.
func (c *classic) replace(s *coordinator.Step, req *kmsg.JoinGroupRequest, m *classicMember, id string, p *joining) {
	leader := c.leader
	c.rename(s, m, id)
	c.update(m, req)
	keep := func(m *classicMember) []byte { return m.assignment }
	if c.current != classicStable || c.selectProtocol() != *c.protocol || !c.fits(s, keep) {
		c.joinNext(s, m, p)
		return
	}
	c.topics = c.subscriptions() // as whoever loads what is written now
	c.persist(s, keep)
	c.admit(p.response, m)
	if req.Version >= 9 {
		p.response.SkipAssignment = m.id == c.leader
	} else {
		// Before KIP-814 a leader could not be told not to assign, so it is not told
		// that it leads.
		p.response.LeaderID, p.response.Members = leader, nil
	}
	p.answer(s)
	c.renew(s, m)
}
