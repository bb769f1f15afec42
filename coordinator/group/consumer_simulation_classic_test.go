package group

import (
	"maps"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"ringmain/coordinator"
)

// joinClassic is a JoinGroup of a classic client. Its messages are not late, but may
// be lost.
func (sim *simulation) joinClassic(c *simClient, chaos bool) {
	if c.eager {
		c.owned = map[topicPartition]bool{}
	}
	v := kmsg.NewConsumerMemberMetadata()
	v.Topics = c.topics
	if !c.eager {
		v.Version = 3
		for tp := range c.owned {
			if topic := sim.img.TopicByID(tp.topic); topic == nil {
				delete(c.owned, tp) // has no name any more
			} else {
				v.OwnedPartitions = append(v.OwnedPartitions, kmsg.ConsumerMemberMetadataOwnedPartition{Topic: topic.Name, Partitions: []int32{tp.partition}})
			}
		}
	}
	req := kmsg.NewPtrJoinGroupRequest()
	req.Version, req.Group, req.MemberID, req.ProtocolType = 9, sim.group, c.id, consumerProtocolType
	req.SessionTimeoutMillis, req.RebalanceTimeoutMillis = 20_000, 30_000
	req.InstanceID = c.instanceID()
	req.Protocols = []kmsg.JoinGroupRequestProtocol{{Name: "cooperative-sticky", Metadata: v.AppendTo(nil)}}
	if sim.members() == nil || len(sim.members().members) == 0 {
		c.beatMs = sim.nowMs + 1000 // it would be a classic group
		return
	}
	r, lost := classicExchange(sim, chaos, func(s *coordinator.Step, reply func(*kmsg.JoinGroupResponse, error)) {
		sim.m.JoinGroup(s, req, testClient, reply)
	})
	switch {
	case lost:
		c.beatMs = sim.nowMs + 1000
	case r.ErrorCode == kerr.MemberIDRequired.Code:
		c.id, c.beatMs = r.MemberID, sim.nowMs
	case r.ErrorCode == kerr.GroupMaxSizeReached.Code:
		c.beatMs = sim.nowMs + 1000
	case sim.refusedClassic(c, r.ErrorCode):
	default:
		c.id = r.MemberID
		c.epoch, c.next, c.beatMs = r.Generation, (*simulation).syncClassic, sim.nowMs+sim.rng.Int64N(2000)
	}
}

func (sim *simulation) syncClassic(c *simClient, chaos bool) {
	req := kmsg.NewPtrSyncGroupRequest()
	req.Version, req.Group, req.MemberID, req.Generation, req.InstanceID = 3, sim.group, c.id, c.epoch, c.instanceID()
	r, lost := classicExchange(sim, chaos, func(s *coordinator.Step, reply func(*kmsg.SyncGroupResponse, error)) {
		sim.m.SyncGroup(s, req, reply)
	})
	if lost || sim.refusedClassic(c, r.ErrorCode) {
		return
	}
	v := kmsg.NewConsumerMemberAssignment()
	if err := v.ReadFrom(r.MemberAssignment); err != nil {
		sim.failf("%v", err)
	}
	c.assigned = map[topicPartition]bool{}
	for _, topic := range v.Topics {
		for _, p := range topic.Partitions {
			c.assigned[topicPartition{sim.img.Topic(topic.Topic).ID, p}] = true
		}
	}
	c.next, c.beatMs = (*simulation).beatClassic, sim.nowMs+3000
	for tp := range c.owned {
		if !c.assigned[tp] { // says that it gave it up
			c.next, c.beatMs = (*simulation).joinClassic, sim.nowMs
		}
	}
	c.owned = maps.Clone(c.assigned)
}

func (sim *simulation) beatClassic(c *simClient, chaos bool) {
	req := kmsg.NewPtrHeartbeatRequest()
	req.Version, req.Group, req.MemberID, req.Generation, req.InstanceID = 4, sim.group, c.id, c.epoch, c.instanceID()
	r, lost := classicExchange(sim, chaos, func(s *coordinator.Step, reply func(*kmsg.HeartbeatResponse, error)) {
		sim.m.Heartbeat(s, req, reply)
	})
	c.beatMs = sim.nowMs + 3000
	if !lost {
		sim.refusedClassic(c, r.ErrorCode)
	}
}

func (sim *simulation) leaveClassic(c *simClient) {
	c.gone, c.owned = true, nil
	req := kmsg.NewPtrLeaveGroupRequest()
	req.Version, req.Group, req.Members = 5, sim.group, []kmsg.LeaveGroupRequestMember{{MemberID: c.id, InstanceID: c.instanceID()}}
	classicExchange(sim, false, func(s *coordinator.Step, reply func(*kmsg.LeaveGroupResponse, error)) {
		sim.m.LeaveGroup(s, req, reply)
	})
}

// refusedClassic lets a client that is told to do so join again.
func (sim *simulation) refusedClassic(c *simClient, code int16) bool {
	switch code {
	case 0:
		return false
	case kerr.RebalanceInProgress.Code:
	case kerr.IllegalGeneration.Code:
		c.owned = map[topicPartition]bool{}
	case kerr.UnknownMemberID.Code:
		c.forget()
	case kerr.FencedInstanceID.Code:
		c.gone, c.owned = true, nil
		return true
	default:
		sim.failf("a classic member got %d", code)
	}
	c.next, c.beatMs = (*simulation).joinClassic, sim.nowMs
	return true
}

// forget makes a classic client one that was never a member.
func (c *simClient) forget() { c.id, c.epoch, c.owned = "", 0, map[topicPartition]bool{} }

// classicExchange asks and gives the answer at once, unless one of the two is lost.
func classicExchange[R any](sim *simulation, chaos bool, to func(s *coordinator.Step, reply func(R, error))) (r R, lost bool) {
	if chaos && sim.one(8) {
		return r, true
	}
	r = ask(sim.harness, to).got()
	sim.check()
	return r, chaos && sim.one(8)
}
