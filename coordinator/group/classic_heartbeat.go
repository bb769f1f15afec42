package group

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"ringmain/coordinator"
)

// Heartbeat (12) renews a member's session, and tells it when to join again.
func (m *Machine) Heartbeat(s *coordinator.Step, req *kmsg.HeartbeatRequest, reply func(*kmsg.HeartbeatResponse, error)) {
	response := req.ResponseKind().(*kmsg.HeartbeatResponse)
	g := m.groups[req.Group]
	switch {
	case req.Group == "":
		response.ErrorCode = kerr.InvalidGroupID.Code
	case g == nil:
		response.ErrorCode = kerr.UnknownMemberID.Code
	case g.members.kind() == Consumer:
		m.heartbeatConsumerGroup(s, g, req, reply)
		return
	default:
		response.ErrorCode = g.members.(*classic).heartbeat(s, req)
	}
	coordinator.Answer(s, reply, response)
}

func (c *classic) heartbeat(s *coordinator.Step, req *kmsg.HeartbeatRequest) (code int16) {
	m, code := c.known(req.MemberID, req.InstanceID)
	switch {
	case code != 0:
		return code
	case req.Generation != c.generation:
		return kerr.IllegalGeneration.Code
	}
	c.renew(s, m)
	if c.current == classicPreparing {
		return kerr.RebalanceInProgress.Code
	}
	return 0
}
