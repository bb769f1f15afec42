package conformance

import (
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"
)

var offsetCommitScenarios = []scenario{
	{"without members", 0, 0, func(s *script) {
		s.topic("a", 2)
		s.topic("b", 1)
		g := s.group("g")
		s.step("first").ask(s.commit(g, offset{"a", 0, 5, "m"}, offset{"a", 1, 0, ""}, offset{"b", 0, 7, "x"}))
		s.kept(g)
		s.step("back").ask(s.commit(g, offset{"a", 0, 3, ""}))
		s.kept(g)
		s.step("the same partition twice").ask(s.commit(g, offset{"a", 0, 1, "first"}, offset{"a", 0, 2, "second"}))
		s.kept(g)
	}},
	{"offsets", 0, 0, func(s *script) {
		s.topic("a", 1)
		g := s.group("g")
		for _, o := range []int64{-1, -2, 1 << 62, 0} {
			s.step("%d", o).ask(s.commit(g, offset{"a", 0, o, ""}))
			s.kept(g)
		}
	}},
	{"leader epoch", 6, 0, func(s *script) {
		s.topic("a", 1)
		g := s.group("g")
		for _, e := range []int32{-1, 0, 5, -2} {
			req := s.commit(g, offset{"a", 0, 1, ""})
			req.Topics[0].Partitions[0].LeaderEpoch = e
			s.step("%d", e).ask(req)
			s.kept(g)
		}
	}},
	{"metadata", 0, 0, func(s *script) {
		s.topic("a", 2)
		g := s.group("g")
		for _, m := range []string{"", "plain", "\x00\x01 \u00e4\u4e16\U0001f600", strings.Repeat("m", 4096)} {
			s.step("%d bytes", len(m)).ask(s.commit(g, offset{"a", 0, 1, m}))
			s.kept(g)
		}
		s.step("too long for one of two").ask(s.commit(g, offset{"a", 0, 2, strings.Repeat("m", 4097)}, offset{"a", 1, 2, "short"}))
		s.kept(g)
		s.step("4096 bytes in fewer characters").ask(s.commit(g, offset{"a", 0, 3, strings.Repeat("\u00e4", 2048)}))
		s.step("more than 4096 bytes in fewer characters").ask(s.commit(g, offset{"a", 0, 4, strings.Repeat("\u00e4", 3000)}))
		null := s.commit(g, offset{"a", 0, 5, ""})
		null.Topics[0].Partitions[0].Metadata = nil
		s.step("null").ask(null)
		s.step("what is committed after null").askAt(8, s.fetchOffsets(g, some{"a", 0}))
	}},
	{"what is not there", 0, 0, func(s *script) {
		s.topic("a", 1)
		g := s.group("g")
		s.step("topic").ask(s.commit(g, offset{"none", 0, 1, ""}))
		s.step("partition").ask(s.commit(g, offset{"a", 1, 1, ""}))
		s.step("partition -1").ask(s.commit(g, offset{"a", -1, 1, ""}))
		s.step("one of three").ask(s.commit(g, offset{"none", 0, 1, ""}, offset{"a", 0, 1, ""}, offset{"a", 9, 1, ""}))
		s.step("no topic").ask(s.commit(g))
		none := s.commit(g, offset{"a", 0, 1, ""})
		none.Topics[0].Partitions = nil
		s.step("no partition").ask(none)
		none = s.commit(g, offset{"none", 0, 1, ""}, offset{"a", 0, 1, ""})
		none.Topics[0].Partitions, none.Topics[1].Partitions = nil, nil
		s.step("no partition of two topics").ask(none)
		s.kept(g)
	}},
	{"unknown groups", 0, 0, func(s *script) {
		s.topic("a", 1)
		s.group("g")
		s.step("no name").ask(s.commit("", offset{"a", 0, 1, ""}))
		for _, c := range []struct {
			member     string
			generation int32
		}{{"", 0}, {"", 3}, {"somebody", 1}, {"somebody", -1}, {"", -2}} {
			s.step("member %q of generation %d", c.member, c.generation).ask(s.committing(s.name("u"), c.member, c.generation, offset{"a", 0, 1, ""}))
		}
		s.kept(s.name("u"))
	}},
	{"members", 0, 0, func(s *script) {
		s.topic("a", 1)
		g := s.group("g")
		m := s.stable(g, 1)[0]
		for _, c := range []struct {
			name, member string
			generation   int32
		}{{"right", m.id, 1}, {"older", m.id, 0}, {"newer", m.id, 2}, {"-1", m.id, -1}, {"somebody", "somebody", 1}, {"somebody", "somebody", -1}, {"nobody", "", -1}, {"nobody", "", 1}} {
			s.step("%s, generation %d", c.name, c.generation).ask(s.committing(g, c.member, c.generation, offset{"a", 0, 4, c.name}))
		}
		s.kept(g)
		m.send(2, s.leave(g, m.id))
		m.answer()
		s.await(g, "Empty", 0)
		for _, c := range []struct {
			name, member string
			generation   int32
		}{{"nobody", "", -1}, {"who left", m.id, 1}, {"who left", m.id, 2}, {"somebody", "somebody", -1}} {
			s.step("of an empty group: %s, generation %d", c.name, c.generation).ask(s.committing(g, c.member, c.generation, offset{"a", 0, 5, c.name}))
		}
		s.kept(g)
	}},
	{"while it rebalances", 0, 0, func(s *script) {
		s.topic("a", 1)
		g := s.group("g")
		m := s.completing(g, 1)[0]
		s.step("completing").ask(s.committing(g, m.id, 1, offset{"a", 0, 1, ""}))
		s.step("completing, older").ask(s.committing(g, m.id, 0, offset{"a", 0, 1, ""}))
		s.synced(g, []*classicMember{m})
		second := s.caller()
		second.send(3, s.join(g, ""))
		s.await(g, "PreparingRebalance", 2)
		s.step("preparing").ask(s.committing(g, m.id, 1, offset{"a", 0, 2, "prepared"}))
		s.step("preparing, older").ask(s.committing(g, m.id, 0, offset{"a", 0, 3, ""}))
		s.kept(g)
	}},
	{"static members", 7, 0, func(s *script) {
		s.topic("a", 1)
		g := s.group("g")
		m := s.stable(g, 1, func(_ int, req *kmsg.JoinGroupRequest) { static(req, "one") })[0]
		commit := func(what, member, instance string, generation int32) {
			req := s.committing(g, member, generation, offset{"a", 0, 1, what})
			req.InstanceID = &instance
			s.step("%s", what).ask(req)
		}
		commit("right", m.id, "one", 1)
		commit("another's id", "somebody", "one", 1)
		commit("an instance that is not there", m.id, "two", 1)
		commit("an instance without a name", m.id, "", 1)
		commit("an instance without a name and nobody", "", "", -1)
		commit("older", m.id, "one", 0)
		commit("no id", "", "one", 1)
		s.step("without its instance").ask(s.committing(g, m.id, 1, offset{"a", 0, 1, "without"}))
		s.kept(g)
	}},
	{"other kinds of groups", 0, 0, func(s *script) {
		s.topic("a", 1)
		g := s.group("g")
		m := s.stable(g, 1, func(_ int, req *kmsg.JoinGroupRequest) { req.ProtocolType = "connect" })[0]
		s.step("member").ask(s.committing(g, m.id, 1, offset{"a", 0, 1, ""}))
		s.step("nobody").ask(s.commit(g, offset{"a", 0, 2, ""}))
		s.kept(g)
	}},
	{"members of consumer groups", 0, 0, func(s *script) {
		s.topic("a", 2)
		g := s.group("g")
		m := s.consumer(g, "one", "a")
		for _, c := range []struct {
			name, member string
			epoch        int32
		}{{"right", "one", m.epoch}, {"newer", "one", m.epoch + 1}, {"older", "one", m.epoch - 1}, {"-1", "one", -1}, {"somebody", "somebody", m.epoch}, {"nobody", "", -1}, {"nobody", "", 1}} {
			s.step("%s", c.name).ask(s.committing(g, c.member, c.epoch, offset{"a", 0, 4, c.name}))
		}
		s.kept(g)
		s.quiet(1, s.leaving(g, "one", -1))
		s.step("empty, nobody").ask(s.commit(g, offset{"a", 0, 5, "empty"}))
		s.step("empty, who left").ask(s.committing(g, "one", m.epoch, offset{"a", 0, 6, "left"}))
		s.kept(g)
	}},
	{"retention", 2, 4, func(s *script) {
		s.topic("a", 1)
		g := s.group("g")
		for _, ms := range []int64{-1, 0, 1000, 86_400_000} {
			req := s.commit(g, offset{"a", 0, ms, ""})
			req.RetentionTimeMillis = ms
			s.step("%d ms", ms).ask(req)
		}
		s.kept(g)
	}},
	{"a topic that is made again", 0, 0, func(s *script) {
		s.topic("a", 1)
		g := s.group("g")
		s.step("first").ask(s.commit(g, offset{"a", 0, 5, "of the first"}))
		s.delete("a")
		s.forgotten(g, "a")
		s.topic("a", 1)
		s.kept(g)
		s.step("second").ask(s.commit(g, offset{"a", 0, 1, "of the second"}))
		s.kept(g)
	}},
}

