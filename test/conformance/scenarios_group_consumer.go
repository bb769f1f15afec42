package conformance

import (
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// entering makes a ConsumerGroupHeartbeat with which a member joins: its own id, topics of the script's names.
func (s *script) entering(g, member string, topics ...string) *kmsg.ConsumerGroupHeartbeatRequest {
	req := kmsg.NewPtrConsumerGroupHeartbeatRequest()
	req.Group, req.MemberID, req.MemberEpoch = g, member, 0
	req.RebalanceTimeoutMillis = 60_000
	req.SubscribedTopicNames = []string{}
	for _, t := range topics {
		req.SubscribedTopicNames = append(req.SubscribedTopicNames, s.name(t))
	}
	req.Topics = []kmsg.ConsumerGroupHeartbeatRequestTopic{}
	return req
}

// beating makes the heartbeat of a member that has nothing to tell.
func (s *script) beating(g, member string, epoch int32) *kmsg.ConsumerGroupHeartbeatRequest {
	req := kmsg.NewPtrConsumerGroupHeartbeatRequest()
	req.Group, req.MemberID, req.MemberEpoch = g, member, epoch
	req.RebalanceTimeoutMillis = -1
	return req
}

// leaving is beating with the epoch of a member that leaves: -1, or -2 for a while.
func (s *script) leaving(g, member string, epoch int32) *kmsg.ConsumerGroupHeartbeatRequest {
	return s.beating(g, member, epoch)
}

// owning gives a heartbeat the partitions that the member owns of one topic.
func (s *script) owning(req *kmsg.ConsumerGroupHeartbeatRequest, topic string, partitions ...int32) *kmsg.ConsumerGroupHeartbeatRequest {
	req.Topics = []kmsg.ConsumerGroupHeartbeatRequestTopic{}
	if len(partitions) > 0 {
		t := kmsg.NewConsumerGroupHeartbeatRequestTopic()
		t.TopicID, t.Partitions = s.id(topic), partitions
		req.Topics = append(req.Topics, t)
	}
	return req
}

func describeConsumers(groups ...string) *kmsg.ConsumerGroupDescribeRequest {
	req := kmsg.NewPtrConsumerGroupDescribeRequest()
	req.Groups = groups
	return req
}

// consumerMember is a member of a consumer group that joined outside of the record.
type consumerMember struct {
	epoch int32
}

// consumer makes a member join and waits until the group is stable. more is an instance id.
func (s *script) consumer(g, member, topic string, more ...string) consumerMember {
	s.t.Helper()
	req := s.entering(g, member, topic)
	if len(more) > 0 {
		req.InstanceID = &more[0]
	}
	resp := s.quiet(1, req).(*kmsg.ConsumerGroupHeartbeatResponse)
	if resp.ErrorCode != 0 {
		s.t.Fatalf("%s joins %s: error %d", member, g, resp.ErrorCode)
	}
	return consumerMember{s.settledMember(g, member, topic, resp)}
}

// settledMember beats for a member, giving up and taking what it is told, until the group is
// stable; it returns its epoch.
func (s *script) settledMember(g, member, topic string, last *kmsg.ConsumerGroupHeartbeatResponse) int32 {
	s.t.Helper()
	epoch := last.MemberEpoch
	var owned []int32
	take := func(resp *kmsg.ConsumerGroupHeartbeatResponse) {
		if resp.ErrorCode != 0 {
			s.t.Fatalf("heartbeat of %s in %s: error %d", member, g, resp.ErrorCode)
		}
		epoch = resp.MemberEpoch
		if resp.Assignment != nil {
			owned = nil
			for _, t := range resp.Assignment.Topics {
				if t.TopicID == s.id(topic) {
					owned = t.Partitions
				}
			}
		}
	}
	take(last)
	s.until("the consumer group is stable", func() bool {
		take(s.quiet(1, s.owning(s.beating(g, member, epoch), topic, owned...)).(*kmsg.ConsumerGroupHeartbeatResponse))
		return s.quiet(1, describeConsumers(g)).(*kmsg.ConsumerGroupDescribeResponse).Groups[0].State == "Stable"
	})
	return epoch
}

// assigned beats for a member that has nothing to tell until the target assignment is that of
// the group's epoch: Kafka computes it at most once a second. It returns the member's epoch.
func (s *script) assigned(g, member string, epoch int32) int32 {
	s.t.Helper()
	s.until("the target assignment is computed", func() bool {
		resp := s.quiet(1, s.beating(g, member, epoch)).(*kmsg.ConsumerGroupHeartbeatResponse)
		if resp.ErrorCode != 0 {
			s.t.Fatalf("heartbeat of %s in %s: error %d", member, g, resp.ErrorCode)
		}
		epoch = resp.MemberEpoch
		d := s.quiet(1, describeConsumers(g)).(*kmsg.ConsumerGroupDescribeResponse).Groups[0]
		return d.Epoch == d.AssignmentEpoch
	})
	return epoch
}

// beat records a heartbeat that must be answered without an error and returns the new epoch.
func (s *script) beat(req *kmsg.ConsumerGroupHeartbeatRequest) int32 {
	s.t.Helper()
	resp := s.ask(req).(*kmsg.ConsumerGroupHeartbeatResponse)
	if resp.ErrorCode != 0 {
		s.t.Logf("%s: error %d", s.label, resp.ErrorCode)
	}
	return resp.MemberEpoch
}

// seen records what ConsumerGroupDescribe says of a group, at one fixed version.
func (s *script) seen(g string) {
	s.t.Helper()
	s.step("described").askAt(1, describeConsumers(g))
}

var consumerGroupHeartbeatScenarios = []scenario{
	{"one member", 0, 0, func(s *script) {
		s.topic("a", 3)
		s.topic("b", 1)
		g := s.group("g")
		id := "one"
		if s.v == 0 {
			id = ""
		}
		resp := s.step("joins").ask(s.entering(g, id, "a")).(*kmsg.ConsumerGroupHeartbeatResponse)
		id = *resp.MemberID
		epoch := resp.MemberEpoch
		s.seen(g)
		epoch = s.step("nothing to tell").beat(s.beating(g, id, epoch))
		epoch = s.step("has all").beat(s.owning(s.beating(g, id, epoch), "a", 0, 1, 2))
		whole := s.owning(s.entering(g, id, "a"), "a", 0, 1, 2)
		whole.MemberEpoch = epoch
		epoch = s.step("tells all").beat(whole)
		s.step("joins again").beat(s.entering(g, id, "a"))
		change := s.beating(g, id, epoch)
		change.SubscribedTopicNames = []string{s.name("b")}
		s.quiet(1, change)
		epoch = s.assigned(g, id, epoch)
		s.seen(g)
		epoch = s.step("gives up what it had").beat(s.owning(s.beating(g, id, epoch), "a"))
		epoch = s.step("has the other").beat(s.owning(s.beating(g, id, epoch), "b", 0))
		s.seen(g)
		s.step("leaves").ask(s.leaving(g, id, -1))
		s.seen(g)
		s.step("after it left").ask(s.beating(g, id, epoch))
		s.step("leaves again").ask(s.leaving(g, id, -1))
	}},
	{"what cannot be", 0, 0, func(s *script) {
		s.topic("a", 1)
		g, u := s.group("g"), s.name("unknown")
		bad := func(what string, req *kmsg.ConsumerGroupHeartbeatRequest, change func(*kmsg.ConsumerGroupHeartbeatRequest)) {
			change(req)
			s.step("%s", what).ask(req)
		}
		type heartbeat = kmsg.ConsumerGroupHeartbeatRequest
		in := func() *heartbeat { return s.entering(g, "one", "a") }
		bad("no name", in(), func(r *heartbeat) { r.Group = "" })
		bad("a blank name", in(), func(r *heartbeat) { r.Group = "  " })
		bad("epoch -3", in(), func(r *heartbeat) { r.MemberEpoch = -3 })
		bad("no rebalance timeout", in(), func(r *heartbeat) { r.RebalanceTimeoutMillis = -1 })
		bad("owned partitions", in(), func(r *heartbeat) { s.owning(r, "a", 0) })
		bad("no list of owned partitions", in(), func(r *heartbeat) { r.Topics = nil })
		bad("no subscription", in(), func(r *heartbeat) { r.SubscribedTopicNames = nil })
		bad("an empty instance", in(), func(r *heartbeat) { r.InstanceID = ptr("") })
		bad("an empty rack", in(), func(r *heartbeat) { r.RackID = ptr("") })
		bad("an empty assignor", in(), func(r *heartbeat) { r.ServerAssignor = ptr("") })
		bad("an unknown assignor", in(), func(r *heartbeat) { r.ServerAssignor = ptr("nonsense") })
		if s.v > 0 {
			bad("no id", in(), func(r *heartbeat) { r.MemberID = "" })
			bad("a blank id", in(), func(r *heartbeat) { r.MemberID = " " })
			bad("a pattern that is none", in(), func(r *heartbeat) { r.SubscribedTopicRegex = ptr("a(") })
			bad("a pattern with a look behind", in(), func(r *heartbeat) { r.SubscribedTopicRegex = ptr("(?<=a)b") })
		}
		s.step("an unknown group").ask(s.beating(u, "one", 1))
		s.step("leaves an unknown group").ask(s.leaving(u, "one", -1))
		s.step("no id and an epoch").ask(s.beating(u, "", 1))
		s.step("leaves for a while without instance").ask(s.leaving(g, "one", -2))
		s.seen(g)
	}},
	{"epochs", 0, 0, func(s *script) {
		s.topic("a", 2)
		g := s.group("g")
		m := s.consumer(g, "one", "a")
		s.step("somebody").ask(s.beating(g, "somebody", m.epoch))
		s.step("somebody leaves").ask(s.leaving(g, "somebody", -1))
		s.step("newer").ask(s.beating(g, "one", m.epoch+1))
		s.step("older, owning nothing it tells").ask(s.beating(g, "one", m.epoch-1))
		s.step("older, owning all").ask(s.owning(s.beating(g, "one", m.epoch-1), "a", 0, 1))
		s.step("older, owning one").ask(s.owning(s.beating(g, "one", m.epoch-1), "a", 1))
		s.step("older, owning none").ask(s.owning(s.beating(g, "one", m.epoch-1), "a"))
		s.step("older, owning what is not there").ask(s.owning(s.beating(g, "one", m.epoch-1), "a", 5))
		s.step("right, owning what is not its own").ask(s.owning(s.beating(g, "one", m.epoch), "a", 5))
		unknown := s.beating(g, "one", m.epoch)
		unknown.ServerAssignor = ptr("nonsense")
		s.step("an unknown assignor").ask(unknown)
	}},
	{"two members", 0, 0, func(s *script) {
		s.topic("a", 4)
		g := s.group("g")
		one := s.consumer(g, "one", "a").epoch
		two := s.step("two joins").beat(s.entering(g, "two", "a"))
		two = s.assigned(g, "two", two)
		s.seen(g)
		one = s.step("one is told to give up").beat(s.beating(g, "one", one))
		two = s.step("two waits").beat(s.beating(g, "two", two))
		one = s.step("one still has all").beat(s.owning(s.beating(g, "one", one), "a", 0, 1, 2, 3))
		s.seen(g)
		var left []int32
		for _, m := range s.quiet(1, describeConsumers(g)).(*kmsg.ConsumerGroupDescribeResponse).Groups[0].Members {
			for _, t := range m.TargetAssignment.TopicPartitions {
				if m.MemberID == "one" {
					left = t.Partitions
				}
			}
		}
		one = s.step("one gives up").beat(s.owning(s.beating(g, "one", one), "a", left...))
		s.step("two takes").beat(s.beating(g, "two", two))
		s.seen(g)
		s.step("two leaves").ask(s.leaving(g, "two", -1))
		one = s.assigned(g, "one", one)
		s.step("one has all again").ask(s.owning(s.beating(g, "one", one), "a", 0, 1, 2, 3))
		s.seen(g)
	}},
	{"static members", 0, 0, func(s *script) {
		s.topic("a", 2)
		g := s.group("g")
		instance := func(req *kmsg.ConsumerGroupHeartbeatRequest, id string) *kmsg.ConsumerGroupHeartbeatRequest {
			req.InstanceID = &id
			return req
		}
		one := s.consumer(g, "one", "a", "i").epoch
		s.step("another with its instance").ask(instance(s.entering(g, "two", "a"), "i"))
		s.step("another id that was not told").ask(instance(s.beating(g, "two", one), "i"))
		s.step("an instance that is not there").ask(instance(s.beating(g, "one", one), "j"))
		s.step("without instance").ask(s.beating(g, "one", one))
		s.step("leaves for a while").ask(instance(s.leaving(g, "one", -2), "i"))
		s.seen(g)
		s.step("beats after it").ask(instance(s.beating(g, "one", one), "i"))
		two := s.step("another comes in its place").beat(instance(s.entering(g, "two", "a"), "i"))
		s.seen(g)
		s.step("who was before").ask(instance(s.beating(g, "one", one), "i"))
		s.step("who was before leaves").ask(instance(s.leaving(g, "one", -1), "i"))
		s.step("beats").ask(instance(s.beating(g, "two", two), "i"))
		s.step("leaves for good").ask(instance(s.leaving(g, "two", -1), "i"))
		s.seen(g)
	}},
	{"assignors", 0, 0, func(s *script) {
		s.topic("a", 7)
		g := s.group("g")
		by := func(member, assignor string) *kmsg.ConsumerGroupHeartbeatRequest {
			req := s.entering(g, member, "a")
			req.ServerAssignor = &assignor
			return req
		}
		one := s.step("range").beat(by("one", "range"))
		s.seen(g)
		two := s.step("uniform beside it").beat(by("two", "uniform"))
		s.assigned(g, "two", two)
		s.seen(g)
		three := s.step("uniform by most").beat(by("three", "uniform"))
		s.assigned(g, "three", three)
		s.seen(g)
		s.step("one hears of it").ask(s.beating(g, "one", one))
	}},
	{"patterns", 1, 0, func(s *script) {
		s.topic("pa", 1)
		s.topic("pb", 2)
		s.topic("q", 1)
		g := s.group("g")
		req := s.entering(g, "one")
		req.SubscribedTopicRegex = ptr(s.name("p.*"))
		one := s.quiet(1, req).(*kmsg.ConsumerGroupHeartbeatResponse).MemberEpoch
		s.until("the pattern is resolved", func() bool {
			one = s.quiet(1, s.beating(g, "one", one)).(*kmsg.ConsumerGroupHeartbeatResponse).MemberEpoch
			d := s.quiet(1, describeConsumers(g)).(*kmsg.ConsumerGroupDescribeResponse).Groups[0]
			return d.State == "Stable" && len(d.Members[0].Assignment.TopicPartitions) == 2
		})
		s.membersOnly(g)
		both := s.beating(g, "one", one)
		both.SubscribedTopicNames = []string{s.name("q")}
		one = s.quiet(1, both).(*kmsg.ConsumerGroupHeartbeatResponse).MemberEpoch
		s.until("the topic is there too", func() bool {
			one = s.quiet(1, s.beating(g, "one", one)).(*kmsg.ConsumerGroupHeartbeatResponse).MemberEpoch
			d := s.quiet(1, describeConsumers(g)).(*kmsg.ConsumerGroupDescribeResponse).Groups[0]
			return d.State == "Stable" && len(d.Members[0].Assignment.TopicPartitions) == 3
		})
		s.membersOnly(g)
		broken := s.beating(g, "one", one)
		broken.SubscribedTopicRegex = ptr("[")
		s.step("a pattern that is none").ask(broken)
		for _, p := range []string{"", "p", "^" + s.name("pa") + "$", "(?i)" + strings.ToUpper(s.name("PB")), `\\d+`} {
			req := s.beating(g, "one", one)
			req.SubscribedTopicRegex = &p
			resp := s.quiet(1, req).(*kmsg.ConsumerGroupHeartbeatResponse)
			if resp.ErrorCode != 0 {
				s.t.Fatalf("pattern %q: error %d", p, resp.ErrorCode)
			}
			one = resp.MemberEpoch
		}
	}},
	{"topics that come and grow", 0, 0, func(s *script) {
		g := s.group("g")
		one := s.step("joins").beat(s.entering(g, "one", "late"))
		s.seen(g)
		s.topic("late", 1)
		assigned := func(partitions int) {
			s.until("the group has the partitions", func() bool {
				req := s.beating(g, "one", one)
				if partitions == 0 {
					req = s.owning(req, "late") // it has given up what was deleted
				}
				one = s.quiet(1, req).(*kmsg.ConsumerGroupHeartbeatResponse).MemberEpoch
				d := s.quiet(1, describeConsumers(g)).(*kmsg.ConsumerGroupDescribeResponse).Groups[0]
				n := 0
				for _, t := range d.Members[0].Assignment.TopicPartitions {
					n += len(t.Partitions)
				}
				return d.State == "Stable" && n == partitions
			})
			s.membersOnly(g)
		}
		assigned(1)
		more := kmsg.NewPtrCreatePartitionsRequest()
		more.TimeoutMillis = 20_000
		t := kmsg.NewCreatePartitionsRequestTopic()
		t.Topic, t.Count = s.name("late"), 3
		more.Topics = append(more.Topics, t)
		s.quiet(3, more)
		assigned(3)
		s.delete("late")
		assigned(0)
	}},
	{"classic groups", 0, 0, func(s *script) {
		s.topic("a", 1)
		g, empty, connect, opaque := s.group("g"), s.group("empty"), s.group("connect"), s.group("opaque")
		m := s.stable(empty, 1)[0]
		s.quiet(9, s.committing(empty, m.id, 1, offset{"a", 0, 5, "before"}))
		m.send(2, s.leave(empty, m.id))
		m.answer()
		s.step("joins an empty one").ask(s.entering(empty, "one", "a"))
		s.seen(empty)
		s.kept(empty)
		s.stable(connect, 1, func(_ int, req *kmsg.JoinGroupRequest) { req.ProtocolType = "connect" })
		s.step("joins one of Connect").ask(s.entering(connect, "one", "a"))
		s.stable(opaque, 1, func(_ int, req *kmsg.JoinGroupRequest) { req.Protocols[0].Metadata = []byte("x") })
		s.step("joins one with metadata that is none").ask(s.entering(opaque, "one", "a"))
		s.quiet(9, s.commit(g, offset{"a", 0, 5, "simple"}))
		s.step("joins one of offsets").ask(s.entering(g, "one", "a"))
		s.seen(g)
		s.kept(g)
		s.step("beats in an empty classic one").ask(s.beating(s.simple("s"), "one", 1))
		s.step("leaves a classic one").ask(s.leaving(s.simple("s"), "one", -1))
	}},
	{"a group that moves to the new protocol and back", 0, 0, func(s *script) {
		s.topic("a", 2)
		g := s.group("g")
		all := s.completing(g, 1)
		old := all[0]
		assign := s.sync(g, old.id, 1, old.id, string(assignment(s.name("a"), 0, 1)))
		s.step("classic member").askAt(4, assign)
		s.quiet(9, s.committing(g, old.id, 1, offset{"a", 0, 5, "classic"}))
		one := s.step("joins").beat(s.entering(g, "one", "a"))
		s.step("described").askAt(5, describeGroups(g))
		s.seen(g)
		one = s.assigned(g, "one", one)
		s.step("the classic one is told").askAt(4, s.heartbeat(g, old.id, 1))
		s.step("and commits").askAt(9, s.committing(g, old.id, 1, offset{"a", 0, 6, "classic still"}))
		again := s.join(g, old.id)
		again.Protocols[0].Metadata = owningSubscription(s.name("a"), 0)
		generation := s.step("and joins, with less").askAt(5, again).(*kmsg.JoinGroupResponse).Generation
		s.step("and is assigned").askAt(4, s.sync(g, old.id, generation))
		s.step("a wrong generation").askAt(4, s.sync(g, old.id, generation+1))
		s.step("beats").askAt(4, s.heartbeat(g, old.id, generation))
		s.step("beats, a wrong generation").askAt(4, s.heartbeat(g, old.id, generation+5))
		s.step("one takes").beat(s.beating(g, "one", one))
		s.seen(g)
		s.step("one leaves").ask(s.leaving(g, "one", -1))
		s.step("described, classic again").askAt(5, describeGroups(g))
		s.seen(g)
		s.step("the classic one is told to join").askAt(4, s.heartbeat(g, old.id, generation))
		s.kept(g)
	}},
}

// assignment is one of Java's consumers, version 1.
func assignment(topic string, partitions ...int32) []byte {
	a := kmsg.NewConsumerMemberAssignment()
	a.Version = 1
	t := kmsg.NewConsumerMemberAssignmentTopic()
	t.Topic, t.Partitions = topic, partitions
	a.Topics = append(a.Topics, t)
	return a.AppendTo(nil)
}

// owningSubscription is subscription by a member that still owns partitions.
func owningSubscription(topic string, partitions ...int32) []byte {
	m := kmsg.NewConsumerMemberMetadata()
	m.Version, m.Topics = 1, []string{topic}
	o := kmsg.NewConsumerMemberMetadataOwnedPartition()
	o.Topic, o.Partitions = topic, partitions
	m.OwnedPartitions = append(m.OwnedPartitions, o)
	return m.AppendTo(nil)
}

// simple makes a group that only holds an offset of topic a.
func (s *script) simple(name string) string {
	g := s.group(name)
	s.quiet(9, s.commit(g, offset{"a", 0, 5, ""}))
	return g
}

// membersOnly records a described group without its epochs, where their number depends on
// how many steps the broker took.
func (s *script) membersOnly(g string) {
	s.t.Helper()
	resp := s.quiet(1, describeConsumers(g)).(*kmsg.ConsumerGroupDescribeResponse)
	resp.Groups[0].Epoch, resp.Groups[0].AssignmentEpoch = 0, 0
	for i := range resp.Groups[0].Members {
		resp.Groups[0].Members[i].MemberEpoch = 0
	}
	s.step("described without epochs").record(resp, nil)
}

var consumerGroupDescribeScenarios = []scenario{
	{"what is not there", 0, 0, func(s *script) {
		g := s.group("g")
		s.step("unknown").ask(describeConsumers(g))
		s.step("no name").ask(describeConsumers(""))
		s.step("none").ask(describeConsumers())
		s.step("twice").ask(describeConsumers(g, g))
	}},
	{"kinds", 0, 0, func(s *script) {
		s.topic("a", 2)
		simple, classic, consumer, left := s.simple("simple"), s.group("classic"), s.group("consumer"), s.group("left")
		s.stable(classic, 1)
		s.consumer(consumer, "one", "a", "i")
		s.consumer(left, "one", "a")
		s.quiet(1, s.leaving(left, "one", -1))
		for _, g := range []string{simple, classic, consumer, left} {
			s.step("one").ask(describeConsumers(g))
		}
		s.step("all and an unknown one").ask(describeConsumers(simple, classic, consumer, left, s.name("unknown")))
	}},
	{"authorized operations", 0, 0, func(s *script) {
		s.topic("a", 1)
		g := s.group("g")
		s.consumer(g, "one", "a")
		req := describeConsumers(g, s.name("unknown"))
		req.IncludeAuthorizedOperations = true
		s.ask(req)
	}},
	{"racks and patterns", 1, 0, func(s *script) {
		s.topic("a", 1)
		g := s.group("g")
		req := s.entering(g, "one", "a")
		req.RackID, req.SubscribedTopicRegex, req.ServerAssignor = ptr("rack"), ptr(s.name("never-[0-9]+")), ptr("range")
		one := s.quiet(1, req).(*kmsg.ConsumerGroupHeartbeatResponse).MemberEpoch
		s.assigned(g, "one", one)
		s.membersOnly(g)
	}},
}
