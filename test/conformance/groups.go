package conformance

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"ringmain/test/peer"
)

// caller is one more connection of a script, for requests whose answers wait for others.
type caller struct {
	s *script
	*peer.Conn
	waiting kmsg.Request
}

func (s *script) caller() *caller {
	c := &caller{s: s, Conn: s.dial()}
	s.callers = append(s.callers, c)
	return c
}

// send sends a request at a version; answer receives what it is answered.
func (c *caller) send(version int16, req kmsg.Request) {
	c.s.t.Helper()
	req.SetVersion(version)
	if err := c.Send(c.Frame(req)); err != nil {
		c.s.t.Fatalf("send: %v", err)
	}
	c.waiting = req
}

func (c *caller) answer() kmsg.Response {
	c.s.t.Helper()
	b, err := c.Receive()
	var resp kmsg.Response
	if err == nil {
		resp, err = peer.Decode(c.waiting, c.Correlation(), b)
	}
	if err != nil {
		c.s.t.Fatalf("%s %s: %v", c.s.label, kmsg.NameForKey(c.waiting.Key()), err)
	}
	return resp
}

// recorded records the answer to what was sent last.
func (c *caller) recorded() kmsg.Response {
	c.s.t.Helper()
	resp := c.answer()
	c.s.record(resp, nil)
	return resp
}

// group finds the coordinator of a group and waits until it answers: a broker may make
// the offsets topic only now. The name returned is the real one.
func (s *script) group(name string) string {
	s.t.Helper()
	g := s.name(name)
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		find := kmsg.NewPtrFindCoordinatorRequest()
		find.CoordinatorKeys = []string{g}
		code := s.quiet(4, find).(*kmsg.FindCoordinatorResponse).Coordinators[0].ErrorCode
		if code == 0 {
			if code = s.described(g).ErrorCode; code == 0 {
				s.coordinated(g)
				return g
			}
		}
		if (code != 14 && code != 15 && code != 16) || time.Now().After(deadline) {
			s.t.Fatalf("the coordinator of %s is not there: error %d", g, code)
		}
	}
}

// coordinated waits until a group's coordinator knows the script's topics: Kafka's learns of
// them behind the leaders of their partitions, and epochs would depend on it.
func (s *script) coordinated(g string) {
	s.t.Helper()
	if !s.patient || len(s.made) == 0 {
		return
	}
	topics := slices.Collect(maps.Keys(s.made))
	s.until("the coordinator knows the topics", func() bool {
		resp := s.quiet(1, s.entering(g, "probe", topics...)).(*kmsg.ConsumerGroupHeartbeatResponse)
		s.quiet(1, s.leaving(g, "probe", -1))
		s.quiet(2, deleteGroups(g))
		return resp.Assignment != nil && len(resp.Assignment.Topics) == len(topics)
	})
}

// described is what DescribeGroups says of a group, unrecorded.
func (s *script) described(g string) kmsg.DescribeGroupsResponseGroup {
	req := kmsg.NewPtrDescribeGroupsRequest()
	req.Groups = []string{g}
	return s.quiet(5, req).(*kmsg.DescribeGroupsResponse).Groups[0]
}

// await waits until a classic group is in a state with so many members.
func (s *script) await(g, state string, members int) {
	s.t.Helper()
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		d := s.described(g)
		if d.State == state && len(d.Members) == members {
			return
		}
		if time.Now().After(deadline) {
			s.t.Fatalf("group %s is %s with %d members, not %s with %d", g, d.State, len(d.Members), state, members)
		}
	}
}

// subscription is the metadata of Java's consumers, version 1, for topics.
func subscription(topics ...string) []byte {
	m := kmsg.NewConsumerMemberMetadata()
	m.Version, m.Topics = 1, topics
	return m.AppendTo(nil)
}

