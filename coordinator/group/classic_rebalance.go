package group

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"ringmain/coordinator"
)

// initialDelay is the patience of a rebalance that began in Empty: each time that it
// has waited and somebody new has joined meanwhile it waits again, up to the largest
// rebalance timeout.
type initialDelay struct {
	waitMs      int64 // how long it waits now
	remainingMs int64 // how long it may wait after that
	joined      bool  // somebody joined while it waited
}

// rebalance asks all members to join again.
func (c *classic) rebalance(s *coordinator.Step) {
	fromEmpty, fromCompleting := c.current == classicEmpty, c.current == classicCompleting
	for _, m := range c.members {
		m.unsynced = false
		if fromCompleting {
			m.assignment = nil
		}
		if m.sync != nil {
			c.refuseSync(s, m, kerr.RebalanceInProgress.Code)
			c.renew(s, m)
		}
	}
	c.unsynced = 0
	c.enter(s, classicPreparing)
	c.initial = nil
	if fromEmpty {
		delay := int64(c.m.cfg.InitialRebalanceDelayMs)
		c.initial = &initialDelay{waitMs: delay, remainingMs: max(c.rebalanceTimeoutMs()-delay, 0)}
		c.m.deadlines.Put(&c.phase, s.NowMs+delay)
		return
	}
	c.m.deadlines.Put(&c.phase, s.NowMs+c.rebalanceTimeoutMs())
	c.completeIfJoined(s)
}

// rebalanceTimeoutMs is the largest of the members'.
func (c *classic) rebalanceTimeoutMs() int64 {
	var most int32
	for _, m := range c.members {
		most = max(most, m.rebalanceTimeoutMs)
	}
	return int64(most)
}

// membersLeft goes on after members were removed.
func (c *classic) membersLeft(s *coordinator.Step) {
	switch c.current {
	case classicCompleting, classicStable:
		c.rebalance(s)
	case classicPreparing:
		c.completeIfJoined(s)
	}
}

// completeIfJoined begins the next generation if nobody is missing. The initial
// delay is waited for all the same: who is missing is not known then.
func (c *classic) completeIfJoined(s *coordinator.Step) {
	if c.current == classicPreparing && c.initial == nil && c.parked == len(c.members) && len(c.pending) == 0 {
		c.nextGeneration(s)
	}
}

// endPhase is called when the time to join, or to ask for one's share, is over.
func (c *classic) endPhase(s *coordinator.Step) {
	switch d := c.initial; {
	case c.current != classicPreparing:
		c.removeUnsynced(s)
	case d != nil && d.joined && d.remainingMs > 0:
		waited := d.waitMs
		*d = initialDelay{
			waitMs:      min(int64(c.m.cfg.InitialRebalanceDelayMs), d.remainingMs),
			remainingMs: max(d.remainingMs-waited, 0),
		}
		c.m.deadlines.Put(&c.phase, s.NowMs+d.waitMs)
	default:
		c.nextGeneration(s)
	}
}

// removeUnsynced removes the members that did not ask for their share in time.
// Others may have come too late because of them, so all join again.
func (c *classic) removeUnsynced(s *coordinator.Step) {
	c.removeAll(s, func(m *classicMember) bool { return m.unsynced })
	c.rebalance(s)
}

func (c *classic) removeAll(s *coordinator.Step, which func(*classicMember) bool) {
	for i := len(c.members) - 1; i >= 0; i-- { // remove puts the last one in the place
		if m := c.members[i]; which(m) {
			c.remove(s, m)
		}
	}
}

// nextGeneration ends the joining: with those who have joined, and with the static
// members, who keep their place until their session ends.
func (c *classic) nextGeneration(s *coordinator.Step) {
	c.m.deadlines.Cancel(&c.phase)
	c.initial = nil
	c.removeAll(s, func(m *classicMember) bool { return m.join == nil && m.instance == nil })
	if len(c.members) == 0 {
		c.generation++
		c.protocol = nil
		c.topics = c.subscriptions()
		c.enter(s, classicEmpty)
		c.persist(s, nil)
		return
	}
	if !c.elect() {
		// Only static members, and none of them has come: their sessions decide.
		c.m.deadlines.Put(&c.phase, s.NowMs+c.rebalanceTimeoutMs())
		return
	}
	c.generation++
	protocol := c.selectProtocol()
	c.protocol = &protocol
	c.topics = c.subscriptions()
	c.enter(s, classicCompleting)
	c.unsynced = len(c.members)
	for _, m := range c.members {
		m.unsynced, m.entered = true, true
		if p := c.unpark(m); p != nil {
			c.admit(p.response, m)
			p.answer(s)
		}
		c.renew(s, m)
	}
	c.m.deadlines.Put(&c.phase, s.NowMs+c.rebalanceTimeoutMs())
}

// elect keeps the leader if it has joined, else takes another one that has; ok is
// false if nobody has.
func (c *classic) elect() (ok bool) {
	if leader := c.byID[c.leader]; leader != nil && leader.join != nil {
		return true
	}
	for _, m := range c.members {
		if m.join != nil {
			c.leader = m.id
			return true
		}
	}
	return false
}

// selectProtocol lets each member vote for the one it likes best of those that all
// speak. Between equals the leader's order decides, so that the choice does not
// depend on who asks.
func (c *classic) selectProtocol() string {
	votes := map[string]int{}
	for _, m := range c.members {
		for i := range m.protocols {
			if name := m.protocols[i].Name; c.support[name] == len(c.members) {
				votes[name]++
				break
			}
		}
	}
	var best string
	most := -1
	for _, p := range c.byID[c.leader].protocols {
		if c.support[p.Name] == len(c.members) && votes[p.Name] > most {
			best, most = p.Name, votes[p.Name]
		}
	}
	return best
}

// admit fills in the answer to a member that is in the current generation.
func (c *classic) admit(r *kmsg.JoinGroupResponse, m *classicMember) {
	r.MemberID, r.LeaderID = m.id, c.leader
	r.Generation = c.generation
	r.ProtocolType, r.Protocol = kmsg.StringPtr(c.typ), c.protocol
	if m.id == c.leader {
		r.Members = c.joined()
	}
}

// joined is what the leader is told of the members.
func (c *classic) joined() []kmsg.JoinGroupResponseMember {
	all := make([]kmsg.JoinGroupResponseMember, len(c.members))
	for i, m := range c.members {
		all[i].MemberID, all[i].InstanceID = m.id, m.instance
		all[i].ProtocolMetadata, _ = m.metadata(*c.protocol)
	}
	return all
}
