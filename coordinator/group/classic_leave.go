package group

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"ringmain/coordinator"
)

// LeaveGroup (13) removes members: the one that sends it (versions 0 to 2), or a
// list, which admins use to remove static members by their instance ids (KIP-345).
func (m *Machine) LeaveGroup(s *coordinator.Step, req *kmsg.LeaveGroupRequest, reply func(*kmsg.LeaveGroupResponse, error)) {
	response := req.ResponseKind().(*kmsg.LeaveGroupResponse)
	if req.Version < 3 {
		req.Members = []kmsg.LeaveGroupRequestMember{{MemberID: req.MemberID}}
	}
	g := m.groups[req.Group]
	switch {
	case req.Group == "":
		response.ErrorCode = kerr.InvalidGroupID.Code
	case g != nil && g.members.kind() == Consumer:
		m.leaveConsumerGroup(s, g, req, reply)
		return
	default:
		before := 0
		if g != nil {
			before = g.members.size()
		}
		response.Members = make([]kmsg.LeaveGroupResponseMember, len(req.Members))
		for i, who := range req.Members {
			code := kerr.UnknownMemberID.Code
			if g != nil {
				code = g.members.(*classic).leave(s, who.MemberID, who.InstanceID)
			}
			response.Members[i] = kmsg.LeaveGroupResponseMember{MemberID: who.MemberID, InstanceID: who.InstanceID, ErrorCode: code}
		}
		if g != nil && g.members.size() < before {
			g.members.(*classic).membersLeft(s)
		}
		if req.Version < 3 {
			response.ErrorCode = response.Members[0].ErrorCode
		}
	}
	coordinator.Answer(s, reply, response)
}

// leave removes one member, or an id that was only given out.
func (c *classic) leave(s *coordinator.Step, memberID string, instance *string) (code int16) {
	if p := c.pending[memberID]; p != nil {
		p.giveUp(s)
		return 0
	}
	if memberID == "" && instance != nil {
		if m := c.static[*instance]; m != nil {
			memberID = m.id
		}
	}
	m, code := c.known(memberID, instance)
	if code == 0 {
		c.remove(s, m)
	}
	return code
}
