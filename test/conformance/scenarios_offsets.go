package conformance

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"ringmain/test/peer"
)

var listOffsetsScenarios = []scenario{
	{"special timestamps", 0, 0, func(s *script) {
		s.topic("empty", 1)
		s.filled("a", 1)
		s.filled("b", 1)
		s.deleteRecords("b", 0, 4)
		for ts := int64(0); ts >= -9; ts-- {
			for _, topic := range []string{"empty", "a", "b"} {
				s.step("%d of %s", ts, topic).ask(s.listOffsets(topic, 0, ts))
			}
		}
	}},
	{"topics without partitions", 0, 0, func(s *script) {
		s.topic("a", 1)
		for _, topic := range []string{"a", "none"} {
			req := s.listOffsets(topic, 0, -1)
			req.Topics[0].Partitions = nil
			s.step("%s", topic).ask(req)
			req.Topics = append(req.Topics, s.listOffsets("a", 0, -1).Topics...)
			s.step("%s and one with", topic).ask(req)
		}
		twice := s.listOffsets("a", 0, -1)
		twice.Topics = append(twice.Topics, twice.Topics[0])
		s.step("twice").ask(twice)
	}},
	{"by timestamp", 0, 0, func(s *script) {
		s.topic("a", 2)
		for p, codec := range []int8{0, 3} {
			for _, deltas := range [][]int64{{0, 10, 10, 20}, {5, 15}, {30, 25, 40}} {
				var records []peer.Record
				for _, d := range deltas {
					records = append(records, peer.Record{Value: []byte("v"), Delta: d})
				}
				b := peer.NewBatch(s.base, records...)
				b.Codec = codec
				s.put("a", int32(p), b)
			}
		}
		for _, by := range []int64{-1, 0, 1, 5, 10, 11, 20, 21, 25, 26, 31, 40, 41, 1 << 50} {
			for p := range int32(2) {
				s.step("base%+d in partition %d", by, p).ask(s.listOffsets("a", p, s.base+by))
			}
		}
		s.step("the largest").ask(s.listOffsets("a", 0, -3))
		s.deleteRecords("a", 0, 3)
		s.step("the log starts behind it").ask(s.listOffsets("a", 0, s.base+10))
		s.step("the largest of the rest").ask(s.listOffsets("a", 0, -3))
	}},
	{"largest timestamp", 7, 0, func(s *script) {
		s.topic("a", 1)
		rec := func(deltas ...int64) peer.Batch {
			var records []peer.Record
			for _, d := range deltas {
				records = append(records, peer.Record{Value: []byte("v"), Delta: d})
			}
			return peer.NewBatch(s.base, records...)
		}
		for i, deltas := range [][]int64{{10, 50, 50, 20}, {30, 40}, {60, 70, 65}, {70, 1}} {
			b := rec(deltas...)
			b.Codec = int8(i % 3)
			s.put("a", 0, b)
			s.step("after batch %d", i+1).ask(s.listOffsets("a", 0, -3))
		}
		s.topic("l", 1, "message.timestamp.type", "LogAppendTime")
		s.put("l", 0, rec(1, 2, 3))
		s.step("LogAppendTime").ask(s.listOffsets("l", 0, -3))
	}},
	{"what is not there", 0, 0, func(s *script) {
		s.topic("a", 1)
		s.step("unknown topic").ask(s.listOffsets("none", 0, -1))
		s.step("unknown partition").ask(s.listOffsets("a", 1, -1))
		s.step("partition -1").ask(s.listOffsets("a", -1, -1))
		s.step("a name that cannot be").ask(s.listOffsets("=a/b", 0, -1))
		s.step("a special one below zero of an unknown topic").ask(s.listOffsets("none", 0, -9))
		twice := s.listOffsets("a", 0, -1)
		twice.Topics[0].Partitions = append(twice.Topics[0].Partitions, s.listOffsets("a", 0, -2).Topics[0].Partitions...)
		s.step("the same twice").ask(twice)
		twice = s.listOffsets("a", 0, -1)
		twice.Topics = append(twice.Topics, s.listOffsets("none", 0, -1).Topics...)
		s.step("one known, one not").ask(twice)
		twice = s.listOffsets("a", 0, -1)
		empty := s.listOffsets("none", 0, -1)
		empty.Topics[0].Partitions = nil
		twice.Topics = append(twice.Topics, empty.Topics...)
		s.step("a topic of no partitions").ask(twice)
		none := s.listOffsets("a", 0, -1)
		none.Topics = nil
		s.step("nothing").ask(none)
	}},
	{"isolation level", 2, 0, func(s *script) {
		s.filled("a", 1)
		for _, level := range []int8{0, 1, 2} {
			for _, ts := range []int64{-1, -2, s.base + 1} {
				req := s.listOffsets("a", 0, ts)
				req.IsolationLevel = level
				s.step("level %d", level).ask(req)
			}
		}
	}},
	{"leader epoch", 4, 0, func(s *script) {
		s.filled("a", 1)
		for _, epoch := range []int32{-1, 0, 1, -2} {
			req := s.listOffsets("a", 0, -1)
			req.Topics[0].Partitions[0].CurrentLeaderEpoch = epoch
			s.step("epoch %d", epoch).ask(req)
		}
	}},
	{"debugging replica", 0, 0, func(s *script) {
		s.filled("a", 1)
		req := s.listOffsets("a", 0, -1)
		req.ReplicaID = -2
		s.ask(req)
	}},
}

