package conformance

import (
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// with changes a Fetch request.
func with(req *kmsg.FetchRequest, change func(*kmsg.FetchRequest)) *kmsg.FetchRequest {
	change(req)
	return req
}

// filled makes a topic whose partitions hold batches of 3, 1 and 2 records.
func (s *script) filled(topic string, partitions int32) {
	s.topic(topic, partitions)
	for p := range partitions {
		s.put(topic, p, s.batch("0", "1", "2"))
		z := s.batch("3")
		z.Codec = 1
		s.put(topic, p, z)
		s.put(topic, p, s.batch("4", "5"))
	}
}

// session gives a function that makes a fetch in a session, which it makes with epoch 0,
// and one that says which session that is.
func (s *script) session() (ask func(name string, epoch int32, forget []at, parts ...at), resume func(id int32)) {
	s.lastSession = 0
	resume = func(id int32) { s.lastSession = id }
	return func(name string, epoch int32, forget []at, parts ...at) {
		s.step("%s", name)
		req := with(s.fetch(parts...), func(r *kmsg.FetchRequest) {
			r.SessionID, r.SessionEpoch = s.lastSession, epoch
			for _, p := range forget {
				f := kmsg.NewFetchRequestForgottenTopic()
				f.Topic, f.TopicID, f.Partitions = s.name(p.topic), s.id(p.topic), []int32{p.index}
				r.ForgottenTopics = append(r.ForgottenTopics, f)
			}
		})
		if resp, ok := s.ask(req).(*kmsg.FetchResponse); ok && resp.SessionID != 0 {
			resume(resp.SessionID)
		}
	}, resume
}

var fetchScenarios = []scenario{
	{"offsets", 0, 0, func(s *script) {
		s.filled("a", 1)
		for _, offset := range []int64{0, 1, 2, 3, 4, 5, 6, 7, 1 << 40, -1, -2} {
			s.step("at %d", offset).ask(s.fetch(at{"a", 0, offset}))
		}
	}},
	{"empty log", 0, 0, func(s *script) {
		s.topic("a", 1)
		s.step("at 0").ask(s.fetch(at{"a", 0, 0}))
		s.step("at 1").ask(s.fetch(at{"a", 0, 1}))
		s.step("waiting in vain").ask(with(s.fetch(at{"a", 0, 0}), func(r *kmsg.FetchRequest) { r.MaxWaitMillis = 50 }))
	}},
	{"what is not there", 0, 0, func(s *script) {
		s.filled("a", 2)
		s.step("unknown topic").ask(s.fetch(at{"none", 0, 0}))
		s.step("unknown partition").ask(s.fetch(at{"a", 2, 0}, at{"a", -1, 0}))
		s.step("one of several").ask(s.fetch(at{"a", 0, 5}, at{"none", 0, 0}, at{"a", 1, 5}))
		s.step("one out of range").ask(s.fetch(at{"a", 0, 5}, at{"a", 1, 50}))
		s.step("nothing asked").ask(s.fetch())
		s.step("the same twice").ask(s.fetch(at{"a", 0, 5}, at{"a", 0, 3}))
	}},
	{"no topic id", 13, 0, func(s *script) {
		req := s.fetch(at{"a", 0, 0})
		req.Topics[0].TopicID = [16]byte{}
		s.ask(req)
	}},
	{"byte limits", 0, 0, func(s *script) {
		s.topic("a", 2)
		s.topic("b", 1)
		for range 3 {
			for _, p := range []at{{"a", 0, 0}, {"a", 1, 0}, {"b", 0, 0}} {
				s.put(p.topic, p.index, s.batch(strings.Repeat("x", 1000-71)))
			}
		}
		all := func() *kmsg.FetchRequest { return s.fetch(at{"a", 0, 0}, at{"a", 1, 0}, at{"b", 0, 0}) }
		for _, n := range []int32{0, -1, 1, 999, 1000, 1001, 2500, 3000, 5000, 1<<31 - 1} {
			s.step("%d in all", n).ask(with(all(), func(r *kmsg.FetchRequest) { r.MaxBytes = n }))
			s.step("%d each", n).ask(with(all(), func(r *kmsg.FetchRequest) {
				for i := range r.Topics {
					for j := range r.Topics[i].Partitions {
						r.Topics[i].Partitions[j].PartitionMaxBytes = n
					}
				}
			}))
		}
		s.step("the first has nothing").ask(with(s.fetch(at{"a", 0, 3}, at{"a", 1, 0}, at{"b", 0, 0}), func(r *kmsg.FetchRequest) { r.MaxBytes = 1 }))
		began := time.Now()
		s.step("min bytes above max bytes").ask(with(all(), func(r *kmsg.FetchRequest) { r.MinBytes, r.MaxBytes, r.MaxWaitMillis = 5000, 1500, 10000 }))
		if d := time.Since(began); d > 8*time.Second {
			s.t.Errorf("min bytes above max bytes: answered after %v; what fits is there at once", d)
		}
	}},
	{"waiting", 0, 0, func(s *script) {
		s.topic("a", 2)
		wait := func(name string, req *kmsg.FetchRequest, then func()) {
			req.SetVersion(s.v)
			c := s.main()
			if err := c.Send(c.Frame(req)); err != nil {
				s.t.Fatal(err)
			}
			then()
			began := time.Now()
			s.step("%s", name).answerTo(req)
			if d := time.Since(began); d > 10*time.Second {
				s.t.Errorf("%s: answered after %v", name, d)
			}
		}
		wait("an append wakes it", with(s.fetch(at{"a", 0, 0}, at{"a", 1, 0}), func(r *kmsg.FetchRequest) { r.MaxWaitMillis = 25000 }), func() { s.put("a", 1, s.batch("x")) })
		wait("enough bytes wake it", with(s.fetch(at{"a", 0, 0}), func(r *kmsg.FetchRequest) { r.MaxWaitMillis, r.MinBytes = 25000, 150 }), func() {
			s.put("a", 0, s.batch("one"))
			s.put("a", 0, s.batch("two"))
			s.put("a", 0, s.batch("three"))
		})
		asked := time.Now()
		wait("an unknown topic beside it", with(s.fetch(at{"a", 0, 3}, at{"none", 0, 0}), func(r *kmsg.FetchRequest) { r.MaxWaitMillis = 60 }), func() {})
		if d := time.Since(asked); d < 60*time.Millisecond {
			s.t.Errorf("an unknown topic beside one without data: answered after %v; clients would ask again and again", d)
		}
		wait("only unknown ones do not wait", with(s.fetch(at{"a", 7, 0}, at{"none", 0, 0}), func(r *kmsg.FetchRequest) { r.MaxWaitMillis = 25000 }), func() {})
		wait("out of range does not wait", with(s.fetch(at{"a", 0, 30}), func(r *kmsg.FetchRequest) { r.MaxWaitMillis = 25000 }), func() {})
		wait("min bytes 0 does not wait", with(s.fetch(at{"a", 0, 3}), func(r *kmsg.FetchRequest) { r.MaxWaitMillis, r.MinBytes = 25000, 0 }), func() {})
		wait("nothing asked does not wait", with(s.fetch(), func(r *kmsg.FetchRequest) { r.MaxWaitMillis = 25000 }), func() {})
		wait("too few bytes in time", with(s.fetch(at{"a", 1, 0}), func(r *kmsg.FetchRequest) { r.MaxWaitMillis, r.MinBytes = 60, 100000 }), func() {})
	}},
	{"read committed", 0, 0, func(s *script) {
		s.filled("a", 1)
		for _, level := range []int8{1, 0, 2, -1} {
			s.step("isolation level %d", level).ask(with(s.fetch(at{"a", 0, 3}), func(r *kmsg.FetchRequest) { r.IsolationLevel = level }))
		}
	}},
	{"read committed where nothing is read", 0, 0, func(s *script) {
		s.topic("a", 2)
		s.put("a", 0, s.batch(strings.Repeat("x", 1000-71)))
		s.put("a", 1, s.batch(strings.Repeat("x", 1000-71)))
		committed := func(each int32, parts ...at) *kmsg.FetchRequest {
			return with(s.fetch(parts...), func(r *kmsg.FetchRequest) {
				r.IsolationLevel = 1
				for i := range r.Topics {
					last := &r.Topics[i].Partitions[len(r.Topics[i].Partitions)-1]
					last.PartitionMaxBytes = each
				}
			})
		}
		s.step("out of range").ask(committed(1000, at{"a", 0, 5}))
		s.step("at the end").ask(committed(1000, at{"a", 0, 1}))
		s.step("unknown").ask(committed(1000, at{"a", 2, 0}, at{"none", 0, 0}))
		s.step("no bytes for the second").ask(committed(0, at{"a", 0, 0}, at{"a", 1, 0}))
		s.step("too few bytes for the second").ask(committed(999, at{"a", 0, 0}, at{"a", 1, 0}))
		s.step("enough for the second").ask(committed(1000, at{"a", 0, 0}, at{"a", 1, 0}))
	}},
	{"leader epoch", 9, 0, func(s *script) {
		s.filled("a", 1)
		for _, epoch := range []int32{-1, 0, 1, -2, 100} {
			s.step("current epoch %d", epoch).ask(with(s.fetch(at{"a", 0, 5}), func(r *kmsg.FetchRequest) { r.Topics[0].Partitions[0].CurrentLeaderEpoch = epoch }))
		}
	}},
	{"last fetched epoch", 12, 0, func(s *script) {
		s.filled("a", 1)
		for _, epoch := range []int32{-1, -2, 0, 1, 100} {
			for _, offset := range []int64{5, 6, 9} {
				s.step("last fetched epoch %d at %d", epoch, offset).ask(with(s.fetch(at{"a", 0, offset}), func(r *kmsg.FetchRequest) { r.Topics[0].Partitions[0].LastFetchedEpoch = epoch }))
			}
		}
	}},
	{"rack", 11, 0, func(s *script) {
		s.filled("a", 1)
		s.ask(with(s.fetch(at{"a", 0, 5}), func(r *kmsg.FetchRequest) { r.Rack = "somewhere" }))
	}},
	{"below the log start", 0, 0, func(s *script) {
		s.filled("a", 1)
		s.deleteRecords("a", 0, 4)
		for _, offset := range []int64{0, 3, 4, 6} {
			s.step("at %d", offset).ask(s.fetch(at{"a", 0, offset}))
		}
	}},
	{"read committed without an answer", 0, 0, func(s *script) {
		s.filled("a", 1)
		committed := func(r *kmsg.FetchRequest) { r.IsolationLevel = 1 }
		s.step("behind the end").ask(with(s.fetch(at{"a", 0, 99}), committed))
		s.step("at the end").ask(with(s.fetch(at{"a", 0, 6}), committed))
		s.step("no such partition").ask(with(s.fetch(at{"a", 9, 0}), committed))
		s.step("an epoch to come").ask(with(s.fetch(at{"a", 0, 5}), func(r *kmsg.FetchRequest) {
			committed(r)
			r.Topics[0].Partitions[0].CurrentLeaderEpoch = 100
		}))
		if s.v >= 12 {
			s.step("a log of its own").ask(with(s.fetch(at{"a", 0, 99}), func(r *kmsg.FetchRequest) {
				committed(r)
				r.Topics[0].Partitions[0].LastFetchedEpoch = 0
			}))
		}
	}},
	{"session", 7, 0, func(s *script) {
		s.filled("a", 3)
		s.filled("b", 1)
		session := int32(0)
		ask := func(name string, id, epoch int32, parts ...at) {
			s.step("%s", name)
			if resp, ok := s.ask(with(s.fetch(parts...), func(r *kmsg.FetchRequest) { r.SessionID, r.SessionEpoch = id, epoch })).(*kmsg.FetchResponse); ok && resp.SessionID != 0 {
				session = resp.SessionID
			}
		}
		ask("create", 0, 0, at{"a", 0, 6}, at{"a", 1, 5}, at{"b", 0, 6})
		ask("nothing new", session, 1)
		ask("nothing new, one has data that was not taken", session, 2)
		ask("the offset moves on", session, 3, at{"a", 1, 6})
		ask("nothing at all", session, 4)
		s.put("a", 0, s.batch("new"))
		ask("data for one", session, 5)
		ask("taken", session, 6, at{"a", 0, 7})
		ask("one more partition", session, 7, at{"a", 2, 4})
		s.step("one less").ask(with(s.fetch(), func(r *kmsg.FetchRequest) {
			r.SessionID, r.SessionEpoch = session, 8
			f := kmsg.NewFetchRequestForgottenTopic()
			f.Topic, f.TopicID, f.Partitions = s.name("a"), s.id("a"), []int32{2}
			r.ForgottenTopics = append(r.ForgottenTopics, f)
		}))
		ask("out of range", session, 9, at{"a", 1, 99})
		ask("still out of range", session, 10)
		ask("in range again", session, 11, at{"a", 1, 6})
		ask("unknown partition", session, 12, at{"a", 9, 0})
		s.deleteRecords("b", 0, 2)
		ask("the log start moved", session, 13)
		ask("epoch repeated", session, 13)
		ask("epoch too high", session, 20)
		ask("epoch goes on", session, 14)
		ask("replaced", session, 0, at{"a", 0, 7})
		ask("the new one", session, 1)
		ask("closed", session, -1)
		ask("after the end", session, 2)
	}},
	{"session that is not there", 7, 0, func(s *script) {
		s.filled("a", 1)
		for _, c := range [][2]int32{{12345, 1}, {12345, 0}, {12345, -1}, {0, 1}, {0, -1}, {-5, 1}, {0, -2}, {0, 0}} {
			s.step("id %d epoch %d", c[0], c[1]).ask(with(s.fetch(at{"a", 0, 5}), func(r *kmsg.FetchRequest) { r.SessionID, r.SessionEpoch = c[0], c[1] }))
		}
		s.step("a new one of nothing").ask(with(s.fetch(), func(r *kmsg.FetchRequest) { r.SessionID, r.SessionEpoch = 0, 0 }))
	}},
	{"session with an unknown topic", 7, 0, func(s *script) {
		s.filled("a", 1)
		resp := s.step("create").ask(with(s.fetch(at{"a", 0, 6}, at{"none", 0, 0}), func(r *kmsg.FetchRequest) { r.SessionEpoch = 0 })).(*kmsg.FetchResponse)
		for epoch := int32(1); epoch <= 2; epoch++ {
			s.step("epoch %d", epoch).ask(with(s.fetch(), func(r *kmsg.FetchRequest) { r.SessionID, r.SessionEpoch = resp.SessionID, epoch }))
		}
	}},
	{"session, a partition named twice", 7, 0, func(s *script) {
		s.filled("a", 2)
		ask, _ := s.session()
		ask("twice", 0, nil, at{"a", 0, 0}, at{"a", 1, 6}, at{"a", 0, 5})
		ask("which offset stays", 1, nil)
		ask("twice again", 2, nil, at{"a", 0, 0}, at{"a", 0, 4})
		ask("which offset stays then", 3, nil)
		ask("named and forgotten at once", 4, []at{{"a", 0, 0}, {"a", 1, 0}}, at{"a", 1, 0}, at{"a", 1, 5})
	}},
	{"session of nothing", 7, 0, func(s *script) {
		s.filled("a", 1)
		ask, resume := s.session()
		ask("made of nothing", 0, nil)
		ask("still nothing", 1, nil)
		ask("it has ended", 2, nil)
		resume(0)
		ask("made of one", 0, nil, at{"a", 0, 5})
		ask("the only one is forgotten", 1, []at{{"a", 0, 0}})
		ask("it has ended too", 2, nil)
		resume(0)
		ask("made of one again", 0, nil, at{"a", 0, 6})
		ask("another is named and forgotten with it", 1, []at{{"a", 0, 0}, {"b", 0, 0}}, at{"b", 0, 0})
	}},
	{"session, whose turn it is", 7, 0, func(s *script) {
		s.topic("a", 3)
		for p := range int32(3) {
			for range 2 {
				s.put("a", p, s.batch(strings.Repeat("x", 1000-71)))
			}
		}
		_, resume := s.session()
		req := with(s.fetch(at{"a", 0, 0}, at{"a", 1, 0}, at{"a", 2, 0}), func(r *kmsg.FetchRequest) { r.SessionEpoch, r.MaxBytes = 0, 1000 })
		resume(s.step("made").ask(req).(*kmsg.FetchResponse).SessionID)
		for epoch := int32(1); epoch <= 5; epoch++ {
			id := s.lastSession
			s.step("epoch %d", epoch).ask(with(s.fetch(), func(r *kmsg.FetchRequest) { r.SessionID, r.SessionEpoch, r.MaxBytes = id, epoch, 1000 }))
		}
	}},
	{"session over a topic that is deleted and made again", 7, 0, func(s *script) {
		s.filled("a", 2)
		s.filled("b", 1)
		ask, _ := s.session()
		ask("create", 0, nil, at{"a", 0, 6}, at{"a", 1, 6}, at{"a", 9, 0}, at{"b", 0, 6})
		old := s.id("a")
		s.delete("a")
		s.settled()
		ask("deleted", 1, nil)
		ask("still deleted", 2, nil)
		s.filled("a", 2)
		s.settled()
		ask("made again", 3, nil)
		now := s.id("a")
		s.byName["a"] = old
		ask("named by the old id", 4, nil, at{"a", 1, 5})
		ask("the old one is forgotten", 5, []at{{"a", 0, 0}, {"a", 1, 0}, {"a", 9, 0}})
		s.byName["a"] = now
		ask("named by the new id", 6, nil, at{"a", 0, 5})
	}},
	{"session by names and then by ids", 12, 13, func(s *script) {
		s.filled("a", 1)
		other := int16(12 + 13 - s.v)
		resp := s.step("create").ask(with(s.fetch(at{"a", 0, 5}), func(r *kmsg.FetchRequest) { r.SessionEpoch = 0 })).(*kmsg.FetchResponse)
		s.step("the other way").askAt(other, with(s.fetch(at{"a", 0, 6}), func(r *kmsg.FetchRequest) { r.SessionID, r.SessionEpoch = resp.SessionID, 1 }))
	}},
	{"session whose topic is replaced", 7, 0, func(s *script) {
		s.filled("a", 1)
		s.filled("b", 2)
		resp := s.step("create").ask(with(s.fetch(at{"a", 0, 6}, at{"b", 0, 6}, at{"b", 1, 6}), func(r *kmsg.FetchRequest) { r.SessionEpoch = 0 })).(*kmsg.FetchResponse)
		epoch := int32(0)
		next := func() *kmsg.FetchRequest {
			epoch++
			return with(s.fetch(), func(r *kmsg.FetchRequest) { r.SessionID, r.SessionEpoch = resp.SessionID, epoch })
		}
		s.delete("b")
		s.step("deleted").ask(next())
		s.topic("b", 1)
		s.step("made again with one partition").ask(next())
		s.step("still").ask(next())
		if s.v >= 13 {
			s.step("the new one beside it").ask(with(s.fetch(at{"b", 0, 0}), func(r *kmsg.FetchRequest) { epoch++; r.SessionID, r.SessionEpoch = resp.SessionID, epoch }))
		}
	}},
	{"a topic that was deleted", 0, 0, func(s *script) {
		s.filled("a", 1)
		s.step("before").ask(s.fetch(at{"a", 0, 5}))
		s.delete("a")
		s.step("after").ask(s.fetch(at{"a", 0, 5}))
	}},
}
