package broker

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"ringmain/metadata"
	"ringmain/model"
)

func TestElectLeaders(t *testing.T) {
	a, meta, _ := newAdmin(t)
	addTopic(t, meta, "x", 2)
	id := model.NewTopicID()
	meta.apply(t, brokerRecord(2), metadata.TopicRecord{Name: "y", ID: id},
		metadata.PartitionRecord{TopicID: id, Index: 0, Partition: metadata.Partition{Replicas: []int32{2, 1}, ISR: []int32{1}, Leader: 1}},
		metadata.PartitionRecord{TopicID: id, Index: 1, Partition: metadata.Partition{Replicas: []int32{2}, ISR: []int32{2}, Leader: -1}})
	ask := []kmsg.ElectLeadersRequestTopic{{Topic: "x", Partitions: []int32{1, 0, 0, 9, -1}}, {Topic: "nope", Partitions: []int32{0}}, {Topic: "y", Partitions: []int32{0, 1}}}
	for _, c := range []struct {
		version int16
		kind    int8
		top     int16
		codes   []int16
	}{
		{0, 0, 0, []int16{84, 84, 84, 3, 3, 3, 80, 80}},
		{1, 0, 0, []int16{84, 84, 84, 3, 3, 3, 80, 80}},
		{2, 1, 0, []int16{84, 84, 84, 3, 3, 3, 84, 83}},
		{2, 7, 42, []int16{42, 42, 42, 42, 42, 42, 42, 42}},
	} {
		req := kmsg.NewPtrElectLeadersRequest()
		req.ElectionType, req.Topics = c.kind, ask
		resp := serve[*kmsg.ElectLeadersResponse](t, a, c.version, req)
		if c.version >= 1 && resp.ErrorCode != c.top {
			t.Errorf("%+v: code %d", c, resp.ErrorCode)
		}
		i := 0
		for n, topic := range resp.Topics {
			if topic.Topic != ask[n].Topic {
				t.Errorf("topic %q where %q was asked for", topic.Topic, ask[n].Topic)
			}
			for m, p := range topic.Partitions {
				if p.Partition != ask[n].Partitions[m] || p.ErrorCode != c.codes[i] || p.ErrorMessage == nil {
					t.Errorf("%+v: %s-%d: code %d, want %d with a message", c, topic.Topic, p.Partition, p.ErrorCode, c.codes[i])
				}
				i++
			}
		}
		if i != len(c.codes) {
			t.Errorf("%+v: %d answers", c, i)
		}
	}
	all := serve[*kmsg.ElectLeadersResponse](t, a, 2, kmsg.NewPtrElectLeadersRequest())
	if len(all.Topics) != 2 || len(all.Topics[0].Partitions) != 0 || all.ErrorCode != 0 {
		t.Errorf("all partitions: %+v", all)
	}
	null, none := []kmsg.ElectLeadersRequestTopic(nil), []kmsg.ElectLeadersRequestTopic{}
	for _, c := range []struct {
		topics    []kmsg.ElectLeadersRequestTopic
		kind      int8
		timeoutMs int32
		code      int16
	}{
		{null, 5, 60_000, 42}, {null, -1, 60_000, 42}, {null, 0, 0, 7}, {null, 5, -1, 7},
		{none, 0, 60_000, 0}, {none, 5, 60_000, 0}, {none, 0, 0, 0}, {none, 5, -1, 0},
	} {
		req := kmsg.NewPtrElectLeadersRequest()
		req.Topics, req.ElectionType, req.TimeoutMillis = c.topics, c.kind, c.timeoutMs
		if resp := serve[*kmsg.ElectLeadersResponse](t, a, 2, req); resp.ErrorCode != c.code || len(resp.Topics) != 0 {
			t.Errorf("%+v: code %d, %d topics", c, resp.ErrorCode, len(resp.Topics))
		}
	}
}

func TestListPartitionReassignments(t *testing.T) {
	a, meta, _ := newAdmin(t)
	x := addTopic(t, meta, "x", 2)
	for _, topics := range [][]kmsg.ListPartitionReassignmentsRequestTopic{nil, {}, {{Topic: "x", Partitions: []int32{0, 99}}, {Topic: "nope", Partitions: []int32{0}}}} {
		req := kmsg.NewPtrListPartitionReassignmentsRequest()
		req.Topics = topics
		if resp := serve[*kmsg.ListPartitionReassignmentsResponse](t, a, 0, req); resp.ErrorCode != 0 || resp.ErrorMessage != nil || len(resp.Topics) != 0 {
			t.Errorf("nothing moves: %+v", resp)
		}
	}
	meta.apply(t, brokerRecord(2), metadata.PartitionChangeRecord{TopicID: x.ID, Index: 1, Replicas: []int32{1, 2}, Adding: []int32{2}})
	for _, topics := range [][]kmsg.ListPartitionReassignmentsRequestTopic{nil, {{Topic: "x", Partitions: []int32{0, 1}}}} {
		req := kmsg.NewPtrListPartitionReassignmentsRequest()
		req.Topics = topics
		resp := serve[*kmsg.ListPartitionReassignmentsResponse](t, a, 0, req)
		if len(resp.Topics) != 1 || len(resp.Topics[0].Partitions) != 1 || resp.Topics[0].Partitions[0].Partition != 1 || resp.Topics[0].Partitions[0].AddingReplicas[0] != 2 {
			t.Errorf("partition 1 moves: %+v", resp.Topics)
		}
	}
}
