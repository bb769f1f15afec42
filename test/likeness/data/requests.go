package data

import (
	"bytes"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// part is one partition of a Produce request.
type part struct {
	topic   string
	index   int32
	records []byte
}

// produce makes a Produce request.
func (s *script) produce(acks int16, parts ...part) func(d *side) kmsg.Request {
	return func(d *side) kmsg.Request {
		req := kmsg.NewPtrProduceRequest()
		req.Acks, req.TimeoutMillis = acks, 20000
		last := ""
		for i, p := range parts {
			if i == 0 || p.topic != last {
				t := kmsg.NewProduceRequestTopic()
				t.Topic, t.TopicID = s.name(p.topic), d.id(p.topic)
				req.Topics, last = append(req.Topics, t), p.topic
			}
			t := &req.Topics[len(req.Topics)-1]
			t.Partitions = append(t.Partitions, kmsg.ProduceRequestTopicPartition{Partition: p.index, Records: bytes.Clone(p.records)})
		}
		return req
	}
}

// at is one partition of a Fetch request.
type at struct {
	topic   string
	index   int32
	offset  int64
	max     int32
	epoch   int32
	fetched int32
}

func from(topic string, index int32, offset int64) at {
	return at{topic, index, offset, 1 << 20, -1, -1}
}

// limits are the other fields of a Fetch request.
type limits struct {
	wait, min, max int32
	isolation      int8
	rack           string
	session        int // 0 none, 1 the side's own, 2 a fixed strange one
	epoch          int32
	forget         []at
}

func whole() limits { return limits{min: 1, max: 1 << 24, epoch: -1} }

// fetch makes a Fetch request.
func (s *script) fetch(l limits, parts ...at) func(d *side) kmsg.Request {
	return func(d *side) kmsg.Request {
		req := kmsg.NewPtrFetchRequest()
		req.ReplicaID, req.MaxWaitMillis, req.MinBytes, req.MaxBytes, req.IsolationLevel, req.Rack = -1, l.wait, l.min, l.max, l.isolation, l.rack
		req.SessionEpoch = l.epoch
		switch l.session {
		case 1:
			req.SessionID = d.session
		case 2:
			req.SessionID = 1234567
		}
		last := ""
		for i, p := range parts {
			if i == 0 || p.topic != last {
				t := kmsg.NewFetchRequestTopic()
				t.Topic, t.TopicID = s.name(p.topic), d.id(p.topic)
				req.Topics, last = append(req.Topics, t), p.topic
			}
			t := &req.Topics[len(req.Topics)-1]
			x := kmsg.NewFetchRequestTopicPartition()
			x.Partition, x.FetchOffset, x.PartitionMaxBytes, x.CurrentLeaderEpoch, x.LastFetchedEpoch = p.index, p.offset, p.max, p.epoch, p.fetched
			t.Partitions = append(t.Partitions, x)
		}
		for _, p := range l.forget {
			f := kmsg.NewFetchRequestForgottenTopic()
			f.Topic, f.TopicID, f.Partitions = s.name(p.topic), d.id(p.topic), []int32{p.index}
			req.ForgottenTopics = append(req.ForgottenTopics, f)
		}
		return req
	}
}

// listOffsets makes a ListOffsets request of one partition.
func (s *script) listOffsets(topic string, partition int32, timestamp int64) *kmsg.ListOffsetsRequest {
	req := kmsg.NewPtrListOffsetsRequest()
	req.ReplicaID = -1
	t := kmsg.NewListOffsetsRequestTopic()
	t.Topic = s.name(topic)
	p := kmsg.NewListOffsetsRequestTopicPartition()
	p.Partition, p.Timestamp, p.CurrentLeaderEpoch = partition, timestamp, -1
	t.Partitions = append(t.Partitions, p)
	req.Topics = append(req.Topics, t)
	return req
}

// producers makes a DescribeProducers request.
func (s *script) producers(topic string, partitions ...int32) func(d *side) kmsg.Request {
	return func(d *side) kmsg.Request {
		req := kmsg.NewPtrDescribeProducersRequest()
		t := kmsg.NewDescribeProducersRequestTopic()
		t.Topic, t.Partitions = s.name(topic), partitions
		req.Topics = append(req.Topics, t)
		return req
	}
}

// where is one partition of a request about offsets or epochs.
type where struct {
	topic          string
	index          int32
	offset         int64 // or timestamp
	current, epoch int32
}

// topicsOf calls topic for each run of partitions of one topic, and then partition for
// these. The offset noPartitions stands for a topic entry that may have none.
func topicsOf(list []where, topic func(string), partition func(where)) {
	last := "-"
	for _, w := range list {
		if w.topic != last {
			topic(w.topic)
			last = w.topic
		}
		if w.offset != noPartitions {
			partition(w)
		}
	}
}

const noPartitions = -99

// deletion makes a DeleteRecords request.
func (s *script) deletion(list ...where) func(d *side) kmsg.Request {
	return func(d *side) kmsg.Request {
		req := kmsg.NewPtrDeleteRecordsRequest()
		req.TimeoutMillis = 20000
		topicsOf(list, func(name string) {
			t := kmsg.NewDeleteRecordsRequestTopic()
			t.Topic = s.name(name)
			req.Topics = append(req.Topics, t)
		}, func(w where) {
			t := &req.Topics[len(req.Topics)-1]
			t.Partitions = append(t.Partitions, kmsg.DeleteRecordsRequestTopicPartition{Partition: w.index, Offset: w.offset})
		})
		return req
	}
}

// epochs makes an OffsetForLeaderEpoch request.
func (s *script) epochs(list ...where) func(d *side) kmsg.Request {
	return func(d *side) kmsg.Request {
		req := kmsg.NewPtrOffsetForLeaderEpochRequest()
		req.ReplicaID = -1
		topicsOf(list, func(name string) {
			t := kmsg.NewOffsetForLeaderEpochRequestTopic()
			t.Topic = s.name(name)
			req.Topics = append(req.Topics, t)
		}, func(w where) {
			t := &req.Topics[len(req.Topics)-1]
			p := kmsg.NewOffsetForLeaderEpochRequestTopicPartition()
			p.Partition, p.CurrentLeaderEpoch, p.LeaderEpoch = w.index, w.current, w.epoch
			t.Partitions = append(t.Partitions, p)
		})
		return req
	}
}

// lookups makes a ListOffsets request.
func (s *script) lookups(isolation int8, list ...where) func(d *side) kmsg.Request {
	return func(d *side) kmsg.Request {
		req := kmsg.NewPtrListOffsetsRequest()
		req.ReplicaID, req.IsolationLevel, req.TimeoutMillis = -1, isolation, 5000
		topicsOf(list, func(name string) {
			t := kmsg.NewListOffsetsRequestTopic()
			t.Topic = s.name(name)
			req.Topics = append(req.Topics, t)
		}, func(w where) {
			t := &req.Topics[len(req.Topics)-1]
			p := kmsg.NewListOffsetsRequestTopicPartition()
			p.Partition, p.Timestamp, p.CurrentLeaderEpoch = w.index, w.offset, w.current
			t.Partitions = append(t.Partitions, p)
		})
		return req
	}
}
