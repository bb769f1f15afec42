package broker

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"ringmain/coordinator"
	"ringmain/coordinator/group"
)

// ConsumerGroupHeartbeat, versions 0 and 1 (KIP-848).
//
//   - v1 regular expressions, and the client makes its member id
//   - UNSUPPORTED_VERSION where group.version is 0 or the protocol is not configured
var consumerGroupHeartbeatAPI = api{key: 68, min: 0, max: 1, group: consumerGroupHeartbeat}

func consumerGroupHeartbeat(g *groups, c *groupCall, r kmsg.Request) {
	req := r.(*kmsg.ConsumerGroupHeartbeatRequest)
	refuse := func(code int16) *kmsg.ConsumerGroupHeartbeatResponse {
		resp := kmsg.NewPtrConsumerGroupHeartbeatResponse()
		resp.ErrorCode = code
		return resp
	}
	if !g.consumerProtocol() {
		c.answer(refuse(kerr.UnsupportedVersion.Code))
		return
	}
	ask(c, req.Group, func(resp *kmsg.ConsumerGroupHeartbeatResponse) { c.answer(resp) }, refuse,
		func(m *group.Machine, s *coordinator.Step, reply func(*kmsg.ConsumerGroupHeartbeatResponse, error)) {
			m.ConsumerGroupHeartbeat(s, req, c.client, reply)
		})
}