// epochs makes an OffsetForLeaderEpoch request.
func (s *script) epochs(topic string, partition, current, epoch int32) *kmsg.OffsetForLeaderEpochRequest {
	req := kmsg.NewPtrOffsetForLeaderEpochRequest()
	req.ReplicaID = -1
	t := kmsg.NewOffsetForLeaderEpochRequestTopic()
	t.Topic = s.name(topic)
	p := kmsg.NewOffsetForLeaderEpochRequestTopicPartition()
	p.Partition, p.CurrentLeaderEpoch, p.LeaderEpoch = partition, current, epoch
	t.Partitions = append(t.Partitions, p)
	req.Topics = append(req.Topics, t)
	return req
}

var offsetForLeaderEpochScenarios = []scenario{
	{"epochs", 0, 0, func(s *script) {
		s.topic("empty", 1)
		s.filled("a", 1)
		for _, topic := range []string{"empty", "a"} {
			for _, epoch := range []int32{0, 1, 5, -1, -2} {
				s.step("%d of %s", epoch, topic).ask(s.epochs(topic, 0, -1, epoch))
			}
		}
		s.deleteRecords("a", 0, 6)
		s.step("after all was deleted").ask(s.epochs("a", 0, -1, 0))
	}},
	{"current epoch", 0, 0, func(s *script) {
		s.filled("a", 1)
		for _, current := range []int32{-1, 0, 1, -2} {
			s.step("%d", current).ask(s.epochs("a", 0, current, 0))
		}
	}},
	{"what is not there", 0, 0, func(s *script) {
		s.topic("a", 1)
		s.step("topic").ask(s.epochs("none", 0, -1, 0))
		s.step("partition").ask(s.epochs("a", 3, -1, 0))
		none := s.epochs("a", 0, -1, 0)
		none.Topics = nil
		s.step("nothing").ask(none)
		two := s.epochs("a", 0, -1, 0)
		two.Topics = append(two.Topics, s.epochs("none", 0, -1, 0).Topics...)
		s.step("one of two").ask(two)
	}},
}

// deletion makes a DeleteRecords request.
func (s *script) deletion(topic string, partition int32, offset int64) *kmsg.DeleteRecordsRequest {
	req := kmsg.NewPtrDeleteRecordsRequest()
	req.TimeoutMillis = 20000
	t := kmsg.NewDeleteRecordsRequestTopic()
	t.Topic = s.name(topic)
	t.Partitions = append(t.Partitions, kmsg.DeleteRecordsRequestTopicPartition{Partition: partition, Offset: offset})
	req.Topics = append(req.Topics, t)
	return req
}