// join makes a JoinGroup request of the kind "consumer" with the protocol range.
func (s *script) join(g, member string) *kmsg.JoinGroupRequest {
	req := kmsg.NewPtrJoinGroupRequest()
	req.Group, req.MemberID, req.ProtocolType = g, member, "consumer"
	req.SessionTimeoutMillis, req.RebalanceTimeoutMillis = 60_000, 60_000
	req.Protocols = []kmsg.JoinGroupRequestProtocol{protocol("range", subscription(s.name("a")))}
	return req
}

func protocol(name string, metadata []byte) kmsg.JoinGroupRequestProtocol {
	p := kmsg.NewJoinGroupRequestProtocol()
	p.Name, p.Metadata = name, metadata
	return p
}

// static gives a join an instance id.
func static(req *kmsg.JoinGroupRequest, instance string) *kmsg.JoinGroupRequest {
	req.InstanceID = &instance
	return req
}

// sync makes a SyncGroup request; assignments are pairs of member id and assignment.
func (s *script) sync(g, member string, generation int32, assignments ...string) *kmsg.SyncGroupRequest {
	req := kmsg.NewPtrSyncGroupRequest()
	req.Group, req.MemberID, req.Generation = g, member, generation
	req.ProtocolType, req.Protocol = ptr("consumer"), ptr("range")
	for i := 0; i < len(assignments); i += 2 {
		a := kmsg.NewSyncGroupRequestGroupAssignment()
		a.MemberID, a.MemberAssignment = assignments[i], []byte(assignments[i+1])
		req.GroupAssignment = append(req.GroupAssignment, a)
	}
	return req
}

func (s *script) heartbeat(g, member string, generation int32) *kmsg.HeartbeatRequest {
	req := kmsg.NewPtrHeartbeatRequest()
	req.Group, req.MemberID, req.Generation = g, member, generation
	return req
}

// leave makes a LeaveGroup request: of member before version 3, of members since.
func (s *script) leave(g, member string, members ...kmsg.LeaveGroupRequestMember) *kmsg.LeaveGroupRequest {
	req := kmsg.NewPtrLeaveGroupRequest()
	req.Group, req.MemberID, req.Members = g, member, members
	if members == nil {
		req.Members = []kmsg.LeaveGroupRequestMember{leaver(member, "")}
	}
	return req
}

// leaver is one member of LeaveGroup; an empty instance stands for none.
func leaver(member, instance string) kmsg.LeaveGroupRequestMember {
	m := kmsg.NewLeaveGroupRequestMember()
	m.MemberID, m.Reason = member, ptr("for the test")
	if instance != "" {
		m.InstanceID = &instance
	}
	return m
}

// offset is one partition of a commit.
type offset struct {
	topic     string // the script's name
	partition int32
	at        int64
	metadata  string
}

// commit makes an OffsetCommit request from outside of any generation.
func (s *script) commit(g string, offsets ...offset) *kmsg.OffsetCommitRequest {
	req := kmsg.NewPtrOffsetCommitRequest()
	req.Group, req.Generation, req.RetentionTimeMillis = g, -1, -1
	for i, o := range offsets {
		if i == 0 || offsets[i-1].topic != o.topic {
			t := kmsg.NewOffsetCommitRequestTopic()
			t.Topic, t.TopicID = s.name(o.topic), s.id(o.topic)
			req.Topics = append(req.Topics, t)
		}
		p := kmsg.NewOffsetCommitRequestTopicPartition()
		p.Partition, p.Offset, p.Metadata = o.partition, o.at, &o.metadata
		t := &req.Topics[len(req.Topics)-1]
		t.Partitions = append(t.Partitions, p)
	}
	return req
}

// committing is commit by a member.
func (s *script) committing(g, member string, generation int32, offsets ...offset) *kmsg.OffsetCommitRequest {
	req := s.commit(g, offsets...)
	req.MemberID, req.Generation = member, generation
	return req
}

// some is one partition of an OffsetFetch request.
type some struct {
	topic     string
	partition int32
}