// forgotten waits until a group has no offset of a deleted topic.
func (s *script) forgotten(g, topic string) {
	s.t.Helper()
	s.until("the offsets of the deleted topic are gone", func() bool {
		resp := s.quiet(8, s.fetchOffsets(g, some{topic, 0})).(*kmsg.OffsetFetchResponse)
		return resp.Groups[0].Topics[0].Partitions[0].Offset == -1
	})
}

var offsetFetchScenarios = []scenario{
	{"what is committed", 0, 0, func(s *script) {
		s.topic("a", 3)
		s.topic("b", 1)
		g := s.group("g")
		req := s.commit(g, offset{"a", 0, 5, "m"}, offset{"a", 1, 0, ""}, offset{"b", 0, 7, "x"})
		req.Topics[0].Partitions[0].LeaderEpoch = 0
		s.quiet(9, req)
		s.step("one").ask(s.fetchOffsets(g, some{"a", 0}))
		s.step("several").ask(s.fetchOffsets(g, some{"a", 1}, some{"a", 0}, some{"b", 0}))
		s.step("one that has none").ask(s.fetchOffsets(g, some{"a", 2}))
		s.step("the same twice").ask(s.fetchOffsets(g, some{"a", 0}, some{"a", 0}))
		s.step("a topic twice").ask(s.fetchOffsets(g, some{"a", 0}, some{"b", 0}, some{"a", 1}))
	}},
	{"what is not there", 0, 0, func(s *script) {
		s.topic("a", 1)
		g := s.group("g")
		s.step("group").ask(s.fetchOffsets(g, some{"a", 0}))
		s.quiet(9, s.commit(g, offset{"a", 0, 1, ""}))
		s.step("topic").ask(s.fetchOffsets(g, some{"none", 0}))
		s.step("partition").ask(s.fetchOffsets(g, some{"a", 7}))
		s.step("partition -1").ask(s.fetchOffsets(g, some{"a", -1}))
		s.step("one of two").ask(s.fetchOffsets(g, some{"a", 0}, some{"none", 0}))
		s.step("no name").ask(s.fetchOffsets("", some{"a", 0}))
		none := s.fetchOffsets(g)
		none.Topics, none.Groups[0].Topics = []kmsg.OffsetFetchRequestTopic{}, []kmsg.OffsetFetchRequestGroupTopic{}
		s.step("no topic").ask(none)
		none = s.fetchOffsets(g, some{"a", 0})
		none.Topics[0].Partitions, none.Groups[0].Topics[0].Partitions = nil, nil
		s.step("no partition").ask(none)
	}},
	{"all", 2, 0, func(s *script) {
		s.topic("a", 2)
		s.topic("b", 1)
		g := s.group("g")
		s.step("of no group").ask(s.fetchOffsets(g))
		s.quiet(9, s.commit(g, offset{"a", 1, 5, "m"}, offset{"b", 0, 7, "x"}))
		s.step("of a group").ask(s.fetchOffsets(g))
		s.delete("b")
		s.forgotten(g, "b")
		s.step("after one topic was deleted").ask(s.fetchOffsets(g))
	}},
	{"stable offsets only", 7, 0, func(s *script) {
		s.topic("a", 2)
		g := s.group("g")
		s.quiet(9, s.commit(g, offset{"a", 0, 5, "m"}))
		req := s.fetchOffsets(g, some{"a", 0}, some{"a", 1})
		req.RequireStable = true
		s.step("some").ask(req)
		req = s.fetchOffsets(g)
		req.RequireStable = true
		s.step("all").ask(req)
	}},
	{"several groups", 8, 0, func(s *script) {
		s.topic("a", 1)
		g, h := s.group("g"), s.group("h")
		s.quiet(9, s.commit(g, offset{"a", 0, 5, "of g"}))
		s.quiet(9, s.commit(h, offset{"a", 0, 6, "of h"}))
		req := s.fetchOffsets(g, some{"a", 0})
		req.Groups = append(req.Groups, s.fetchOffsets(h).Groups[0], s.fetchOffsets(s.name("unknown"), some{"a", 0}).Groups[0])
		s.step("three").ask(req)
		req = s.fetchOffsets(g, some{"a", 0})
		req.Groups = append(req.Groups, s.fetchOffsets("", some{"a", 0}).Groups[0], s.fetchOffsets(g).Groups[0])
		s.step("one without a name, one twice").ask(req)
		req.Groups = nil
		s.step("none").ask(req)
	}},
	{"by members", 9, 0, func(s *script) {
		s.topic("a", 1)
		g, c, simple := s.group("g"), s.group("c"), s.group("s")
		m := s.stable(g, 1)[0]
		s.quiet(9, s.committing(g, m.id, 1, offset{"a", 0, 5, "classic"}))
		k := s.consumer(c, "one", "a")
		s.quiet(9, s.committing(c, "one", k.epoch, offset{"a", 0, 6, "consumer"}))
		s.quiet(9, s.commit(simple, offset{"a", 0, 7, "simple"}))
		fetch := func(what, group, member string, epoch int32) {
			for _, req := range []*kmsg.OffsetFetchRequest{s.fetchOffsets(group, some{"a", 0}), s.fetchOffsets(group)} {
				req.Groups[0].MemberID, req.Groups[0].MemberEpoch = &member, epoch
				s.step("%s", what).ask(req)
			}
		}
		fetch("classic", g, m.id, 1)
		fetch("classic, older", g, m.id, 0)
		fetch("classic, somebody", g, "somebody", 1)
		fetch("consumer", c, "one", k.epoch)
		fetch("consumer, newer", c, "one", k.epoch+1)
		fetch("consumer, older", c, "one", k.epoch-1)
		fetch("consumer, -1", c, "one", -1)
		fetch("consumer, somebody", c, "somebody", k.epoch)
		fetch("consumer, nobody", c, "", -1)
		fetch("consumer, nobody of an epoch", c, "", 1)
		fetch("simple, somebody", simple, "somebody", 1)
		fetch("unknown, somebody", s.name("unknown"), "somebody", 1)
	}},
	{"of another topic of the name", 10, 0, func(s *script) {
		s.topic("a", 1)
		g := s.group("g")
		s.quiet(10, s.commit(g, offset{"a", 0, 5, "m"}))
		before := s.fetchOffsets(g, some{"a", 0})
		s.delete("a")
		s.forgotten(g, "a")
		s.step("of the deleted").ask(before)
		s.topic("a", 1)
		s.step("of the new").ask(s.fetchOffsets(g, some{"a", 0}))
		s.step("of the deleted, now that there is a new").ask(before)
		zero := s.fetchOffsets(g, some{"a", 0})
		zero.Groups[0].Topics[0].TopicID = [16]byte{}
		s.step("of no id").ask(zero)
	}},
}

