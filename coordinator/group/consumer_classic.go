package group

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"ringmain/coordinator"
	"ringmain/coordinator/group/records"
)

// Members of the classic protocol in a group of the consumer protocol: a JoinGroup
// takes the member a step towards its target and tells it its epoch as the
// generation, a SyncGroup gives it what it has, and a Heartbeat tells it to join
// again when there is a step to take. Nobody waits for anybody, and the broker is
// the leader.

// joinConsumerGroup is JoinGroup to a group of the consumer protocol with members.
func (m *Machine) joinConsumerGroup(s *coordinator.Step, g *group, req *kmsg.JoinGroupRequest, client Client, reply func(*kmsg.JoinGroupResponse, error)) {
	p := &joining{req.ResponseKind().(*kmsg.JoinGroupResponse), reply}
	p.response.Generation = -1
	c := g.members.(*consumer)
	unknown := req.MemberID == ""
	id := req.MemberID
	if unknown {
		id = m.cfg.NewID()
	}
	subscription, ok := firstSubscription(req.Protocols)
	switch {
	case len(id) > records.MaxString || said(req.Protocols) > memberMaxBytes:
		p.refuse(s, kerr.InvalidRequest.Code)
		return
	case m.cfg.Migration == (MigrationPolicy{}):
		p.refuse(s, kerr.InconsistentGroupProtocol.Code)
		return
	case c.full(id, req.InstanceID) != nil:
		p.refuse(s, kerr.GroupMaxSizeReached.Code)
		return
	case !c.supports(req.ProtocolType, req.Protocols):
		p.refuse(s, kerr.InconsistentGroupProtocol.Code)
		return
	case unknown && req.InstanceID == nil && req.Version >= 4:
		p.response.MemberID = id
		p.refuse(s, kerr.MemberIDRequired.Code)
		return
	}
	var holder *consumerMember
	if req.InstanceID != nil {
		holder = c.static[*req.InstanceID]
		if !unknown {
			if _, r := c.known(id, req.InstanceID); r != nil {
				p.refuse(s, r.code)
				return
			}
		}
	}
	if !ok {
		p.refuse(s, kerr.InconsistentGroupProtocol.Code)
		return
	}
	// The last member of the consumer protocol may be the one that comes back with
	// the classic one.
	downgrade := holder != nil && holder.said.ClassicMemberMetadata == nil && c.mayDowngrade(s, len(c.members), c.classicMembers+1, said(req.Protocols))
	if holder != nil && unknown {
		c.replace(s, holder, id)
	}
	now := records.ConsumerGroupMemberMetadataValue{RebalanceTimeoutMs: -1}
	if member := c.members[id]; member != nil {
		now = member.said
	}
	updateClassic(&now, req, client, subscription)
	generation := c.epoch // of the classic group: what changes with it is for the next one
	changed := c.note(s, id, now)
	if !downgrade {
		c.assign(s)
	}
	member := c.members[id]
	if !downgrade || c.assignmentEpoch >= c.epoch {
		c.reconcile(s, member, ownedOf(s.Image, subscription), changed)
	}
	m.deadlines.Cancel(&member.join)
	if !downgrade {
		c.renew(s, member)
		m.deadlines.Put(&member.sync, s.NowMs+int64(member.said.RebalanceTimeoutMs))
	}
	p.response.MemberID, p.response.Generation = id, member.epoch
	p.response.ProtocolType, p.response.Protocol = kmsg.StringPtr(consumerProtocolType), &req.Protocols[0].Name
	if downgrade {
		c.downgrade(s, generation, c.assignmentEpoch < c.epoch)
	}
	p.answer(s)
}

func updateClassic(said *records.ConsumerGroupMemberMetadataValue, req *kmsg.JoinGroupRequest, client Client, subscription *kmsg.ConsumerMemberMetadata) {
	said.ClientID, said.ClientHost = client.ID, client.Host
	if req.InstanceID != nil {
		said.InstanceID = req.InstanceID
	}
	if subscription.Rack != nil {
		said.RackID = subscription.Rack
	}
	if req.RebalanceTimeoutMillis != -1 {
		said.RebalanceTimeoutMs = req.RebalanceTimeoutMillis
	}
	said.SubscribedTopicNames, said.SubscribedTopicRegex = distinctNames(subscription.Topics), new(string)
	said.ClassicMemberMetadata = &records.ClassicMemberMetadata{SessionTimeoutMs: req.SessionTimeoutMillis}
	for _, protocol := range req.Protocols {
		said.ClassicMemberMetadata.SupportedProtocols = append(said.ClassicMemberMetadata.SupportedProtocols,
			records.ClassicProtocol{Name: protocol.Name, Metadata: protocol.Metadata})
	}
}

// supports reports whether all members of the classic protocol speak one of these.
func (c *consumer) supports(protocolType string, protocols []kmsg.JoinGroupRequestProtocol) bool {
	return protocolType == consumerProtocolType && slices.ContainsFunc(protocols, func(p kmsg.JoinGroupRequestProtocol) bool {
		return c.support[p.Name] == c.classicMembers
	})
}