var deleteRecordsScenarios = []scenario{
	{"offsets", 0, 0, func(s *script) {
		s.filled("a", 1)
		for _, offset := range []int64{0, 2, 1, 3, 7, -2, 6, 6, -1, 0} {
			s.step("below %d", offset).ask(s.deletion("a", 0, offset))
		}
		s.step("start").askAt(4, s.listOffsets("a", 0, -2))
		s.step("end").askAt(4, s.listOffsets("a", 0, -1))
		s.put("a", 0, s.batch("new"))
		s.stored("a", 0)
	}},
	{"to the end", 0, 0, func(s *script) {
		s.filled("a", 1)
		s.ask(s.deletion("a", 0, -1))
		s.step("empty").ask(s.deletion("a", 0, -1))
		s.step("at the end").askAt(12, s.fetch(at{"a", 0, 6}))
	}},
	{"the same partition twice", 0, 0, func(s *script) {
		s.filled("a", 1)
		for _, c := range [][2]int64{{1, 3}, {4, 99}, {99, 5}} {
			twice := s.deletion("a", 0, c[0])
			twice.Topics[0].Partitions = append(twice.Topics[0].Partitions, s.deletion("a", 0, c[1]).Topics[0].Partitions...)
			s.step("%d and %d", c[0], c[1]).ask(twice)
			s.step("start").askAt(4, s.listOffsets("a", 0, -2))
		}
		empty := s.deletion("a", 0, 5)
		empty.Topics = append(empty.Topics, s.deletion("none", 0, 0).Topics...)
		empty.Topics[1].Partitions = nil
		s.step("a topic of no partitions").ask(empty)
	}},
	{"what cannot be", 0, 0, func(s *script) {
		s.topic("a", 1)
		s.topic("c", 1, "cleanup.policy", "compact")
		s.topic("both", 1, "cleanup.policy", "compact,delete")
		s.topic("keep", 1, "cleanup.policy", "")
		for _, topic := range []string{"none", "c", "both", "keep"} {
			s.step("%s", topic).ask(s.deletion(topic, 0, 0))
		}
		s.step("partition").ask(s.deletion("a", 4, 0))
		two := s.deletion("a", 0, 0)
		two.Topics = append(two.Topics, s.deletion("none", 0, 0).Topics...)
		s.step("one of two").ask(two)
		none := s.deletion("a", 0, 0)
		none.Topics = nil
		s.step("nothing").ask(none)
	}},
	{"named twice, or without partitions", 0, 0, func(s *script) {
		s.filled("a", 2)
		twice := s.deletion("a", 0, 1)
		twice.Topics[0].Partitions = append(twice.Topics[0].Partitions, s.deletion("a", 1, 2).Topics[0].Partitions[0], s.deletion("a", 0, 3).Topics[0].Partitions[0])
		s.step("a partition").ask(twice)
		twice = s.deletion("a", 0, 5)
		twice.Topics = append(twice.Topics, s.deletion("none", 0, 0).Topics[0], s.deletion("a", 0, 4).Topics[0], s.deletion("none", 0, 0).Topics[0], s.deletion("a", 1, 4).Topics[0])
		s.step("topics").ask(twice)
		for _, topic := range []string{"a", "none"} {
			empty := s.deletion(topic, 0, 0)
			empty.Topics[0].Partitions = nil
			s.step("no partitions of %s", topic).ask(empty)
		}
	}},
}

var initProducerIDScenarios = []scenario{
	{"idempotent", 0, 0, func(s *script) {
		for _, c := range []struct {
			name    string
			timeout int32
			id      int64
			epoch   int16
		}{
			{"first", 60000, -1, -1}, {"another", 60000, -1, -1}, {"timeout 0", 0, -1, -1}, {"timeout -1", -1, -1, -1}, {"a long timeout", 1<<31 - 1, -1, -1},
			{"an id that is nobody's", 60000, 123_456_789_012, 5}, {"an id without an epoch", 60000, 5, -1}, {"an epoch without an id", 60000, -1, 5},
		} {
			req := kmsg.NewPtrInitProducerIDRequest()
			req.TransactionTimeoutMillis, req.ProducerID, req.ProducerEpoch = c.timeout, c.id, c.epoch
			s.step("%s", c.name).ask(req)
		}
		empty := kmsg.NewPtrInitProducerIDRequest()
		empty.TransactionalID, empty.TransactionTimeoutMillis, empty.ProducerID, empty.ProducerEpoch = ptr(""), 60000, -1, -1
		s.step("empty transactional id").ask(empty)
	}},
}

// producers makes a DescribeProducers request.
func (s *script) producers(topic string, partitions ...int32) *kmsg.DescribeProducersRequest {
	req := kmsg.NewPtrDescribeProducersRequest()
	t := kmsg.NewDescribeProducersRequestTopic()
	t.Topic, t.Partitions = s.name(topic), partitions
	req.Topics = append(req.Topics, t)
	return req
}

var describeProducersScenarios = []scenario{
	{"producers", 0, 0, func(s *script) {
		s.topic("a", 2)
		s.step("none").ask(s.producers("a", 0, 1))
		s.put("a", 0, s.batch("x"))
		s.step("one without an id").ask(s.producers("a", 0, 1))
		s.put("a", 0, s.idempotent(800_000_001, 3, 0, 2))
		s.step("one").ask(s.producers("a", 0, 1))
		s.put("a", 0, s.idempotent(800_000_001, 3, 2, 5))
		s.step("its next batch").ask(s.producers("a", 0))
	}},
	{"what is not there", 0, 0, func(s *script) {
		s.topic("a", 1)
		s.step("topic").ask(s.producers("none", 0))
		s.step("partition").ask(s.producers("a", 0, 7))
		s.step("no partition").ask(s.producers("a"))
		none := s.producers("a")
		none.Topics = nil
		s.step("nothing").ask(none)
	}},
}