// offsetDelete makes an OffsetDelete request.
func (s *script) offsetDelete(g string, partitions ...some) *kmsg.OffsetDeleteRequest {
	req := kmsg.NewPtrOffsetDeleteRequest()
	req.Group = g
	for i, p := range partitions {
		if i == 0 || partitions[i-1].topic != p.topic {
			t := kmsg.NewOffsetDeleteRequestTopic()
			t.Topic = s.name(p.topic)
			req.Topics = append(req.Topics, t)
		}
		t := &req.Topics[len(req.Topics)-1]
		t.Partitions = append(t.Partitions, kmsg.OffsetDeleteRequestTopicPartition{Partition: p.partition})
	}
	return req
}

var offsetDeleteScenarios = []scenario{
	{"without members", 0, 0, func(s *script) {
		s.topic("a", 3)
		g := s.group("g")
		s.quiet(9, s.commit(g, offset{"a", 0, 5, ""}, offset{"a", 1, 6, ""}))
		s.step("one").ask(s.offsetDelete(g, some{"a", 0}))
		s.kept(g)
		s.step("again, and one never committed").ask(s.offsetDelete(g, some{"a", 0}, some{"a", 2}))
		s.step("topic that is not there").ask(s.offsetDelete(g, some{"none", 0}))
		s.step("partition that is not there").ask(s.offsetDelete(g, some{"a", 9}))
		s.step("one of two").ask(s.offsetDelete(g, some{"a", 1}, some{"none", 0}))
		s.step("nothing").ask(s.offsetDelete(g))
		none := s.offsetDelete(g, some{"a", 0}, some{"none", 0})
		none.Topics[0].Partitions, none.Topics[1].Partitions = nil, nil
		s.step("no partition").ask(none)
		s.kept(g)
	}},
	{"groups that are not there", 0, 0, func(s *script) {
		s.topic("a", 1)
		s.group("g")
		s.step("unknown").ask(s.offsetDelete(s.name("unknown"), some{"a", 0}))
		s.step("no name").ask(s.offsetDelete("", some{"a", 0}))
	}},
	{"classic members", 0, 0, func(s *script) {
		s.topic("a", 1)
		s.topic("b", 1)
		g, connect := s.group("g"), s.group("connect")
		m := s.stable(g, 1)[0]
		s.quiet(9, s.committing(g, m.id, 1, offset{"a", 0, 5, ""}, offset{"b", 0, 6, ""}))
		s.step("subscribed, and not").ask(s.offsetDelete(g, some{"a", 0}, some{"b", 0}))
		s.kept(g)
		second := s.caller()
		second.send(3, s.join(g, ""))
		s.await(g, "PreparingRebalance", 2)
		s.step("while it rebalances").ask(s.offsetDelete(g, some{"a", 0}, some{"b", 0}))
		changed := s.join(g, m.id)
		changed.Protocols = []kmsg.JoinGroupRequestProtocol{protocol("range", subscription(s.name("b")))}
		m.send(5, changed)
		second.answer()
		m.answer()
		s.step("once the members read another").ask(s.offsetDelete(g, some{"a", 0}, some{"b", 0}))
		m.send(5, s.join(g, m.id))
		s.await(g, "PreparingRebalance", 2)
		s.step("before they read it no more").ask(s.offsetDelete(g, some{"a", 0}, some{"b", 0}))
		c := s.stable(connect, 1, func(_ int, req *kmsg.JoinGroupRequest) { req.ProtocolType = "connect" })[0]
		s.quiet(9, s.committing(connect, c.id, 1, offset{"a", 0, 5, ""}))
		s.step("of another kind").ask(s.offsetDelete(connect, some{"a", 0}))
	}},
	{"members of consumer groups", 0, 0, func(s *script) {
		s.topic("a", 1)
		s.topic("b", 1)
		g := s.group("g")
		m := s.consumer(g, "one", "a")
		s.quiet(9, s.committing(g, "one", m.epoch, offset{"a", 0, 5, ""}, offset{"b", 0, 6, ""}))
		s.step("subscribed, and not").ask(s.offsetDelete(g, some{"a", 0}, some{"b", 0}))
		s.kept(g)
		s.quiet(1, s.leaving(g, "one", -1))
		s.step("empty").ask(s.offsetDelete(g, some{"a", 0}))
		s.kept(g)
	}},
}
