package conformance

import (
	"fmt"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// newTopic describes a topic for CreateTopics.
type newTopic struct {
	name        string
	partitions  int32
	replication int16
	assignment  [][]int32 // replicas of partitions 0, 1...
	configs     []string  // key, value pairs; "null" is null
}

func (s *script) creation(topics ...newTopic) *kmsg.CreateTopicsRequest {
	req := kmsg.NewPtrCreateTopicsRequest()
	req.TimeoutMillis = 20000
	for _, n := range topics {
		t := kmsg.NewCreateTopicsRequestTopic()
		t.Topic, t.NumPartitions, t.ReplicationFactor = s.name(n.name), n.partitions, n.replication
		for p, replicas := range n.assignment {
			t.ReplicaAssignment = append(t.ReplicaAssignment, kmsg.CreateTopicsRequestTopicReplicaAssignment{Partition: int32(p), Replicas: replicas})
		}
		for i := 0; i+1 < len(n.configs); i += 2 {
			c := kmsg.NewCreateTopicsRequestTopicConfig()
			c.Name, c.Value = n.configs[i], nullable(n.configs[i+1])
			t.Configs = append(t.Configs, c)
		}
		req.Topics = append(req.Topics, t)
	}
	return req
}

var createTopicsScenarios = []scenario{
	{"numbers", 0, 0, func(s *script) {
		for _, c := range []struct {
			name        string
			partitions  int32
			replication int16
		}{
			{"one", 1, 1}, {"three", 3, 1}, {"defaults", -1, -1}, {"default-partitions", -1, 1}, {"default-replication", 2, -1},
			{"no-partitions", 0, 1}, {"minus-two", -2, 1}, {"minus-five", -5, 1}, {"no-replication", 1, 0}, {"replication-minus-two", 1, -2}, {"two-replicas", 1, 2}, {"many-replicas", 1, 1000},
			{"both-wrong", 0, 0},
		} {
			s.step("%s", c.name).ask(s.creation(newTopic{name: c.name, partitions: c.partitions, replication: c.replication}))
		}
	}},
	{"too many partitions", 0, 0, func(s *script) {
		many := newTopic{name: "a", partitions: 1_000_000_000, replication: 1}
		s.step("a thousand million").ask(s.creation(many))
		twice := newTopic{name: "b", partitions: 1, replication: 1}
		s.step("and others").ask(s.creation(twice, many, twice, newTopic{name: "=a/b", partitions: 0, replication: 9}))
		s.step("named twice").ask(s.creation(many, many, twice))
	}},
	{"names", 0, 0, func(s *script) {
		long := strings.Repeat("l", 249-len(s.prefix))
		for _, n := range []string{"=", "=.", "=..", "sl/ash", "sp ace", "ümlaut", "new\nline", "nul\x00", "a:b", "a,b", "Under_and-dash", "249" + long[3:], "250" + long[2:]} {
			s.step("%.12q", n).ask(s.creation(newTopic{name: n, partitions: 1, replication: 1}))
		}
	}},
	{"names that exist", 0, 0, func(s *script) {
		s.topic("a.b", 1)
		s.step("again").ask(s.creation(newTopic{name: "a.b", partitions: 1, replication: 1}))
		s.step("collides").ask(s.creation(newTopic{name: "a_b", partitions: 1, replication: 1}))
		s.step("again, wrongly").ask(s.creation(newTopic{name: "a.b", partitions: 0, replication: 9}))
		s.step("twice").ask(s.creation(newTopic{name: "c", partitions: 1, replication: 1}, newTopic{name: "d", partitions: 1, replication: 1}, newTopic{name: "c", partitions: 2, replication: 1}))
		s.step("collide in one request").ask(s.creation(newTopic{name: "e.f", partitions: 1, replication: 1}, newTopic{name: "e_f", partitions: 1, replication: 1}))
		s.exists("a.b", "a_b", "c", "d")
	}},
	{"of two that collide one is deleted", 0, 0, func(s *script) {
		e, f := newTopic{name: "e.f", partitions: 1, replication: 1}, newTopic{name: "e_f", partitions: 1, replication: 1}
		for _, names := range [][]string{{"e.f", "e_f"}, {"e_f", "e.f"}} {
			s.quiet(4, s.creation(e, f))
			s.settled()
			for _, name := range names {
				s.delete(name)
				for _, t := range []newTopic{e, f} {
					req := s.creation(t)
					req.ValidateOnly = true
					s.step("%s without %s", t.name, name).ask(req)
				}
			}
		}
	}},
	{"several", 0, 0, func(s *script) {
		s.step("one bad").ask(s.creation(newTopic{name: "a", partitions: 1, replication: 1}, newTopic{name: "b", partitions: 0, replication: 1}, newTopic{name: "c", partitions: 2, replication: 1}))
		s.step("none").ask(s.creation())
		s.exists("a", "b", "c")
	}},
	{"validate only", 0, 0, func(s *script) {
		for _, n := range []newTopic{{name: "a", partitions: 2, replication: 1}, {name: "a", partitions: -1, replication: 1}, {name: "a", partitions: 0, replication: 1}, {name: "a", partitions: 1, replication: 3},
			{name: "a", partitions: 1, replication: 1, configs: []string{"retention.ms", "x"}}, {name: "a", partitions: 1, replication: 1, configs: []string{"retention.ms", "1000"}}, {name: "a", partitions: -1, replication: -1, assignment: [][]int32{{1}, {1}}}} {
			req := s.creation(n)
			req.ValidateOnly = true
			s.step("%d partitions %d replicas %v", n.partitions, n.replication, n.configs).ask(req)
		}
		s.exists("a")
		s.topic("b", 1)
		req := s.creation(newTopic{name: "b", partitions: 1, replication: 1})
		req.ValidateOnly = true
		s.step("exists").ask(req)
	}},
	{"assignments", 0, 0, func(s *script) {
		for i, c := range []struct {
			name        string
			partitions  int32
			replication int16
			assignment  [][]int32
		}{
			{"good", -1, -1, [][]int32{{1}, {1}}}, {"numbers too", 2, 1, [][]int32{{1}, {1}}}, {"partitions too", 2, -1, [][]int32{{1}, {1}}}, {"replication too", -1, 1, [][]int32{{1}, {1}}},
			{"unknown broker", -1, -1, [][]int32{{7}}}, {"a broker twice", -1, -1, [][]int32{{1, 1}}}, {"no replicas", -1, -1, [][]int32{{}}}, {"uneven", -1, -1, [][]int32{{1}, {1, 7}}},
			{"broker -1", -1, -1, [][]int32{{-1}}}, {"known and unknown", -1, -1, [][]int32{{1, 7}}},
		} {
			s.step("%s", c.name).ask(s.creation(newTopic{name: fmt.Sprint("t", i), partitions: c.partitions, replication: c.replication, assignment: c.assignment}))
		}
		for i, c := range [][]int32{{1}, {0, 2}, {0, 0}, {-1}, {1, 0}} {
			req := s.creation(newTopic{name: fmt.Sprint("p", i), partitions: -1, replication: -1})
			for _, p := range c {
				req.Topics[0].ReplicaAssignment = append(req.Topics[0].ReplicaAssignment, kmsg.CreateTopicsRequestTopicReplicaAssignment{Partition: p, Replicas: []int32{1}})
			}
			s.step("partitions %v", c).ask(req)
		}
		s.exists("t0", "p4")
	}},
	{"configs", 0, 0, func(s *script) {
		for i, c := range [][]string{
			{"retention.ms", "1000"}, {"retention.ms", "-1"}, {"retention.ms", "-2"}, {"retention.ms", "x"}, {"retention.ms", ""}, {"retention.ms", "null"}, {"retention.ms", " 1000 "},
			{"cleanup.policy", "compact"}, {"cleanup.policy", "compact,delete"}, {"cleanup.policy", "delete, compact"}, {"cleanup.policy", ""}, {"cleanup.policy", "keep"}, {"cleanup.policy", "delete,delete"},
			{"segment.bytes", "1048575"}, {"segment.bytes", "1048576"}, {"max.message.bytes", "-1"}, {"max.message.bytes", "0"}, {"min.insync.replicas", "0"}, {"min.insync.replicas", "5"},
			{"compression.type", "zstd"}, {"compression.type", "brotli"}, {"compression.gzip.level", "0"}, {"compression.gzip.level", "10"}, {"compression.lz4.level", "18"}, {"compression.zstd.level", "23"},
			{"message.timestamp.type", "LogAppendTime"}, {"message.timestamp.type", "logappendtime"}, {"preallocate", "true"}, {"preallocate", "yes"}, {"unclean.leader.election.enable", "TRUE"},
			{"no.such.config", "1"}, {"message.downconversion.enable", "false"}, {"message.format.version", "2.8"}, {"min.cleanable.dirty.ratio", "1.5"}, {"min.cleanable.dirty.ratio", "0.2"},
			{"min.compaction.lag.ms", "10", "max.compaction.lag.ms", "5"}, {"retention.bytes", "99999999999999999999"}, {"segment.ms", "0"}, {"segment.jitter.ms", "-1"}, {"index.interval.bytes", "-1"}, {"segment.index.bytes", "3"},
			{"retention.ms", "1", "retention.ms", "2"}, {"remote.storage.enable", "true"}, {"local.retention.ms", "-3"}, {"local.retention.ms", "5000", "retention.ms", "1000"}, {"leader.replication.throttled.replicas", "0:1"}, {"leader.replication.throttled.replicas", "x"},
			{"flush.messages", "0"}, {"flush.ms", "0"}, {"file.delete.delay.ms", "-1"}, {"delete.retention.ms", "-1"}, {"message.timestamp.before.max.ms", "-1"}, {"message.timestamp.after.max.ms", "-1"},
		} {
			s.step("%s", strings.Join(c, " ")).ask(s.creation(newTopic{name: fmt.Sprint("c", i), partitions: 1, replication: 1, configs: c}))
		}
	}},
	{"then described", 5, 7, func(s *script) {
		s.ask(s.creation(newTopic{name: "a", partitions: 3, replication: 1, configs: []string{"retention.ms", "1000", "cleanup.policy", "compact"}}))
		s.exists("a")
	}},
	{"timeouts", 0, 0, func(s *script) {
		for i, ms := range []int32{0, -1} {
			req := s.creation(newTopic{name: fmt.Sprint("t", i), partitions: 0, replication: 1})
			req.TimeoutMillis = ms
			s.step("%d and a mistake", ms).ask(req)
		}
		one := newTopic{name: "t", partitions: 1, replication: 1}
		for _, others := range [][]newTopic{{one}, {{name: "=__cluster_metadata", partitions: 1, replication: 1}}, {one, {name: "a/b", partitions: 1, replication: 1}}} {
			req := s.creation(append(others, one)...)
			req.TimeoutMillis = 0
			s.step("%d topics, one twice", len(others)).ask(req)
		}
	}},
}

func (s *script) removal(topics ...string) *kmsg.DeleteTopicsRequest {
	req := kmsg.NewPtrDeleteTopicsRequest()
	req.TimeoutMillis = 20000
	for _, n := range topics {
		req.TopicNames = append(req.TopicNames, s.name(n))
		t := kmsg.NewDeleteTopicsRequestTopic()
		t.Topic = ptr(s.name(n))
		req.Topics = append(req.Topics, t)
	}
	return req
}

var deleteTopicsScenarios = []scenario{
	{"by name", 0, 0, func(s *script) {
		s.topic("a", 1)
		s.topic("b", 2)
		s.step("one").ask(s.removal("a"))
		s.step("again").ask(s.removal("a"))
		s.step("one that is not there, one that is").ask(s.removal("none", "b"))
		s.step("nothing").ask(s.removal())
		s.step("names that cannot be").ask(s.removal("=", "=.", "=a/b"))
	}},
	{"the same twice", 0, 0, func(s *script) {
		s.topic("a", 1)
		s.ask(s.removal("a", "a"))
		s.step("unknown twice").ask(s.removal("none", "none"))
	}},
	{"by id", 6, 6, func(s *script) {
		s.topic("a", 1)
		s.topic("b", 1)
		by := func(ids ...string) *kmsg.DeleteTopicsRequest {
			req := s.removal()
			for _, n := range ids {
				t := kmsg.NewDeleteTopicsRequestTopic()
				t.TopicID = s.id(n)
				req.Topics = append(req.Topics, t)
			}
			return req
		}
		s.step("one").ask(by("a"))
		s.step("unknown").ask(by("none"))
		s.step("twice").ask(by("b", "b"))
		both := s.removal("b")
		both.Topics[0].TopicID = s.id("b")
		s.step("name and id").ask(both)
		neither := s.removal("b")
		neither.Topics[0].Topic = nil
		s.step("neither").ask(neither)
		same := s.removal("b")
		same.Topics = append(same.Topics, by("b").Topics...)
		s.step("by name and by id").ask(same)
	}},
	{"timeouts", 0, 0, func(s *script) {
		s.topic("a", 1)
		for _, ms := range []int32{0, -1} {
			req := s.removal("none", "a", "a")
			if s.v >= 6 {
				req.Topics[1].Topic, req.Topics[1].TopicID = nil, s.id("a")
			}
			req.TimeoutMillis = ms
			s.step("%d", ms).ask(req)
			req = s.removal("a", "a")
			req.TimeoutMillis = ms
			s.step("%d, one twice", ms).ask(req)
		}
		s.exists("a")
	}},
	{"made again", 6, 6, func(s *script) {
		s.filled("a", 1)
		before := s.id("a")
		s.delete("a")
		s.topic("a", 1)
		if s.id("a") == before {
			s.t.Error("the new topic has the old one's id")
		}
		s.step("end").askAt(4, s.listOffsets("a", 0, -1))
		s.exists("a")
	}},
}

func (s *script) growth(topic string, count int32, assignment ...[]int32) *kmsg.CreatePartitionsRequest {
	req := kmsg.NewPtrCreatePartitionsRequest()
	req.TimeoutMillis = 20000
	t := kmsg.NewCreatePartitionsRequestTopic()
	t.Topic, t.Count = s.name(topic), count
	for _, replicas := range assignment {
		t.Assignment = append(t.Assignment, kmsg.CreatePartitionsRequestTopicAssignment{Replicas: replicas})
	}
	req.Topics = append(req.Topics, t)
	return req
}

var createPartitionsScenarios = []scenario{
	{"timeouts", 0, 0, func(s *script) {
		s.topic("a", 1)
		for _, ms := range []int32{0, -1} {
			req := s.growth("a", 2)
			req.Topics = append(req.Topics, s.growth("none", 2).Topics[0], req.Topics[0])
			req.TimeoutMillis = ms
			s.step("%d", ms).ask(req)
			req.Topics = []kmsg.CreatePartitionsRequestTopic{req.Topics[0], req.Topics[0]}
			s.step("%d, one twice", ms).ask(req)
		}
		s.exists("a")
	}},
	{"counts", 0, 0, func(s *script) {
		s.topic("a", 2)
		for _, n := range []int32{4, 4, 3, 0, -1, 5} {
			s.step("%d", n).ask(s.growth("a", n))
		}
		s.step("a thousand million").ask(s.growth("a", 1_000_000_000))
		others := s.growth("none", 2)
		others.Topics = append(others.Topics, s.growth("a", 1_000_000_000).Topics[0], others.Topics[0])
		s.step("a thousand million, and others").ask(others)
		for p := range int32(5) {
			s.ready("a", p)
		}
		s.exists("a")
		s.step("produce").askAt(11, s.produce(-1, part{"a", 4, s.batch("x").Encode()}))
	}},
	{"assignments", 0, 0, func(s *script) {
		s.topic("a", 1)
		for _, c := range []struct {
			name       string
			count      int32
			assignment [][]int32
		}{
			{"too few", 3, [][]int32{{1}}}, {"too many", 2, [][]int32{{1}, {1}}}, {"unknown broker", 2, [][]int32{{7}}}, {"a broker twice", 2, [][]int32{{1, 1}}}, {"no replicas", 2, [][]int32{{}}}, {"another replication factor", 2, [][]int32{{1, 2}}},
			{"none", 2, [][]int32{}}, {"good", 3, [][]int32{{1}}},
		} {
			s.step("%s", c.name).ask(s.growth("a", c.count, c.assignment...))
		}
		empty := s.growth("a", 4)
		empty.Topics[0].Assignment = []kmsg.CreatePartitionsRequestTopicAssignment{}
		s.step("an empty list").ask(empty)
	}},
	{"validate only", 0, 0, func(s *script) {
		s.topic("a", 1)
		for _, n := range []int32{3, 1, 0} {
			req := s.growth("a", n)
			req.ValidateOnly = true
			s.step("%d", n).ask(req)
		}
		s.exists("a")
	}},
	{"what is not there", 0, 0, func(s *script) {
		s.topic("a", 1)
		s.topic("b", 1)
		s.step("topic").ask(s.growth("none", 2))
		s.step("a name that cannot be").ask(s.growth("=a/b", 2))
		two := s.growth("a", 2)
		two.Topics = append(two.Topics, s.growth("none", 2).Topics...)
		s.step("one of two").ask(two)
		two = s.growth("b", 2)
		two.Topics = append(two.Topics, s.growth("b", 3).Topics...)
		s.step("twice").ask(two)
		two.Topics = nil
		s.step("nothing").ask(two)
	}},
}
