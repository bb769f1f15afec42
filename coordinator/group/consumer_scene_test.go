package group

import (
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"ringmain/coordinator"
	"ringmain/coordinator/assignor"
	"ringmain/coordinator/group/records"
	"ringmain/metadata"
	"ringmain/model"
)

// scene is one group and its topics, at a machine with a clock of its own, or at Kafka.
type scene struct {
	*harness // nil at Kafka
	t        *testing.T
	group    string
	kafka    bool
	names    map[model.TopicID]string
}

// asKafka is the configuration that kafkaAddress is to have.
func asKafka(cfg *Config) {
	cfg.ConsumerMaxSize = 4
	cfg.ConsumerSettings = func(*metadata.Image, string) ConsumerSettings {
		return ConsumerSettings{SessionTimeoutMs: 45_000, HeartbeatIntervalMs: 5000}
	}
}

// newScene is one that Kafka can stand in for.
func newScene(t *testing.T) *scene {
	if kafkaAddress == "" {
		return newMachineScene(t, asKafka)
	}
	t.Parallel()
	return &scene{t: t, kafka: true, group: kafkaGroup(t), names: map[model.TopicID]string{}}
}

// newMachineScene is one that looks inside, or lets time pass.
func newMachineScene(t *testing.T, change ...func(*Config)) *scene {
	if kafkaAddress != "" {
		t.Skip("is not for Kafka")
	}
	return &scene{harness: newHarness(t, change...), t: t, group: "g", names: map[model.TopicID]string{}}
}

// topic creates a topic; at Kafka its name has the group's before it.
func (sc *scene) topic(name string, partitions int) model.TopicID {
	sc.t.Helper()
	if sc.kafka {
		req := kmsg.NewPtrCreateTopicsRequest()
		req.Version = 7
		req.TimeoutMillis = 10_000
		topic := kmsg.NewCreateTopicsRequestTopic()
		topic.Topic, topic.NumPartitions, topic.ReplicationFactor = sc.named(name), int32(partitions), 1
		req.Topics = append(req.Topics, topic)
		r := sc.ask(req).(*kmsg.CreateTopicsResponse)
		if r.Topics[0].ErrorCode != 0 {
			sc.t.Fatal(r.Topics[0].ErrorCode)
		}
		id := model.TopicID(r.Topics[0].TopicID)
		sc.names[id] = name
		time.Sleep(1500 * time.Millisecond) // for the metadata to reach the coordinator
		return id
	}
	var id model.TopicID
	binary.BigEndian.PutUint32(id[12:], uint32(len(sc.names)+1))
	sc.names[id] = name
	sc.change(append([]metadata.Record{metadata.TopicRecord{Name: name, ID: id}}, newPartitions(id, 0, partitions)...)...)
	return id
}

func newPartitions(id model.TopicID, from, to int) (records []metadata.Record) {
	for p := from; p < to; p++ {
		records = append(records, metadata.PartitionRecord{TopicID: id, Index: int32(p),
			Partition: metadata.Partition{Replicas: []int32{1}, ISR: []int32{1}, Leader: 1}})
	}
	return records
}

func (sc *scene) grow(name string, to int) {
	sc.t.Helper()
	if sc.kafka {
		req := kmsg.NewPtrCreatePartitionsRequest()
		req.TimeoutMillis = 10_000
		topic := kmsg.NewCreatePartitionsRequestTopic()
		topic.Topic, topic.Count = sc.named(name), int32(to)
		req.Topics = append(req.Topics, topic)
		if r := sc.ask(req).(*kmsg.CreatePartitionsResponse); r.Topics[0].ErrorCode != 0 {
			sc.t.Fatal(r.Topics[0].ErrorCode)
		}
		time.Sleep(1500 * time.Millisecond)
		return
	}
	t := sc.img.Topic(name)
	sc.change(newPartitions(t.ID, len(t.Partitions), to)...)
}

func (sc *scene) deleteTopic(name string) {
	sc.t.Helper()
	if sc.kafka {
		req := kmsg.NewPtrDeleteTopicsRequest()
		req.Version, req.TimeoutMillis, req.TopicNames = 5, 10_000, []string{sc.named(name)}
		if r := sc.ask(req).(*kmsg.DeleteTopicsResponse); r.Topics[0].ErrorCode != 0 {
			sc.t.Fatal(r.Topics[0].ErrorCode)
		}
		time.Sleep(1500 * time.Millisecond)
		return
	}
	sc.change(metadata.RemoveTopicRecord{ID: sc.img.Topic(name).ID})
}

func (sc *scene) named(name string) string {
	if sc.kafka {
		return sc.group + "." + name
	}
	return name
}

// beat is a ConsumerGroupHeartbeat. What is nil or empty is null in the request.
type beat struct {
	v0       bool
	id       string
	epoch    int32
	instance string
	rack     string
	timeout  int32
	topics   []string
	regex    *string
	assignor string
	owned    share
}

// share are partitions by the name of the topic.
type share map[string][]int32

// joins is the request of a member that begins.
func joins(id string, topics ...string) beat {
	if topics == nil {
		topics = []string{}
	}
	return beat{id: id, timeout: 300_000, topics: topics, owned: share{}}
}

// got is the answer.
type got struct {
	code     int16
	text     string
	id       string
	epoch    int32
	interval int32
	share    share // nil: unchanged
}

