package group

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"ringmain/coordinator"
)

// leave removes the member. A static one that leaves for a while keeps its place, and
// its session goes on: if it is not back by then it is removed.
func (c *consumer) leave(s *coordinator.Step, req *kmsg.ConsumerGroupHeartbeatRequest,
	response *kmsg.ConsumerGroupHeartbeatResponse) *refusal {
	m, r := c.known(req.MemberID, req.InstanceID)
	if r != nil {
		return r
	}
	response.MemberID, response.MemberEpoch = &m.id, req.MemberEpoch
	if req.MemberEpoch == leftForAWhile {
		c.leaveForAWhile(s, m)
		return nil
	}
	c.fence(s, m)
	return nil
}

// leaveForAWhile lets whoever comes back with the instance id commit in the name of
// any epoch: its partitions are its own for as long as it is away.
func (c *consumer) leaveForAWhile(s *coordinator.Step, m *consumerMember) {
	kept := make(partitions, len(m.assigned))
	for tp := range m.assigned {
		kept[tp] = 0
	}
	c.setCurrent(s, m.id, currentAssignment{epoch: leftForAWhile, previous: m.previous, state: m.state, assigned: kept})
	c.m.deadlines.Cancel(&m.rebalance)
}
