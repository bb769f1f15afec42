package broker

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"ringmain/coordinator"
	"ringmain/coordinator/group"
)

// SyncGroup, versions 0 to 5.
//
//   - v3 static members, v4 flexible, v5 the protocol's type and name, without which
//     the request is INCONSISTENT_GROUP_PROTOCOL whatever its group
//   - the answer waits for the leader's
var syncGroupAPI = api{key: 14, min: 0, max: 5, group: syncGroup}

func syncGroup(_ *groups, c *groupCall, r kmsg.Request) {
	req := r.(*kmsg.SyncGroupRequest)
	refuse := func(code int16) *kmsg.SyncGroupResponse {
		resp := kmsg.NewPtrSyncGroupResponse()
		resp.ErrorCode, resp.MemberAssignment = code, []byte{}
		return resp
	}
	switch {
	case c.h.Version >= 5 && (req.ProtocolType == nil || req.Protocol == nil):
		c.answer(refuse(kerr.InconsistentGroupProtocol.Code))
		return
	case req.Group == "":
		c.answer(refuse(kerr.InvalidGroupID.Code))
		return
	}
	ask(c, req.Group, func(resp *kmsg.SyncGroupResponse) { c.answer(resp) }, refuse,
		func(m *group.Machine, s *coordinator.Step, reply func(*kmsg.SyncGroupResponse, error)) {
			m.SyncGroup(s, req, reply)
		})
}