func (sc *scene) beat(b beat) got {
	sc.t.Helper()
	req := kmsg.NewPtrConsumerGroupHeartbeatRequest()
	req.Version, req.Group, req.MemberID, req.MemberEpoch = 1, sc.group, b.id, b.epoch
	if b.v0 {
		req.Version = 0
	}
	text := func(v string) *string {
		if v == "" {
			return nil
		}
		return &v
	}
	req.InstanceID, req.RackID, req.ServerAssignor = text(b.instance), text(b.rack), text(b.assignor)
	req.RebalanceTimeoutMillis = -1
	if b.timeout != 0 {
		req.RebalanceTimeoutMillis = b.timeout
	}
	for _, name := range b.topics {
		req.SubscribedTopicNames = append(req.SubscribedTopicNames, sc.named(name))
	}
	if b.topics != nil && len(b.topics) == 0 {
		req.SubscribedTopicNames = []string{}
	}
	req.SubscribedTopicRegex = b.regex
	if b.owned != nil {
		req.Topics = []kmsg.ConsumerGroupHeartbeatRequestTopic{}
		for name, partitions := range b.owned {
			req.Topics = append(req.Topics, kmsg.ConsumerGroupHeartbeatRequestTopic{TopicID: sc.id(name), Partitions: partitions})
		}
	}
	return sc.heartbeat(req)
}

func (sc *scene) id(name string) model.TopicID {
	var last model.TopicID // a name may have had several
	for id, n := range sc.names {
		if n == name && (sc.kafka || slices.Compare(id[:], last[:]) > 0) {
			last = id
		}
	}
	return last
}

func (sc *scene) heartbeat(req *kmsg.ConsumerGroupHeartbeatRequest) got {
	sc.t.Helper()
	var r *kmsg.ConsumerGroupHeartbeatResponse
	if sc.kafka {
		r = sc.ask(req).(*kmsg.ConsumerGroupHeartbeatResponse)
	} else {
		sc.step(func(s *coordinator.Step) {
			sc.m.ConsumerGroupHeartbeat(s, req, testClient, func(response *kmsg.ConsumerGroupHeartbeatResponse, err error) {
				if err != nil || r != nil {
					sc.t.Fatal(err, r)
				}
				r = response
			})
		})
	}
	g := got{code: r.ErrorCode, epoch: r.MemberEpoch, interval: r.HeartbeatIntervalMillis}
	if r.MemberID != nil {
		g.id = *r.MemberID
	}
	if r.ErrorMessage != nil {
		g.text = *r.ErrorMessage
	}
	if r.Assignment != nil {
		g.share = share{}
		for _, topic := range r.Assignment.Topics {
			g.share[sc.names[topic.TopicID]] = slices.Sorted(slices.Values(topic.Partitions))
		}
	}
	return g
}

// refused asserts the error, and that it says why.
func (sc *scene) refused(b beat, code int16) {
	sc.t.Helper()
	if g := sc.beat(b); g.code != code || g.text == "" {
		sc.t.Fatalf("%+v got %+v, want %d", b, g, code)
	}
}

// served asserts what a member got: its epoch and its share, nil for unchanged.
func (sc *scene) served(b beat, epoch int32, want share) got {
	sc.t.Helper()
	g := sc.beat(b)
	if g.code != 0 || g.epoch != epoch || (g.share == nil) != (want == nil) || !maps.EqualFunc(g.share, want, slices.Equal) {
		sc.t.Fatalf("%+v got %+v (share %#v), want epoch %d and %v", b, g, g.share, epoch, want)
	}
	return g
}

func (sc *scene) describe() kmsg.ConsumerGroupDescribeResponseGroup {
	sc.t.Helper()
	var g kmsg.ConsumerGroupDescribeResponseGroup
	if sc.kafka {
		req := kmsg.NewPtrConsumerGroupDescribeRequest()
		req.Version, req.Groups = 1, []string{sc.group}
		g = sc.ask(req).(*kmsg.ConsumerGroupDescribeResponse).Groups[0]
	} else {
		sc.step(func(s *coordinator.Step) {
			sc.m.ConsumerGroupDescribe(s, sc.group, func(r kmsg.ConsumerGroupDescribeResponseGroup, err error) { g = r })
		})
	}
	slices.SortFunc(g.Members, func(a, b kmsg.ConsumerGroupDescribeResponseGroupMember) int {
		if a.MemberID < b.MemberID {
			return -1
		}
		return 1
	})
	return g
}

// shows asserts the group's state and epochs.
func (sc *scene) shows(state string, epoch, assignmentEpoch int32) {
	sc.t.Helper()
	g := sc.describe()
	if g.State != state || g.Epoch != epoch || g.AssignmentEpoch != assignmentEpoch {
		sc.t.Fatalf("%s with epoch %d, assignment epoch %d (error %d), want %s, %d, %d",
			g.State, g.Epoch, g.AssignmentEpoch, g.ErrorCode, state, epoch, assignmentEpoch)
	}
}

func (sc *scene) ask(req kmsg.Request) kmsg.Response {
	sc.t.Helper()
	r, err := askKafka(req)
	if err != nil {
		sc.t.Fatal(err)
	}
	return r
}

// lasting is what records tell of the group's members.
func (c *consumer) lasting() any {
	type member struct {
		said    records.ConsumerGroupMemberMetadataValue
		current string
		target  assignor.Assignment
	}
	type group struct {
		epoch, assignmentEpoch     int32
		metadataHash, assignedAtMs int64
		members                    map[string]member
		topics, votes, support     map[string]int
		regexes                    map[string]topicRegex
		static, owned, classic     int
	}
	g := group{c.epoch, c.assignmentEpoch, c.metadataHash, c.assignedAtMs, map[string]member{}, c.topics, c.votes, c.support,
		map[string]topicRegex{}, len(c.static), len(c.owners), c.classicMembers}
	for id, m := range c.members {
		g.members[id] = member{m.said, fmt.Sprint(m.epoch, m.previous, m.state, m.assigned.record(), m.revoking.record()), c.target[id]}
	}
	for text, r := range c.regexes {
		g.regexes[text] = *r
	}
	return g
}
