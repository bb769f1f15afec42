package conformance

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"ringmain/test/peer"
)

// part is one partition of a Produce request.
type part struct {
	topic   string // the script's name
	index   int32
	records []byte
}

// produce makes a Produce request of partitions; those of one topic that stand next
// to each other share a topic entry.
func (s *script) produce(acks int16, parts ...part) *kmsg.ProduceRequest {
	req := kmsg.NewPtrProduceRequest()
	req.Acks, req.TimeoutMillis = acks, 20000
	last := ""
	for i, p := range parts {
		if i == 0 || p.topic != last {
			t := kmsg.NewProduceRequestTopic()
			t.Topic, t.TopicID = s.name(p.topic), s.id(p.topic)
			req.Topics, last = append(req.Topics, t), p.topic
		}
		t := &req.Topics[len(req.Topics)-1]
		t.Partitions = append(t.Partitions, kmsg.ProduceRequestTopicPartition{Partition: p.index, Records: p.records})
	}
	return req
}

// batch is a batch at the script's base time, a millisecond between its records.
func (s *script) batch(values ...string) peer.Batch {
	return peer.NewBatch(s.base, peer.Values(values...)...)
}

// one is a Produce request of one batch for partition 0 of topic a, with acks=all.
func (s *script) one(b peer.Batch) *kmsg.ProduceRequest {
	return s.produce(-1, part{"a", 0, b.Encode()})
}

// put stores a batch without recording the answer.
func (s *script) put(topic string, partition int32, b peer.Batch) {
	req := s.produce(-1, part{topic, partition, b.Encode()})
	resp := s.quiet(11, req).(*kmsg.ProduceResponse)
	if p := resp.Topics[0].Partitions[0]; p.ErrorCode != 0 {
		s.t.Fatalf("storing into %s-%d: error %d", topic, partition, p.ErrorCode)
	}
}

// at is one partition of a Fetch request.
type at struct {
	topic  string
	index  int32
	offset int64
}

// fetch makes a Fetch request without a session that does not wait.
func (s *script) fetch(parts ...at) *kmsg.FetchRequest {
	req := kmsg.NewPtrFetchRequest()
	req.ReplicaID, req.MaxWaitMillis, req.MinBytes, req.MaxBytes = -1, 0, 1, 1<<20
	req.SessionEpoch = -1
	last := ""
	for i, p := range parts {
		if i == 0 || p.topic != last {
			t := kmsg.NewFetchRequestTopic()
			t.Topic, t.TopicID = s.name(p.topic), s.id(p.topic)
			req.Topics, last = append(req.Topics, t), p.topic
		}
		t := &req.Topics[len(req.Topics)-1]
		x := kmsg.NewFetchRequestTopicPartition()
		x.Partition, x.FetchOffset, x.PartitionMaxBytes, x.CurrentLeaderEpoch = p.index, p.offset, 1<<20, -1
		t.Partitions = append(t.Partitions, x)
	}
	return req
}

// stored records what a partition holds, read at one fixed version.
func (s *script) stored(topic string, partition int32) {
	s.step("what is stored").askAt(12, s.fetch(at{topic, partition, 0}))
}

// listOffsets makes a ListOffsets request: the same partition of a topic at each timestamp.
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

// metadata makes a Metadata request for topics by name that creates nothing.
func (s *script) metadata(topics ...string) *kmsg.MetadataRequest {
	req := kmsg.NewPtrMetadataRequest()
	req.Topics = []kmsg.MetadataRequestTopic{}
	for _, n := range topics {
		t := kmsg.NewMetadataRequestTopic()
		t.Topic = kmsg.StringPtr(s.name(n))
		req.Topics = append(req.Topics, t)
	}
	return req
}

// exists records what Metadata says of topics, at one fixed version.
func (s *script) exists(topics ...string) {
	s.settled()
	s.step("what exists").askAt(9, s.metadata(topics...))
}

func ptr(x string) *string { return &x }

// nullable is a config value of a script: "null" stands for null.
func nullable(x string) *string {
	if x == "null" {
		return nil
	}
	return &x
}
