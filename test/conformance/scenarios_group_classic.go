package conformance

import (
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// find makes a FindCoordinator request: the first key alone before version 4.
func find(kind int8, keys ...string) *kmsg.FindCoordinatorRequest {
	req := kmsg.NewPtrFindCoordinatorRequest()
	req.CoordinatorType, req.CoordinatorKeys = kind, keys
	if len(keys) > 0 {
		req.CoordinatorKey = keys[0]
	}
	return req
}

var findCoordinatorScenarios = []scenario{
	{"groups", 0, 0, func(s *script) {
		g := s.group("g")
		s.step("one").ask(find(0, g))
		s.step("no name").ask(find(0, ""))
		s.step("a long name").ask(find(0, strings.Repeat("n", 5000)))
	}},
	{"kinds", 1, 0, func(s *script) {
		s.group("g")
		for _, kind := range []int8{3, -1, 100} {
			s.step("%d", kind).ask(find(kind, s.name("g")))
		}
	}},
	{"several groups", 4, 0, func(s *script) {
		s.group("g")
		s.step("three").ask(find(0, s.name("g"), s.name("h"), ""))
		s.step("one twice").ask(find(0, s.name("g"), s.name("g")))
		s.step("none").ask(find(0))
	}},
	{"share groups", 1, 0, func(s *script) {
		s.group("g")
		s.step("no key").ask(find(2, ""))
		s.step("not a key").ask(find(2, s.name("g")))
		s.step("a key of two parts").ask(find(2, s.name("g")+":AAAAAAAAAAAAAAAAAAAAAQ"))
	}},
}

var joinGroupScenarios = []scenario{
	{"one member", 0, 0, func(s *script) {
		s.topic("a", 1)
		g := s.group("g")
		resp := s.step("without an id").ask(s.join(g, "")).(*kmsg.JoinGroupResponse)
		id := resp.MemberID
		if s.v >= 4 {
			s.step("with its id").ask(s.join(g, id))
		}
		s.step("again").ask(s.join(g, id))
		s.step("described").askAt(5, describeGroups(g))
		s.step("synced").askAt(4, s.sync(g, id, 2, id, "mine"))
		s.step("the leader again").ask(s.join(g, id))
		s.step("what it had").askAt(4, s.sync(g, id, 3, id, "mine now"))
		changed := s.join(g, id)
		changed.Protocols[0].Metadata = []byte("changed")
		s.step("changed").ask(changed)
		s.step("with an id that is gone").ask(s.join(g, "gone"))
	}},
	{"what cannot be", 0, 0, func(s *script) {
		s.topic("a", 1)
		g := s.group("g")
		req := func(change func(*kmsg.JoinGroupRequest)) *kmsg.JoinGroupRequest {
			r := s.join(g, "")
			change(r)
			return r
		}
		s.step("no name").ask(s.join("", ""))
		s.step("no name, an id").ask(s.join("", "somebody"))
		s.step("an id in an unknown group").ask(s.join(s.name("unknown"), "somebody"))
		for _, ms := range []int32{-1, 0, 5999, 1_800_001, 1<<31 - 1} {
			s.step("session timeout %d", ms).ask(req(func(r *kmsg.JoinGroupRequest) { r.SessionTimeoutMillis = ms }))
		}
		s.step("no protocol").ask(req(func(r *kmsg.JoinGroupRequest) { r.Protocols = nil }))
		s.step("no kind").ask(req(func(r *kmsg.JoinGroupRequest) { r.ProtocolType = "" }))
		s.step("neither").ask(req(func(r *kmsg.JoinGroupRequest) { r.ProtocolType, r.Protocols = "", nil }))
		s.step("described").askAt(5, describeGroups(g, s.name("unknown")))
	}},
	{"timeouts that can be", 0, 0, func(s *script) {
		s.topic("a", 1)
		for _, ms := range []int32{6000, 1_800_000} {
			g := s.group("g" + string(rune('a'+ms%7)))
			r := s.join(g, "")
			r.SessionTimeoutMillis = ms
			s.step("session timeout %d", ms).ask(r)
		}
		for i, ms := range []int32{-1, 0} {
			g := s.group("h" + string(rune('a'+i)))
			r := s.join(g, "")
			r.RebalanceTimeoutMillis = ms
			s.step("rebalance timeout %d", ms).ask(r)
		}
	}},
	{"protocols", 0, 0, func(s *script) {
		s.topic("a", 1)
		g := s.group("g")
		m := s.stable(g, 1, func(_ int, r *kmsg.JoinGroupRequest) {
			r.Protocols = []kmsg.JoinGroupRequestProtocol{protocol("range", []byte("r")), protocol("sticky", []byte("s"))}
		})[0]
		other := s.join(g, "")
		other.ProtocolType = "connect"
		s.step("another kind").ask(other)
		other = s.join(g, "")
		other.Protocols = []kmsg.JoinGroupRequestProtocol{protocol("roundrobin", nil)}
		s.step("none in common").ask(other)
		other = s.join(g, "somebody")
		other.Protocols = []kmsg.JoinGroupRequestProtocol{protocol("roundrobin", nil)}
		s.step("none in common, an id that is not there").ask(other)
		again := s.join(g, m.id)
		again.Protocols = []kmsg.JoinGroupRequestProtocol{protocol("roundrobin", []byte("only me"))}
		s.step("the only member changes all").ask(again)
	}},
	{"votes", 0, 0, func(s *script) {
		s.topic("a", 1)
		g := s.group("g")
		orders := [][]string{{"range", "sticky", "roundrobin"}, {"sticky", "range"}, {"sticky", "range", "roundrobin"}}
		members := s.completing(g, 3, func(i int, r *kmsg.JoinGroupRequest) {
			r.Protocols = nil
			for _, name := range orders[i] {
				r.Protocols = append(r.Protocols, protocol(name, []byte(name[:1]+string(rune('0'+i)))))
			}
		})
		s.step("described").askAt(5, describeGroups(g))
		s.synced(g, members)
		again := s.join(g, members[1].id)
		again.Protocols = []kmsg.JoinGroupRequestProtocol{protocol("sticky", []byte("s1")), protocol("range", []byte("other"))}
		members[1].send(s.v, again)
		s.await(g, "PreparingRebalance", 3)
		for i, m := range []*classicMember{members[0], members[2]} {
			req := s.join(g, m.id)
			req.Protocols = nil
			for _, name := range orders[i*2] {
				req.Protocols = append(req.Protocols, protocol(name, []byte(name[:1]+string(rune('0'+i*2)))))
			}
			m.send(s.v, req)
		}
		s.step("what was not chosen changed")
		members[1].recorded()
		s.step("another")
		members[2].recorded()
		s.step("the leader")
		members[0].recorded()
	}},
	{"two members", 0, 0, func(s *script) {
		s.topic("a", 1)
		g := s.group("g")
		first := s.stable(g, 1)[0]
		second := s.caller()
		id := ""
		if s.v >= 4 {
			id = s.step("second without an id").ask(s.join(g, "")).(*kmsg.JoinGroupResponse).MemberID
			s.step("pending").askAt(5, describeGroups(g))
		}
		second.send(s.v, s.join(g, id))
		s.await(g, "PreparingRebalance", 2)
		s.step("first is told").askAt(4, s.heartbeat(g, first.id, 1))
		first.send(s.v, s.join(g, first.id))
		s.step("second")
		resp := second.recorded().(*kmsg.JoinGroupResponse)
		s.step("first")
		first.recorded()
		s.synced(g, []*classicMember{{caller: first.caller, id: first.id, generation: 2}, {caller: second, id: resp.MemberID, generation: 2}})
		s.step("described").askAt(5, describeGroups(g))
		s.step("the follower again, unchanged").ask(s.join(g, resp.MemberID))
		changed := s.join(g, resp.MemberID)
		changed.Protocols[0].Metadata = []byte("changed")
		second.send(s.v, changed)
		s.await(g, "PreparingRebalance", 2)
		first.send(s.v, s.join(g, first.id))
		s.step("the follower changed")
		second.recorded()
		s.step("the leader after it")
		first.recorded()
	}},
	{"static members", 5, 0, func(s *script) {
		s.topic("a", 1)
		g := s.group("g")
		resp := s.step("first").ask(static(s.join(g, ""), "one")).(*kmsg.JoinGroupResponse)
		id := resp.MemberID
		s.step("synced").askAt(5, s.sync(g, id, 1, id, "of one"))
		resp = s.step("comes back").ask(static(s.join(g, ""), "one")).(*kmsg.JoinGroupResponse)
		s.step("what it had").askAt(5, s.sync(g, resp.MemberID, resp.Generation))
		s.step("the one before").ask(static(s.join(g, id), "one"))
		s.step("an id that is not there").ask(static(s.join(g, "somebody"), "one"))
		s.step("an id that is not there, of no instance known").ask(static(s.join(g, "somebody"), "two"))
		s.step("its id with another instance").ask(static(s.join(g, resp.MemberID), "two"))
		s.step("its id without instance").ask(s.join(g, resp.MemberID))
		s.step("described").askAt(5, describeGroups(g))
		changed := static(s.join(g, ""), "one")
		changed.Protocols[0].Metadata = []byte("changed")
		s.step("comes back changed").ask(changed)
		s.step("described after it").askAt(5, describeGroups(g))
	}},
	{"a static follower", 5, 0, func(s *script) {
		s.topic("a", 1)
		g := s.group("g")
		all := s.stable(g, 2, func(i int, r *kmsg.JoinGroupRequest) { static(r, []string{"one", "two"}[i]) })
		resp := s.step("the follower comes back").ask(static(s.join(g, ""), "two")).(*kmsg.JoinGroupResponse)
		s.step("what it had").askAt(5, s.sync(g, resp.MemberID, resp.Generation))
		s.step("the leader's heartbeat").askAt(4, s.heartbeat(g, all[0].id, 2))
		resp = s.step("the leader comes back").ask(static(s.join(g, ""), "one")).(*kmsg.JoinGroupResponse)
		s.step("what it had").askAt(5, s.sync(g, resp.MemberID, resp.Generation))
		s.step("described").askAt(5, describeGroups(g))
	}},
	{"an empty instance", 5, 0, func(s *script) {
		s.topic("a", 1)
		for i, id := range []string{"", strings.Repeat("i", 300), "a/b c", ".", "\u00e4"} {
			s.step("%q", short([]byte(id))).ask(static(s.join(s.group("g"+string(rune('0'+i))), ""), id))
		}
	}},
	{"an empty group", 0, 0, func(s *script) {
		s.topic("a", 1)
		g := s.group("g")
		m := s.stable(g, 1)[0]
		m.send(2, s.leave(g, m.id))
		m.answer()
		s.await(g, "Empty", 0)
		s.step("described").askAt(5, describeGroups(g))
		s.step("its id of before").ask(s.join(g, m.id))
		other := s.join(g, "")
		other.ProtocolType = "connect"
		other.Protocols = []kmsg.JoinGroupRequestProtocol{protocol("default", []byte("x"))}
		s.step("another kind").ask(other)
		s.step("described after it").askAt(5, describeGroups(g))
	}},
	{"a group of offsets", 0, 0, func(s *script) {
		s.topic("a", 1)
		g := s.group("g")
		s.quiet(9, s.commit(g, offset{"a", 0, 5, "m"}))
		s.step("an id").ask(s.join(g, "somebody"))
		resp := s.step("none").ask(s.join(g, "")).(*kmsg.JoinGroupResponse)
		if s.v >= 4 {
			s.step("its id").ask(s.join(g, resp.MemberID))
		}
		s.kept(g)
	}},
	{"consumer groups", 0, 0, func(s *script) {
		s.topic("a", 1)
		g := s.group("g")
		s.consumer(g, "one", "a")
		other := s.join(g, "")
		other.ProtocolType = "connect"
		s.step("another kind").ask(other)
		other = s.join(g, "")
		other.Protocols[0].Metadata = []byte("not a subscription")
		s.step("metadata that is none").ask(other)
		other = s.join(g, "one")
		s.step("the id of a member of the other protocol").ask(other)
		s.step("an id that nobody has").ask(s.join(g, "somebody"))
		s.step("described").askAt(1, describeConsumers(g))
	}},
	{"an empty consumer group", 0, 0, func(s *script) {
		s.topic("a", 1)
		g := s.group("g")
		s.consumer(g, "one", "a")
		s.quiet(1, s.leaving(g, "one", -1))
		s.step("an id").ask(s.join(g, "somebody"))
		resp := s.step("none").ask(s.join(g, "")).(*kmsg.JoinGroupResponse)
		if s.v >= 4 {
			s.step("its id").ask(s.join(g, resp.MemberID))
		}
		s.step("described").askAt(5, describeGroups(g))
	}},
}

var syncGroupScenarios = []scenario{
	{"what cannot be", 0, 0, func(s *script) {
		s.topic("a", 1)
		g := s.group("g")
		s.step("unknown group").ask(s.sync(g, "somebody", 1))
		s.step("no name").ask(s.sync("", "somebody", 1))
		m := s.completing(g, 1)[0]
		s.step("unknown member").ask(s.sync(g, "somebody", 1))
		s.step("no member").ask(s.sync(g, "", 1))
		s.step("older").ask(s.sync(g, m.id, 0, m.id, "x"))
		s.step("newer").ask(s.sync(g, m.id, 2, m.id, "x"))
		s.step("-1").ask(s.sync(g, m.id, -1, m.id, "x"))
		s.step("described").askAt(5, describeGroups(g))
		s.step("right").ask(s.sync(g, m.id, 1, m.id, "x"))
		s.step("again, another").ask(s.sync(g, m.id, 1, m.id, "y"))
		s.step("again, older").ask(s.sync(g, m.id, 0))
		m.send(2, s.leave(g, m.id))
		m.answer()
		s.step("who left").ask(s.sync(g, m.id, 1))
	}},
	{"protocols", 5, 0, func(s *script) {
		s.topic("a", 1)
		g := s.group("g")
		m := s.completing(g, 1)[0]
		for _, c := range [][2]*string{{ptr("connect"), ptr("range")}, {ptr("consumer"), ptr("sticky")}, {ptr(""), ptr("")}, {nil, ptr("range")}, {ptr("consumer"), nil}} {
			req := s.sync(g, m.id, 1)
			req.ProtocolType, req.Protocol = c[0], c[1]
			s.step("%s %s", quote(c[0]), quote(c[1])).ask(req)
		}
		req := s.sync(g, m.id, 1, m.id, "x")
		req.ProtocolType, req.Protocol = nil, nil
		s.step("none").ask(req)
	}},
	{"a leader and a follower", 0, 0, func(s *script) {
		s.topic("a", 1)
		g := s.group("g")
		all := s.completing(g, 2)
		all[1].send(s.v, s.sync(g, all[1].id, 2))
		all[0].send(s.v, s.sync(g, all[0].id, 2, all[1].id, "of the follower", "somebody", "of nobody"))
		s.step("leader")
		all[0].recorded()
		s.step("follower")
		all[1].recorded()
		s.step("described").askAt(5, describeGroups(g))
		s.step("the follower again").ask(s.sync(g, all[1].id, 2))
	}},
	{"the leader first", 0, 0, func(s *script) {
		s.topic("a", 1)
		g := s.group("g")
		all := s.completing(g, 2)
		s.step("leader").ask(s.sync(g, all[0].id, 2, all[0].id, "one", all[1].id, "two"))
		s.step("follower, with assignments of its own").ask(s.sync(g, all[1].id, 2, all[1].id, "mine"))
		third := s.caller()
		third.send(3, s.join(g, ""))
		s.await(g, "PreparingRebalance", 3)
		s.step("while it prepares").ask(s.sync(g, all[1].id, 2))
		s.step("while it prepares, older").ask(s.sync(g, all[1].id, 1))
	}},
	{"no assignments", 0, 0, func(s *script) {
		s.topic("a", 1)
		g := s.group("g")
		m := s.completing(g, 1)[0]
		s.step("none").ask(s.sync(g, m.id, 1))
		s.step("described").askAt(5, describeGroups(g))
	}},
	{"static members", 3, 0, func(s *script) {
		s.topic("a", 1)
		g := s.group("g")
		m := s.completing(g, 1, func(_ int, r *kmsg.JoinGroupRequest) { static(r, "one") })[0]
		sync := func(what, member, instance string) {
			req := s.sync(g, member, 1, m.id, "x")
			req.InstanceID = &instance
			s.step("%s", what).ask(req)
		}
		sync("another's id", "somebody", "one")
		sync("an instance that is not there", m.id, "two")
		sync("no id", "", "one")
		sync("right", m.id, "one")
	}},
	{"consumer groups", 0, 0, func(s *script) {
		s.topic("a", 1)
		g := s.group("g")
		m := s.consumer(g, "one", "a")
		s.step("a member of the other protocol").ask(s.sync(g, "one", m.epoch))
		s.step("somebody").ask(s.sync(g, "somebody", m.epoch))
	}},
}

var heartbeatScenarios = []scenario{
	{"states", 0, 0, func(s *script) {
		s.topic("a", 1)
		g := s.group("g")
		s.step("unknown group").ask(s.heartbeat(g, "somebody", 1))
		s.step("no name").ask(s.heartbeat("", "somebody", 1))
		m := s.completing(g, 1)[0]
		beat := func(when string) {
			s.step("%s", when).ask(s.heartbeat(g, m.id, 1))
			s.step("%s, older", when).ask(s.heartbeat(g, m.id, 0))
			s.step("%s, newer", when).ask(s.heartbeat(g, m.id, 2))
			s.step("%s, -1", when).ask(s.heartbeat(g, m.id, -1))
			s.step("%s, somebody", when).ask(s.heartbeat(g, "somebody", 1))
			s.step("%s, nobody", when).ask(s.heartbeat(g, "", 1))
		}
		beat("completing")
		s.synced(g, []*classicMember{m})
		beat("stable")
		second := s.caller()
		second.send(3, s.join(g, ""))
		s.await(g, "PreparingRebalance", 2)
		beat("preparing")
	}},
	{"an empty group", 0, 0, func(s *script) {
		s.topic("a", 1)
		g := s.group("g")
		m := s.stable(g, 1)[0]
		m.send(2, s.leave(g, m.id))
		m.answer()
		s.step("who left").ask(s.heartbeat(g, m.id, 1))
		s.step("who left, the new generation").ask(s.heartbeat(g, m.id, 2))
	}},
	{"static members", 3, 0, func(s *script) {
		s.topic("a", 1)
		g := s.group("g")
		m := s.stable(g, 1, func(_ int, r *kmsg.JoinGroupRequest) { static(r, "one") })[0]
		beat := func(what, member, instance string, generation int32) {
			req := s.heartbeat(g, member, generation)
			req.InstanceID = &instance
			s.step("%s", what).ask(req)
		}
		beat("right", m.id, "one", 1)
		beat("older", m.id, "one", 0)
		beat("another's id", "somebody", "one", 1)
		beat("another's id, older", "somebody", "one", 0)
		beat("an instance that is not there", m.id, "two", 1)
		beat("no id", "", "one", 1)
		s.step("without instance").ask(s.heartbeat(g, m.id, 1))
	}},
	{"a pending member", 0, 0, func(s *script) {
		s.topic("a", 1)
		g := s.group("g")
		id := s.quiet(4, s.join(g, "")).(*kmsg.JoinGroupResponse).MemberID
		s.maskID(id)
		s.step("in an empty group").ask(s.heartbeat(g, id, 0))
		s.stable(g, 1)
		s.step("in a stable group").ask(s.heartbeat(g, id, 1))
	}},
	{"consumer groups", 0, 0, func(s *script) {
		s.topic("a", 1)
		g := s.group("g")
		m := s.consumer(g, "one", "a")
		s.step("a member of the other protocol").ask(s.heartbeat(g, "one", m.epoch))
		s.step("somebody").ask(s.heartbeat(g, "somebody", m.epoch))
	}},
}

var leaveGroupScenarios = []scenario{
	{"one member", 0, 0, func(s *script) {
		s.topic("a", 1)
		g := s.group("g")
		s.step("unknown group").ask(s.leave(g, "somebody"))
		s.step("no name").ask(s.leave("", "somebody"))
		m := s.stable(g, 1)[0]
		s.step("somebody").ask(s.leave(g, "somebody"))
		s.step("nobody").ask(s.leave(g, ""))
		s.step("the member").ask(s.leave(g, m.id))
		s.step("described").askAt(5, describeGroups(g))
		s.step("again").ask(s.leave(g, m.id))
	}},
	{"one of two", 0, 0, func(s *script) {
		s.topic("a", 1)
		g := s.group("g")
		all := s.stable(g, 2)
		s.step("the leader").ask(s.leave(g, all[0].id))
		s.step("described").askAt(5, describeGroups(g))
		s.step("the other is told").askAt(4, s.heartbeat(g, all[1].id, 2))
		s.step("and joins").askAt(5, s.join(g, all[1].id))
	}},
	{"while it rebalances", 0, 0, func(s *script) {
		s.topic("a", 1)
		g := s.group("g")
		all := s.stable(g, 2)
		all[1].send(5, s.changed(g, all[1].id))
		s.await(g, "PreparingRebalance", 2)
		s.step("the one that is waited for").ask(s.leave(g, all[0].id))
		s.step("the other")
		all[1].recorded()
	}},
	{"a pending member", 0, 0, func(s *script) {
		s.topic("a", 1)
		g := s.group("g")
		id := s.quiet(4, s.join(g, "")).(*kmsg.JoinGroupResponse).MemberID
		s.maskID(id)
		s.step("leaves").ask(s.leave(g, id))
		s.step("and joins").askAt(5, s.join(g, id))
	}},
	{"several members", 3, 0, func(s *script) {
		s.topic("a", 1)
		g := s.group("g")
		all := s.stable(g, 3)
		s.step("none").ask(s.leave(g, "", []kmsg.LeaveGroupRequestMember{}...))
		s.step("two and somebody").ask(s.leave(g, "", leaver(all[0].id, ""), leaver("somebody", ""), leaver(all[1].id, "")))
		s.step("described").askAt(5, describeGroups(g))
		s.step("the last, twice").ask(s.leave(g, "", leaver(all[2].id, ""), leaver(all[2].id, "")))
		s.step("unknown group").ask(s.leave(s.name("unknown"), "", leaver("somebody", ""), leaver("", "one")))
	}},
	{"static members", 3, 0, func(s *script) {
		s.topic("a", 1)
		g := s.group("g")
		all := s.stable(g, 3, func(i int, r *kmsg.JoinGroupRequest) { static(r, []string{"one", "two", "three"}[i]) })
		s.step("another's id").ask(s.leave(g, "", leaver("somebody", "one")))
		s.step("an instance that is not there").ask(s.leave(g, "", leaver("", "four"), leaver(all[0].id, "four")))
		s.step("by instance").ask(s.leave(g, "", leaver("", "one")))
		s.step("by both").ask(s.leave(g, "", leaver(all[1].id, "two")))
		s.step("by id").ask(s.leave(g, "", leaver(all[2].id, "")))
		s.step("described").askAt(5, describeGroups(g))
	}},
	{"consumer groups", 0, 0, func(s *script) {
		s.topic("a", 1)
		g := s.group("g")
		s.consumer(g, "one", "a")
		s.step("somebody").ask(s.leave(g, "somebody"))
		s.step("a member of the other protocol").ask(s.leave(g, "one"))
		s.step("described").askAt(1, describeConsumers(g))
	}},
	{"static members of consumer groups", 3, 0, func(s *script) {
		s.topic("a", 1)
		g := s.group("g")
		s.consumer(g, "one", "a", "instance")
		s.step("an instance that is not there").ask(s.leave(g, "", leaver("", "none")))
		s.step("another's id").ask(s.leave(g, "", leaver("somebody", "instance")))
		s.step("by instance").ask(s.leave(g, "", leaver("", "instance")))
		s.step("described").askAt(1, describeConsumers(g))
	}},
}

// changed is a join of a known member with other metadata.
func (s *script) changed(g, member string) *kmsg.JoinGroupRequest {
	req := s.join(g, member)
	req.Protocols[0].Metadata = []byte("changed")
	return req
}
