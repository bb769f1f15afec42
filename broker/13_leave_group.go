package broker

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"ringmain/coordinator"
	"ringmain/coordinator/group"
)

// LeaveGroup, versions 0 to 5.
//
//   - v3 several members, each with an error of its own; static ones by their instance
//   - v4 flexible, v5 a reason
var leaveGroupAPI = api{key: 13, min: 0, max: 5, group: leaveGroup}

func leaveGroup(_ *groups, c *groupCall, r kmsg.Request) {
	req := r.(*kmsg.LeaveGroupRequest)
	refuse := func(code int16) *kmsg.LeaveGroupResponse {
		resp := kmsg.NewPtrLeaveGroupResponse()
		resp.ErrorCode = code
		return resp
	}
	if req.Group == "" {
		c.answer(refuse(kerr.InvalidGroupID.Code))
		return
	}
	ask(c, req.Group, func(resp *kmsg.LeaveGroupResponse) { c.answer(resp) }, refuse,
		func(m *group.Machine, s *coordinator.Step, reply func(*kmsg.LeaveGroupResponse, error)) {
			m.LeaveGroup(s, req, reply)
		})
}
