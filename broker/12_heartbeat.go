package broker

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"ringmain/coordinator"
	"ringmain/coordinator/group"
)

// Heartbeat, versions 0 to 4.
//
//   - v3 static members, v4 flexible
//   - while the group is being loaded everybody is alive, as in Kafka
var heartbeatAPI = api{key: 12, min: 0, max: 4, group: heartbeat}

func heartbeat(_ *groups, c *groupCall, r kmsg.Request) {
	req := r.(*kmsg.HeartbeatRequest)
	refuse := func(code int16) *kmsg.HeartbeatResponse {
		resp := kmsg.NewPtrHeartbeatResponse()
		if code != kerr.CoordinatorLoadInProgress.Code {
			resp.ErrorCode = code
		}
		return resp
	}
	if req.Group == "" {
		c.answer(refuse(kerr.InvalidGroupID.Code))
		return
	}
	ask(c, req.Group, func(resp *kmsg.HeartbeatResponse) { c.answer(resp) }, refuse,
		func(m *group.Machine, s *coordinator.Step, reply func(*kmsg.HeartbeatResponse, error)) {
			m.Heartbeat(s, req, reply)
		})
}