// knownClassic gives the member of these credentials and of this generation if it
// speaks the classic protocol.
func (c *consumer) knownClassic(memberID string, instance *string, generation int32) (*consumerMember, int16) {
	m, r := c.known(memberID, instance)
	switch {
	case r != nil:
		return nil, r.code
	case m.said.ClassicMemberMetadata == nil:
		return nil, kerr.UnknownMemberID.Code
	case m.epoch != generation:
		return nil, kerr.IllegalGeneration.Code
	}
	return m, 0
}

// syncConsumerGroup is SyncGroup to a group of the consumer protocol.
func (m *Machine) syncConsumerGroup(s *coordinator.Step, g *group, req *kmsg.SyncGroupRequest, reply func(*kmsg.SyncGroupResponse, error)) {
	p := &syncing{req.ResponseKind().(*kmsg.SyncGroupResponse), reply}
	c := g.members.(*consumer)
	member, code := c.knownClassic(req.MemberID, req.InstanceID, req.Generation)
	if code != 0 {
		p.refuse(s, code)
		return
	}
	first := &member.said.ClassicMemberMetadata.SupportedProtocols[0]
	switch {
	case req.ProtocolType != nil && *req.ProtocolType != consumerProtocolType, req.Protocol != nil && *req.Protocol != first.Name:
		p.refuse(s, kerr.InconsistentGroupProtocol.Code)
		return
	case c.assignmentEpoch > member.epoch && member.state != unrevoked:
		c.awaitJoin(s, member)
		p.refuse(s, kerr.RebalanceInProgress.Code)
		return
	}
	m.deadlines.Cancel(&member.sync)
	c.renew(s, member)
	p.response.ProtocolType, p.response.Protocol = req.ProtocolType, req.Protocol
	p.response.MemberAssignment = encodeAssignment(s.Image, first.Metadata, member.assigned.byTopic)
	p.answer(s)
}

// awaitJoin gives a member its rebalance timeout to join again, from the first time
// that it was told to.
func (c *consumer) awaitJoin(s *coordinator.Step, m *consumerMember) {
	if !m.join.Set() {
		c.m.deadlines.Put(&m.join, s.NowMs+int64(m.said.RebalanceTimeoutMs))
	}
}

// heartbeatConsumerGroup is Heartbeat to a group of the consumer protocol.
func (m *Machine) heartbeatConsumerGroup(s *coordinator.Step, g *group, req *kmsg.HeartbeatRequest, reply func(*kmsg.HeartbeatResponse, error)) {
	response := req.ResponseKind().(*kmsg.HeartbeatResponse)
	c := g.members.(*consumer)
	member, code := c.knownClassic(req.MemberID, req.InstanceID, req.Generation)
	response.ErrorCode = code
	if code == 0 {
		c.renew(s, member)
		// There may be nobody else to see to it.
		c.follow(s, false)
		c.assign(s)
		if c.hasStep(member) {
			c.awaitJoin(s, member)
			response.ErrorCode = kerr.RebalanceInProgress.Code
		}
	}
	coordinator.Answer(s, reply, response)
}

// hasStep reports whether the member would get on by joining again: not while all it
// waits for is partitions that others still have.
func (c *consumer) hasStep(m *consumerMember) bool {
	switch {
	case m.epoch < c.assignmentEpoch || m.state == unrevoked:
		return true
	case m.state != unreleased:
		return false
	}
	for topic, list := range c.target[m.id] {
		for _, p := range list {
			tp := topicPartition{topic, p}
			if _, has := m.assigned[tp]; !has && c.owners[tp] != nil {
				return false
			}
		}
	}
	return true
}

// leaveConsumerGroup is LeaveGroup to a group of the consumer protocol. It removes
// members of either protocol: admins use it.
func (m *Machine) leaveConsumerGroup(s *coordinator.Step, g *group, req *kmsg.LeaveGroupRequest, reply func(*kmsg.LeaveGroupResponse, error)) {
	response := req.ResponseKind().(*kmsg.LeaveGroupResponse)
	c := g.members.(*consumer)
	var leaving []*consumerMember
	named := map[*consumerMember]bool{}
	for _, who := range req.Members {
		id := who.MemberID
		if id == "" && who.InstanceID != nil && c.static[*who.InstanceID] != nil {
			id = c.static[*who.InstanceID].id
		}
		member, r := c.known(id, who.InstanceID)
		answer := kmsg.LeaveGroupResponseMember{MemberID: who.MemberID, InstanceID: who.InstanceID}
		if r != nil {
			answer.ErrorCode = r.code
		} else if !named[member] {
			named[member] = true
			leaving = append(leaving, member)
		}
		response.Members = append(response.Members, answer)
	}
	if req.Version < 3 {
		response.ErrorCode = response.Members[0].ErrorCode
	}
	if len(leaving) > 0 {
		c.fence(s, leaving...)
	}
	coordinator.Answer(s, reply, response)
}
