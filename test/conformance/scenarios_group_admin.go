package conformance

import "github.com/twmb/franz-go/pkg/kmsg"

func describeGroups(groups ...string) *kmsg.DescribeGroupsRequest {
	req := kmsg.NewPtrDescribeGroupsRequest()
	req.Groups = groups
	return req
}

var describeGroupsScenarios = []scenario{
	{"what is not there", 0, 0, func(s *script) {
		g := s.group("g")
		s.step("unknown").ask(describeGroups(g))
		s.step("no name").ask(describeGroups(""))
		s.step("none").ask(describeGroups())
		s.step("twice").ask(describeGroups(g, g))
	}},
	{"states", 0, 0, func(s *script) {
		s.topic("a", 1)
		g := s.group("g")
		all := s.completing(g, 2)
		s.step("completing").ask(describeGroups(g))
		s.synced(g, all)
		s.step("stable").ask(describeGroups(g))
		all[1].send(5, s.changed(g, all[1].id))
		s.await(g, "PreparingRebalance", 2)
		s.step("preparing").ask(describeGroups(g))
		all[0].send(2, s.leave(g, all[0].id))
		all[0].answer()
		all[1].answer()
		all[0].send(2, s.leave(g, all[1].id))
		all[0].answer()
		s.step("empty").ask(describeGroups(g))
	}},
	{"kinds", 0, 0, func(s *script) {
		s.topic("a", 1)
		simple, connect, consumer, statics := s.group("simple"), s.group("connect"), s.group("consumer"), s.group("static")
		s.quiet(9, s.commit(simple, offset{"a", 0, 5, ""}))
		s.stable(connect, 1, func(_ int, req *kmsg.JoinGroupRequest) {
			req.ProtocolType = "connect"
			req.Protocols = []kmsg.JoinGroupRequestProtocol{protocol("sessioned", []byte("url")), protocol("default", nil)}
		})
		s.consumer(consumer, "one", "a")
		s.stable(statics, 1, func(_ int, req *kmsg.JoinGroupRequest) { static(req, "one") })
		for _, g := range []string{simple, connect, consumer, statics} {
			s.step("one").ask(describeGroups(g))
		}
		s.step("all and an unknown one").ask(describeGroups(simple, connect, consumer, statics, s.name("unknown")))
	}},
	{"authorized operations", 3, 0, func(s *script) {
		s.topic("a", 1)
		g := s.group("g")
		s.stable(g, 1)
		req := describeGroups(g, s.name("unknown"))
		req.IncludeAuthorizedOperations = true
		s.ask(req)
	}},
}

var listGroupsScenarios = []scenario{
	{"all", 0, 0, func(s *script) {
		s.groupsOfAllKinds()
		s.ask(kmsg.NewPtrListGroupsRequest())
	}},
	{"by state", 4, 0, func(s *script) {
		s.groupsOfAllKinds()
		for _, states := range [][]string{{"Stable"}, {"stable"}, {"EMPTY"}, {"Empty", "PreparingRebalance"}, {"CompletingRebalance"}, {"Dead"}, {"Assigning", "Reconciling"}, {"nonsense"}, {"nonsense", "Stable"}, {""}, {" stable "}} {
			req := kmsg.NewPtrListGroupsRequest()
			req.StatesFilter = states
			s.step("%s", quote(states)).ask(req)
		}
	}},
	{"by type", 5, 0, func(s *script) {
		s.groupsOfAllKinds()
		for _, types := range [][]string{{"classic"}, {"consumer"}, {"Consumer"}, {"CLASSIC", "consumer"}, {"share"}, {"streams"}, {"nonsense"}, {"nonsense", "classic"}, {""}} {
			req := kmsg.NewPtrListGroupsRequest()
			req.TypesFilter = types
			s.step("%s", quote(types)).ask(req)
		}
		req := kmsg.NewPtrListGroupsRequest()
		req.StatesFilter, req.TypesFilter = []string{"Stable"}, []string{"consumer"}
		s.step("and by state").ask(req)
	}},
}

// groupsOfAllKinds makes a simple group, classic ones in each state, one of Connect and a consumer group.
func (s *script) groupsOfAllKinds() {
	s.topic("a", 1)
	s.quiet(9, s.commit(s.group("simple"), offset{"a", 0, 5, ""}))
	s.stable(s.group("stable"), 1)
	s.completing(s.group("completing"), 1)
	g := s.group("preparing")
	s.stable(g, 1)
	s.caller().send(3, s.join(g, ""))
	s.await(g, "PreparingRebalance", 2)
	g = s.group("empty")
	m := s.stable(g, 1)[0]
	m.send(2, s.leave(g, m.id))
	m.answer()
	s.await(g, "Empty", 0)
	s.stable(s.group("connect"), 1, func(_ int, req *kmsg.JoinGroupRequest) { req.ProtocolType = "connect" })
	s.consumer(s.group("consumer"), "one", "a")
	g = s.group("consumer-empty")
	s.consumer(g, "one", "a")
	s.quiet(1, s.leaving(g, "one", -1))
}

func deleteGroups(groups ...string) *kmsg.DeleteGroupsRequest {
	req := kmsg.NewPtrDeleteGroupsRequest()
	req.Groups = groups
	return req
}

var deleteGroupsScenarios = []scenario{
	{"groups", 0, 0, func(s *script) {
		s.topic("a", 1)
		simple, empty, stable, pending := s.group("simple"), s.group("empty"), s.group("stable"), s.group("pending")
		s.quiet(9, s.commit(simple, offset{"a", 0, 5, ""}))
		m := s.stable(empty, 1)[0]
		s.quiet(9, s.committing(empty, m.id, 1, offset{"a", 0, 6, ""}))
		m.send(2, s.leave(empty, m.id))
		m.answer()
		s.stable(stable, 1)
		s.maskID(s.quiet(4, s.join(pending, "")).(*kmsg.JoinGroupResponse).MemberID)
		s.step("unknown").ask(deleteGroups(s.name("unknown")))
		s.step("no name").ask(deleteGroups(""))
		s.step("none").ask(deleteGroups())
		s.step("with members").ask(deleteGroups(stable))
		s.step("with a pending member").ask(deleteGroups(pending))
		s.step("simple").ask(deleteGroups(simple))
		s.kept(simple)
		s.step("simple again").ask(deleteGroups(simple))
		s.step("empty").ask(deleteGroups(empty))
		s.step("described").askAt(5, describeGroups(empty))
		s.kept(empty)
	}},
	{"several", 0, 0, func(s *script) {
		s.topic("a", 1)
		simple, stable := s.group("simple"), s.group("stable")
		s.quiet(9, s.commit(simple, offset{"a", 0, 5, ""}))
		s.stable(stable, 1)
		s.step("one of three can be").ask(deleteGroups(stable, simple, s.name("unknown")))
		s.quiet(9, s.commit(simple, offset{"a", 0, 5, ""}))
		s.step("one twice").ask(deleteGroups(simple, simple))
	}},
	{"consumer groups", 0, 0, func(s *script) {
		s.topic("a", 1)
		g := s.group("g")
		m := s.consumer(g, "one", "a")
		s.quiet(9, s.committing(g, "one", m.epoch, offset{"a", 0, 5, ""}))
		s.step("with a member").ask(deleteGroups(g))
		s.quiet(1, s.leaving(g, "one", -1))
		s.step("empty").ask(deleteGroups(g))
		s.step("described").askAt(1, describeConsumers(g))
		s.kept(g)
	}},
}