// fetchOffsets makes an OffsetFetch request for one group, in both forms. Without
// partitions it asks for all.
func (s *script) fetchOffsets(g string, partitions ...some) *kmsg.OffsetFetchRequest {
	req := kmsg.NewPtrOffsetFetchRequest()
	group := kmsg.NewOffsetFetchRequestGroup()
	req.Group, group.Group = g, g
	for i, p := range partitions {
		if i == 0 || partitions[i-1].topic != p.topic {
			old, now := kmsg.NewOffsetFetchRequestTopic(), kmsg.NewOffsetFetchRequestGroupTopic()
			old.Topic, now.Topic, now.TopicID = s.name(p.topic), s.name(p.topic), s.id(p.topic)
			req.Topics, group.Topics = append(req.Topics, old), append(group.Topics, now)
		}
		old, now := &req.Topics[len(req.Topics)-1], &group.Topics[len(group.Topics)-1]
		old.Partitions, now.Partitions = append(old.Partitions, p.partition), append(now.Partitions, p.partition)
	}
	req.Groups = append(req.Groups, group)
	return req
}

// kept records what a group has committed, at one fixed version.
func (s *script) kept(g string) {
	s.t.Helper()
	s.step("what is committed").askAt(8, s.fetchOffsets(g))
}

// classicMember is a member that joined outside of the record.
type classicMember struct {
	*caller
	id, instance string
	generation   int32
}

// stable makes a classic group of so many members, the first of them its leader, all
// synced; the assignment of each is its rank.
func (s *script) stable(g string, members int, change ...func(i int, req *kmsg.JoinGroupRequest)) []*classicMember {
	s.t.Helper()
	all := s.completing(g, members, change...)
	s.synced(g, all)
	return all
}

// synced makes the leader assign and all others take their assignment.
func (s *script) synced(g string, all []*classicMember) {
	s.t.Helper()
	var assignments []string
	for i, m := range all {
		assignments = append(assignments, m.id, fmt.Sprint("assignment ", i))
	}
	for i, m := range all {
		req := s.sync(g, m.id, m.generation)
		if i == 0 {
			req = s.sync(g, m.id, m.generation, assignments...)
		}
		req.ProtocolType, req.Protocol = nil, nil
		m.send(4, req)
		if code := m.answer().(*kmsg.SyncGroupResponse).ErrorCode; code != 0 {
			s.t.Fatalf("SyncGroup of member %d: error %d", i, code)
		}
	}
}

// completing is stable before anybody has synced.
func (s *script) completing(g string, members int, change ...func(i int, req *kmsg.JoinGroupRequest)) []*classicMember {
	s.t.Helper()
	var all []*classicMember
	request := func(i int, id string) *kmsg.JoinGroupRequest {
		req := s.join(g, id)
		for _, c := range change {
			c(i, req)
		}
		return req
	}
	take := func(m *classicMember) {
		resp := m.answer().(*kmsg.JoinGroupResponse)
		if resp.ErrorCode != 0 {
			s.t.Fatalf("JoinGroup: error %d", resp.ErrorCode)
		}
		m.id, m.generation = resp.MemberID, resp.Generation
	}
	version := func(req *kmsg.JoinGroupRequest) int16 {
		if req.InstanceID != nil {
			return 5
		}
		return 3 // admits a member without an id
	}
	for i := range members {
		m := &classicMember{caller: s.caller()}
		req := request(i, "")
		if req.InstanceID != nil {
			m.instance = *req.InstanceID
		}
		m.send(version(req), req)
		if i == 0 {
			take(m)
			s.maskID(m.id)
		}
		all = append(all, m)
	}
	if members > 1 {
		s.await(g, "PreparingRebalance", members)
		first := all[0]
		req := request(0, first.id)
		first.send(version(req), req)
		for _, m := range all {
			take(m)
			s.maskID(m.id)
		}
	}
	return all
}
