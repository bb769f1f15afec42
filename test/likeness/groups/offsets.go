package groups

import (
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// topic is one that there is, or one that there is not.
func (s *sequence) topic() string {
	return pick(s, "likeness-a", "likeness-a", "likeness-b", "__consumer_offsets", "likeness-none", "", "no/name", strings.Repeat("t", 300))
}

// partition is one that there is, or one that there is not.
func (s *sequence) partition() int32 { return pick[int32](s, 0, 0, 0, 1, 2, 3, -1, 1<<30) }

func (s *sequence) partitions() (list []int32) {
	for range s.random.IntN(4) {
		list = append(list, s.partition())
	}
	return list
}

// commitAs makes an OffsetCommit of somebody for one partition.
func (s *sequence) commitAs(g int, id string, generation int32, instance *string, offset int64) *kmsg.OffsetCommitRequest {
	req := kmsg.NewPtrOffsetCommitRequest()
	req.Version = 8
	req.Group, req.MemberID, req.Generation, req.InstanceID = s.groups[g], id, generation, instance
	t := kmsg.NewOffsetCommitRequestTopic()
	t.Topic, t.TopicID = "likeness-a", topicID("likeness-a")
	p := kmsg.NewOffsetCommitRequestTopicPartition()
	p.Offset = offset
	t.Partitions = append(t.Partitions, p)
	req.Topics = append(req.Topics, t)
	return req
}

func (s *sequence) commit(c *client) {
	m := s.someone()
	if m == nil || s.oneIn(4) {
		m = &member{group: s.someGroup(), id: pick(s, "", "", "somebody"), generation: pick[int32](s, -1, -1, 0, 1, -2)}
	}
	req := s.commitAs(m.group, m.id, s.now(m), s.instance(m), 0)
	req.Version, req.Topics = version(s, 2, 10), nil
	if s.oneIn(12) {
		req.Group = s.otherGroup()
	}
	if s.oneIn(3) {
		req.RetentionTimeMillis = tenMinutes
	}
	for range s.random.IntN(4) {
		t := kmsg.NewOffsetCommitRequestTopic()
		t.Topic = s.topic()
		t.TopicID = topicID(t.Topic)
		for _, partition := range s.partitions() {
			p := kmsg.NewOffsetCommitRequestTopicPartition()
			p.Partition = partition
			p.Offset = pick[int64](s, 0, 1, 5, 1<<40, -1, -2, 1<<63-1)
			p.LeaderEpoch = pick[int32](s, -1, 0, 5, -7)
			p.Metadata = pick(s, nil, kmsg.StringPtr(""), kmsg.StringPtr("note"), kmsg.StringPtr("\u00e4\U0001f600\x00"),
				kmsg.StringPtr(strings.Repeat("m", 4096)), kmsg.StringPtr(strings.Repeat("m", 4097)))
			t.Partitions = append(t.Partitions, p)
		}
		req.Topics = append(req.Topics, t)
	}
	s.exchange(c, req)
}

func (s *sequence) fetch(c *client) {
	req := kmsg.NewPtrOffsetFetchRequest()
	req.Version, req.RequireStable = version(s, 1, 10), s.oneIn(3)
	for range 1 + s.random.IntN(3) {
		g := kmsg.NewOffsetFetchRequestGroup()
		g.Group = pick(s, s.groups[0], s.groups[1], s.groups[0], s.groups[1], s.otherGroup())
		if m := s.someone(); m != nil && s.oneIn(3) {
			g.MemberID, g.MemberEpoch = &m.id, s.now(m)
		}
		if req.Version < 2 || !s.oneIn(3) { // else all topics
			g.Topics = []kmsg.OffsetFetchRequestGroupTopic{}
			for range s.random.IntN(4) {
				name := s.topic()
				g.Topics = append(g.Topics, kmsg.OffsetFetchRequestGroupTopic{Topic: name, TopicID: topicID(name), Partitions: s.partitions()})
			}
		}
		req.Groups = append(req.Groups, g)
	}
	// Before version 8 the first group alone.
	if first := &req.Groups[0]; first.Topics != nil {
		req.Topics = []kmsg.OffsetFetchRequestTopic{}
		for _, t := range first.Topics {
			req.Topics = append(req.Topics, kmsg.OffsetFetchRequestTopic{Topic: t.Topic, Partitions: t.Partitions})
		}
	}
	req.Group = req.Groups[0].Group
	s.exchange(c, req)
}

func (s *sequence) offsetDelete(c *client) {
	req := kmsg.NewPtrOffsetDeleteRequest()
	req.Group = pick(s, s.groups[0], s.groups[1], s.otherGroup())
	for range s.random.IntN(4) {
		t := kmsg.OffsetDeleteRequestTopic{Topic: s.topic()}
		for _, partition := range s.partitions() {
			t.Partitions = append(t.Partitions, kmsg.OffsetDeleteRequestTopicPartition{Partition: partition})
		}
		req.Topics = append(req.Topics, t)
	}
	s.exchange(c, req)
}
