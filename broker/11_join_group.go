package broker

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"ringmain/coordinator"
	"ringmain/coordinator/group"
)

// JoinGroup, versions 0 to 9.
//
//   - v1 a rebalance timeout of its own, v4 the member id is given out first
//     (KIP-394), v5 static members (KIP-345), v6 flexible, v7 the protocol's type and a
//     null protocol, v8 a reason, v9 skip_assignment
//   - the answer waits for the other members; the connection may send on meanwhile
var joinGroupAPI = api{key: 11, min: 0, max: 9, group: joinGroup}

func joinGroup(_ *groups, c *groupCall, r kmsg.Request) {
	req := r.(*kmsg.JoinGroupRequest)
	refuse := func(code int16) *kmsg.JoinGroupResponse {
		resp := kmsg.NewPtrJoinGroupResponse()
		resp.ErrorCode, resp.MemberID = code, req.MemberID
		return resp
	}
	if req.Group == "" {
		c.answer(refuse(kerr.InvalidGroupID.Code))
		return
	}
	ask(c, req.Group, func(resp *kmsg.JoinGroupResponse) { c.answer(resp) }, refuse,
		func(m *group.Machine, s *coordinator.Step, reply func(*kmsg.JoinGroupResponse, error)) {
			m.JoinGroup(s, req, c.client, reply)
		})
}
