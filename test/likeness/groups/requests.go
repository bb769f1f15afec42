package groups

import (
	"fmt"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// step is one thing that happens, chosen at random.
func (s *sequence) step(seed uint64) {
	steps := []struct {
		weight int
		run    func(*client)
	}{
		{16, s.newMember}, {10, s.returning}, {24, s.again}, {26, s.generation}, {8, s.oddSync}, {8, s.heartbeat}, {8, s.leave},
		{12, s.commit}, {6, s.fetch}, {4, s.offsetDelete}, {3, s.describeGroups}, {3, s.list}, {2, s.deleteGroups}, {2, s.find}, {2, s.hangUpOne},
	}
	total := 0
	for _, x := range steps {
		total += x.weight
	}
	n := s.random.IntN(total)
	for _, x := range steps {
		if n -= x.weight; n < 0 {
			c := s.newClient(fmt.Sprintf("c%x", seed&0xffff))
			x.run(c)
			if c.asked == nil { // it had nothing to ask, or was answered
				s.hangUp(c)
			}
			return
		}
	}
}

func (s *sequence) oneIn(n int) bool { return s.random.IntN(n) == 0 }

// pick takes one of several.
func pick[T any](s *sequence, of ...T) T { return of[s.random.IntN(len(of))] }

func version(s *sequence, from, to int16) int16 { return from + int16(s.random.IntN(int(to-from)+1)) }

// metadata is what a member says under a protocol, as a consumer would or not.
func (s *sequence) metadata() []byte {
	switch s.random.IntN(10) {
	case 0:
		return nil
	case 1:
		return []byte("no subscription")
	}
	m := kmsg.NewConsumerMemberMetadata()
	m.Version, m.Topics = version(s, 0, 3), []string{pick(s, "likeness-a", "likeness-a", "likeness-b", "likeness-none")}
	m.OwnedPartitions = []kmsg.ConsumerMemberMetadataOwnedPartition{{Topic: m.Topics[0], Partitions: []int32{0}}}
	return m.AppendTo(nil)
}

func (s *sequence) protocols() (list []kmsg.JoinGroupRequestProtocol) {
	for _, name := range strings.Fields(pick(s, "range", "range", "range sticky", "sticky range", "cooperative-sticky range", "range roundrobin sticky", "roundrobin")) {
		list = append(list, kmsg.JoinGroupRequestProtocol{Name: name, Metadata: s.metadata()})
	}
	return list
}

// tenMinutes is a session that does not end while a sequence runs.
const tenMinutes = 600_000

func (s *sequence) join(c *client, m *member, change func(*kmsg.JoinGroupRequest)) {
	req := kmsg.NewPtrJoinGroupRequest()
	req.Group, req.MemberID, req.InstanceID, req.ProtocolType, req.Protocols = s.groups[m.group], m.id, m.instance, m.kind, m.protocols
	req.SessionTimeoutMillis, req.RebalanceTimeoutMillis = tenMinutes, tenMinutes
	req.Version = version(s, 0, 9)
	change(req)
	c.member = m
	s.exchange(c, req)
}

func (s *sequence) newMember(c *client) {
	g := s.someGroup()
	m := &member{group: g, kind: s.kinds[g], protocols: s.protocols()}
	s.join(c, m, func(req *kmsg.JoinGroupRequest) {
		switch s.random.IntN(40) {
		case 0:
			req.ProtocolType = ""
		case 1:
			req.ProtocolType = "other"
		case 2:
			req.Protocols = nil
		case 3:
			req.SessionTimeoutMillis = pick[int32](s, -1, 0, 5999, 1_800_001)
		case 4:
			req.Group = ""
		}
	})
}

// returning is a static member that comes, or comes back, without a member id.
func (s *sequence) returning(c *client) {
	g, instance := s.someGroup(), pick(s, "one", "two", "three")
	m := s.holder(g, instance)
	if m == nil {
		m = &member{group: g, instance: &instance, kind: s.kinds[g], protocols: s.protocols()}
	} else if s.waits(m) {
		return
	}
	if s.oneIn(3) {
		m.protocols = s.protocols()
	}
	s.join(c, m, func(req *kmsg.JoinGroupRequest) { req.MemberID, req.Version = "", version(s, 5, 9) })
}

// again is a member that joins with the id that it was given.
func (s *sequence) again(c *client) {
	m := s.someone()
	if m == nil || s.waits(m) {
		return
	}
	if s.oneIn(3) {
		m.protocols = s.protocols()
	}
	s.join(c, m, func(req *kmsg.JoinGroupRequest) {
		req.InstanceID = s.instance(m)
		if m.instance != nil {
			req.Version = version(s, 5, 9)
		}
		switch s.random.IntN(40) {
		case 0:
			req.MemberID = "somebody"
		case 1:
			req.ProtocolType = "other"
		case 2:
			req.Protocols = nil
		case 3:
			req.Group = s.groups[1-m.group]
		}
	})
}

// instance is the member's, or now and then another one or none.
func (s *sequence) instance(m *member) *string {
	if s.oneIn(12) {
		return pick(s, nil, kmsg.StringPtr("one"), kmsg.StringPtr("two"), kmsg.StringPtr(""))
	}
	return m.instance
}

// now is the member's generation, or now and then another one.
func (s *sequence) now(m *member) int32 {
	if s.oneIn(8) {
		return pick(s, -1, 0, m.generation+1, m.generation-1)
	}
	return m.generation
}

// generation lets those members of a group sync that are in its newest generation.
func (s *sequence) generation(c *client) {
	g := s.someGroup()
	var newest int32
	for _, m := range s.members {
		if m.group == g {
			newest = max(newest, m.generation)
		}
	}
	ids := map[string]bool{}
	for _, i := range s.random.Perm(len(s.members)) {
		m := s.members[i]
		if s.over() || m.group != g || m.generation != newest || newest == 0 || ids[m.id] || s.waits(m) || s.oneIn(6) {
			continue
		}
		ids[m.id] = true
		s.sync(s.newClient(fmt.Sprint(c.name, "-", i)), m, func(*kmsg.SyncGroupRequest) {})
	}
}

func (s *sequence) sync(c *client, m *member, change func(*kmsg.SyncGroupRequest)) {
	req := kmsg.NewPtrSyncGroupRequest()
	req.Version = version(s, 0, 5)
	req.Group, req.MemberID, req.InstanceID, req.Generation = s.groups[m.group], m.id, m.instance, m.generation
	req.ProtocolType, req.Protocol = &m.kind, &m.protocol
	for _, id := range m.others {
		if s.oneIn(8) {
			continue // left out
		}
		a := kmsg.SyncGroupRequestGroupAssignment{MemberID: id, MemberAssignment: fmt.Appendf(nil, "share %d", s.random.IntN(1000))}
		req.GroupAssignment = append(req.GroupAssignment, a)
		if s.oneIn(15) {
			a.MemberAssignment = []byte("again")
			req.GroupAssignment = append(req.GroupAssignment, a)
		}
	}
	if m.leads && s.oneIn(10) {
		req.GroupAssignment = append(req.GroupAssignment, kmsg.SyncGroupRequestGroupAssignment{MemberID: "somebody", MemberAssignment: []byte("x")})
	}
	change(req)
	c.member = m
	s.exchange(c, req)
}

// oddSync is one that may be wrong in every field.
func (s *sequence) oddSync(c *client) {
	m := s.someone()
	if m == nil || s.waits(m) {
		return
	}
	s.sync(c, m, func(req *kmsg.SyncGroupRequest) {
		req.InstanceID, req.Generation = s.instance(m), s.now(m)
		switch s.random.IntN(16) {
		case 0:
			req.ProtocolType = kmsg.StringPtr("other")
		case 1:
			req.ProtocolType = nil
		case 2:
			req.Protocol = kmsg.StringPtr("other")
		case 3:
			req.Protocol = nil
		case 4:
			req.MemberID = pick(s, "", "somebody")
		case 5:
			req.Group = pick(s, "", s.otherGroup())
		}
	})
}

// someGroup is the first of the groups, and now and then the second, so that one has many
// members.
func (s *sequence) someGroup() int { return pick(s, 0, 0, 0, 1) }

// otherGroup is none of the sequence's, and nobody's before.
func (s *sequence) otherGroup() string {
	return fmt.Sprintf("likeness-other-%d-%d", s.pair.runs.Load(), s.random.Uint64())
}

func (s *sequence) heartbeat(c *client) {
	m := s.someone()
	if m == nil {
		m = &member{id: "somebody"}
	}
	req := kmsg.NewPtrHeartbeatRequest()
	req.Version = version(s, 0, 4)
	req.Group, req.MemberID, req.InstanceID, req.Generation = s.groups[m.group], m.id, s.instance(m), s.now(m)
	if s.oneIn(12) {
		req.MemberID = pick(s, "", "somebody")
	}
	if s.oneIn(20) {
		req.Group = pick(s, "", s.otherGroup())
	}
	s.exchange(c, req)
}

func (s *sequence) leave(c *client) {
	m := s.someone()
	if m == nil || m.pending {
		return
	}
	req := kmsg.NewPtrLeaveGroupRequest()
	req.Version = version(s, 0, 5)
	req.Group, req.MemberID = s.groups[m.group], m.id
	for range pick(s, 1, 1, 1, 0, 2, 3) {
		who := kmsg.LeaveGroupRequestMember{MemberID: m.id, InstanceID: s.instance(m)}
		if who.InstanceID != nil && s.oneIn(2) {
			who.MemberID = ""
		}
		if s.oneIn(15) {
			who.MemberID = "somebody"
		}
		req.Members = append(req.Members, who)
		if next := s.someone(); !next.pending {
			m = next
		}
	}
	s.exchange(c, req)
}

func (s *sequence) describeGroups(c *client) {
	req := kmsg.NewPtrDescribeGroupsRequest()
	req.Version, req.IncludeAuthorizedOperations = version(s, 0, 6), s.oneIn(3)
	for range s.random.IntN(4) {
		req.Groups = append(req.Groups, pick(s, s.groups[0], s.groups[1], s.otherGroup()))
	}
	s.exchange(c, req)
}

func (s *sequence) list(c *client) {
	req := kmsg.NewPtrListGroupsRequest()
	req.Version = version(s, 0, 5)
	for range s.random.IntN(3) {
		req.StatesFilter = append(req.StatesFilter, pick(s, "Stable", "stable", "EMPTY", "Dead", "PreparingRebalance", "completingrebalance", " Stable", "", "none"))
	}
	for range s.random.IntN(3) {
		req.TypesFilter = append(req.TypesFilter, pick(s, "classic", "Classic", "CONSUMER", "share", "", "none", " classic"))
	}
	s.exchange(c, req)
}

func (s *sequence) deleteGroups(c *client) {
	req := kmsg.NewPtrDeleteGroupsRequest()
	req.Version = version(s, 0, 3)
	for range s.random.IntN(4) {
		req.Groups = append(req.Groups, pick(s, s.groups[0], s.groups[1], s.otherGroup()))
	}
	s.exchange(c, req)
	for g := range s.groups { // one that was deleted is there again; others refuse it
		if !s.over() {
			s.exchange(s.admin, s.commitAs(g, "", -1, nil, 0))
		}
	}
}

func (s *sequence) find(c *client) {
	req := kmsg.NewPtrFindCoordinatorRequest()
	req.Version, req.CoordinatorType = version(s, 0, 6), pick[int8](s, 0, 0, 0, 3, -1)
	req.CoordinatorKey = pick(s, s.groups[0], s.otherGroup())
	for range s.random.IntN(4) {
		req.CoordinatorKeys = append(req.CoordinatorKeys, pick(s, s.groups[0], s.groups[1], s.otherGroup()))
	}
	s.exchange(c, req)
}

// hangUpOne closes the connection of a client that waits. Its member is not told of.
func (s *sequence) hangUpOne(*client) {
	for _, c := range s.clients {
		if c.asked != nil && s.oneIn(2) {
			s.note("  %s hangs up", c.name)
			s.hangUp(c)
			return
		}
	}
}
