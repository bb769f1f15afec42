package group

import (
	"bytes"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"ringmain/coordinator"
)

// newMemberJoinMs bounds how long a member that was never in a generation may wait
// in JoinGroup. It sends no heartbeats yet, and a client that went away and came
// back as another member would stay for ever. It is Kafka's, and no key there.
const newMemberJoinMs = 5 * 60 * 1000

// classicMember is one member of a classic group.
type classicMember struct {
	id                 string
	instance           *string // nil: a dynamic member
	clientID           string
	clientHost         string
	rebalanceTimeoutMs int32
	sessionTimeoutMs   int32
	protocols          []kmsg.JoinGroupRequestProtocol // the one it likes best first, no name twice
	assignment         []byte

	place int // in classic.members
	// session ends the membership at endsMs, in Step.NowMs. It may be set to an earlier
	// time and is then set anew, so that a heartbeat costs no more than a store. It
	// does not run while the member waits for an answer, except newMemberJoinMs.
	session  coordinator.Deadline
	endsMs   int64
	join     *joining // nil: does not wait in JoinGroup
	sync     *syncing // nil: does not wait in SyncGroup
	entered  bool     // has been in a generation
	unsynced bool     // has not asked for its share of this generation
}

// metadata is what the member says under a protocol; ok is false if it does not
// speak it.
func (m *classicMember) metadata(protocol string) (b []byte, ok bool) {
	for i := range m.protocols {
		if m.protocols[i].Name == protocol {
			return m.protocols[i].Metadata, true
		}
	}
	return nil, false
}

// says reports whether the member's protocols are these, in this order.
func (m *classicMember) says(protocols []kmsg.JoinGroupRequestProtocol) bool {
	return slices.EqualFunc(m.protocols, protocols, func(a, b kmsg.JoinGroupRequestProtocol) bool {
		return a.Name == b.Name && bytes.Equal(a.Metadata, b.Metadata)
	})
}

// add takes in a member that is not there yet, and makes it leader if there is none.
func (c *classic) add(m *classicMember) {
	if c.byID == nil {
		c.byID, c.static, c.support = map[string]*classicMember{}, map[string]*classicMember{}, map[string]int{}
	}
	if m.session.Fire == nil {
		m.session.Fire = func(s *coordinator.Step) { c.expire(s, m) }
	}
	m.place = len(c.members)
	c.members = append(c.members, m)
	c.byID[m.id] = m
	if m.instance != nil {
		c.static[*m.instance] = m
	}
	c.count(m, 1)
	if c.leader == "" {
		c.leader = m.id
	}
}

// remove takes a member out. Who waits in one of its requests is told that the
// member is unknown.
func (c *classic) remove(s *coordinator.Step, m *classicMember) {
	c.refuseJoin(s, m, "", kerr.UnknownMemberID.Code)
	c.refuseSync(s, m, kerr.UnknownMemberID.Code)
	c.m.deadlines.Cancel(&m.session)
	c.synced(m)
	c.count(m, -1)
	last := c.members[len(c.members)-1]
	c.members[m.place], last.place = last, m.place
	c.members[len(c.members)-1] = nil
	c.members = c.members[:len(c.members)-1]
	delete(c.byID, m.id)
	if m.instance != nil {
		delete(c.static, *m.instance)
	}
	if c.leader == m.id {
		c.leader = ""
		if len(c.members) > 0 {
			c.leader = c.members[0].id
		}
	}
}

// rename gives the place of a static member to a client that came with its instance
// id. Whoever still waits under the old member id is fenced.
func (c *classic) rename(s *coordinator.Step, m *classicMember, id string) {
	c.refuseJoin(s, m, m.id, kerr.FencedInstanceID.Code)
	c.refuseSync(s, m, kerr.FencedInstanceID.Code)
	delete(c.byID, m.id)
	if c.leader == m.id {
		c.leader = id
	}
	m.id = id
	c.byID[id] = m
}

// update takes over what a JoinGroup of a member says.
func (c *classic) update(m *classicMember, req *kmsg.JoinGroupRequest) {
	c.count(m, -1)
	m.protocols = kept(req.Protocols)
	c.count(m, 1)
	m.rebalanceTimeoutMs, m.sessionTimeoutMs = req.RebalanceTimeoutMillis, req.SessionTimeoutMillis
}

// count keeps what is known of all members' protocols.
func (c *classic) count(m *classicMember, one int) {
	for i := range m.protocols {
		c.support[m.protocols[i].Name] += one
		if c.support[m.protocols[i].Name] == 0 {
			delete(c.support, m.protocols[i].Name)
		}
	}
}

// park lets a member wait in JoinGroup. A request that waited before has been sent
// again: it is told so, in case somebody still listens.
func (c *classic) park(s *coordinator.Step, m *classicMember, p *joining) {
	c.refuseJoin(s, m, m.id, kerr.RebalanceInProgress.Code)
	m.join = p
	c.parked++
	if m.entered {
		c.m.deadlines.Cancel(&m.session)
	} else {
		c.endSession(m, s.NowMs+newMemberJoinMs)
	}
}

// unpark gives the JoinGroup that waits, or nil.
func (c *classic) unpark(m *classicMember) *joining {
	p := m.join
	if p != nil {
		m.join = nil
		c.parked--
	}
	return p
}

func (c *classic) refuseJoin(s *coordinator.Step, m *classicMember, as string, code int16) {
	if p := c.unpark(m); p != nil {
		p.response.MemberID = as
		p.refuse(s, code)
	}
}

func (c *classic) refuseSync(s *coordinator.Step, m *classicMember, code int16) {
	if p := m.sync; p != nil {
		m.sync = nil
		p.refuse(s, code)
	}
}

// synced notes that nobody waits any more for the member to ask for its share.
func (c *classic) synced(m *classicMember) {
	if !m.unsynced {
		return
	}
	m.unsynced = false
	if c.unsynced--; c.unsynced == 0 {
		c.m.deadlines.Cancel(&c.phase)
	}
}

// renew begins a member's session again.
func (c *classic) renew(s *coordinator.Step, m *classicMember) {
	if m.join == nil && m.sync == nil {
		c.endSession(m, s.NowMs+int64(m.sessionTimeoutMs))
	}
}

func (c *classic) endSession(m *classicMember, atMs int64) {
	m.endsMs = atMs
	if !m.session.Set() || m.session.AtMs() > atMs {
		c.m.deadlines.Put(&m.session, atMs)
	}
}

// expire removes a member that was not heard of for a whole session.
func (c *classic) expire(s *coordinator.Step, m *classicMember) {
	if m.endsMs > s.NowMs {
		c.m.deadlines.Put(&m.session, m.endsMs)
		return
	}
	c.remove(s, m)
	c.membersLeft(s)
}
