package group

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"ringmain/coordinator"
)

// deletes asks to delete one offset; want is the group's error and the partition's.
func (h *harness) deletes(group, topic string, partition int32, want, wantPartition *kerr.Error) {
	h.t.Helper()
	req := kmsg.NewPtrOffsetDeleteRequest()
	req.Group = group
	req.Topics = []kmsg.OffsetDeleteRequestTopic{{Topic: topic, Partitions: []kmsg.OffsetDeleteRequestTopicPartition{{Partition: partition}}}}
	resp := ask(h, func(s *coordinator.Step, reply func(*kmsg.OffsetDeleteResponse, error)) {
		h.m.OffsetDelete(s, req, reply)
	}).got()
	if got := kerr.ErrorForCode(resp.ErrorCode); want == nil && got != nil || want != nil && got != error(want) {
		h.t.Fatalf("answered %v, want %v", got, want)
	}
	if want != nil {
		if resp.Topics != nil {
			h.t.Errorf("%+v", resp.Topics)
		}
		return
	}
	p := resp.Topics[0].Partitions[0]
	if resp.Topics[0].Topic != topic || p.Partition != partition || p.ErrorCode != codesOf(wantPartition)[0] {
		h.t.Fatalf("%+v, want %v", resp.Topics, wantPartition)
	}
}

func TestOffsetDelete(t *testing.T) {
	h := newHarness(t, retention)
	h.create("orders", 2)
	h.create("other", 1)
	h.commits(with(with(with(commitRequest("g"), "orders", 0, 5), "orders", 1, 6), "other", 0, 7), nil, nil, nil)
	h.deletes("", "orders", 0, kerr.InvalidGroupID, nil)
	h.deletes("nobody", "orders", 0, kerr.GroupIDNotFound, nil)
	h.deletes("nobody", "none", 0, kerr.GroupIDNotFound, nil)
	h.deletes("g", "none", 0, nil, kerr.UnknownTopicOrPartition)
	h.deletes("g", "orders", 2, nil, kerr.UnknownTopicOrPartition)
	h.deletes("g", "orders", 0, nil, nil)
	h.deletes("g", "orders", 0, nil, nil) // is not there any more
	if got := shown(h, h.fetch(9, fetchRequest("g"))); got != "orders-1:6 other-0:7" {
		t.Error(got)
	}
	h.deletes("g", "orders", 1, nil, nil)
	h.deletes("g", "other", 0, nil, nil)
	if !h.exists("g") {
		t.Error("the group is forgotten before Kafka would")
	}
	h.pass(60_000)
	if h.exists("g") {
		t.Error("the group is there without anything left")
	}
}

func TestOffsetDeleteOfTopicsWithoutPartitions(t *testing.T) {
	h := newHarness(t)
	h.create("orders", 1)
	h.commits(with(commitRequest("g"), "orders", 0, 5), nil)
	req := kmsg.NewPtrOffsetDeleteRequest()
	req.Group = "g"
	req.Topics = []kmsg.OffsetDeleteRequestTopic{{Topic: "orders"}, {Topic: "none"}, {Topic: "orders", Partitions: []kmsg.OffsetDeleteRequestTopicPartition{{Partition: 7}}}}
	resp := ask(h, func(s *coordinator.Step, reply func(*kmsg.OffsetDeleteResponse, error)) {
		h.m.OffsetDelete(s, req, reply)
	}).got()
	if len(resp.Topics) != 2 || resp.Topics[0].Topic != "none" || resp.Topics[1].Topic != "orders" || len(resp.Topics[1].Partitions) != 1 {
		t.Errorf("%+v", resp.Topics)
	}
}

func TestOffsetDeleteOfGroupsWithMembers(t *testing.T) {
	for _, c := range []struct {
		name                 string
		g                    scripted
		want, orders, others *kerr.Error
	}{
		{"stable connect workers", scripted{k: Classic, st: "Stable", typ: "connect", deleteCode: 68}, kerr.NonEmptyGroup, nil, nil},
		{"joining connect workers", scripted{k: Classic, st: "PreparingRebalance", typ: "connect", deleteCode: 68}, kerr.NonEmptyGroup, nil, nil},
		{"connect workers that left", scripted{k: Classic, st: "Empty", typ: "connect"}, nil, nil, nil},
		{"consumers", scripted{k: Classic, st: "Stable", typ: "consumer", topics: []string{"orders"}, deleteCode: 68}, nil, kerr.GroupSubscribedToTopic, nil},
		{"joining consumers", scripted{k: Classic, st: "PreparingRebalance", typ: "consumer", topics: []string{"orders"}, deleteCode: 68}, nil, kerr.GroupSubscribedToTopic, nil},
		{"consumers nobody understands", scripted{k: Classic, st: "Stable", typ: "consumer", deleteCode: 68}, nil, kerr.GroupSubscribedToTopic, kerr.GroupSubscribedToTopic},
		{"consumers that left", scripted{k: Classic, st: "Empty", typ: "consumer", topics: []string{}}, nil, nil, nil},
		{"new consumers", scripted{k: Consumer, st: "Stable", typ: "consumer", topics: []string{"orders"}, deleteCode: 68}, nil, kerr.GroupSubscribedToTopic, nil},
		{"new consumers that left", scripted{k: Consumer, st: "Empty", typ: "consumer", topics: []string{}}, nil, nil, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := newHarness(t)
			h.create("orders", 1)
			h.create("other", 1)
			h.commits(with(with(commitRequest("g"), "orders", 0, 5), "other", 0, 7), nil, nil)
			h.script("g", c.g)
			h.deletes("g", "orders", 0, c.want, c.orders)
			h.deletes("g", "other", 0, c.want, c.others)
			left := map[bool]int64{true: 5, false: -1}
			h.offsets("orders", map[string]int64{"g": left[c.want != nil || c.orders != nil]})
			left[true] = 7
			h.offsets("other", map[string]int64{"g": left[c.want != nil || c.others != nil]})
			// What is not there is not subscribed to either.
			if c.want == nil {
				h.deletes("g", "none", 0, nil, kerr.UnknownTopicOrPartition)
			}
		})
	}
}

func TestDeletingManyOffsetsIsDoneInSteps(t *testing.T) {
	h := newHarness(t)
	n := commitMany(h, 1)
	req := kmsg.NewPtrOffsetDeleteRequest()
	req.Group = "g0"
	topic := kmsg.OffsetDeleteRequestTopic{Topic: "orders"}
	for p := range n {
		topic.Partitions = append(topic.Partitions, kmsg.OffsetDeleteRequestTopicPartition{Partition: int32(p)})
	}
	topic.Partitions = append(topic.Partitions, topic.Partitions[0]) // twice
	req.Topics = append(req.Topics, topic)
	a := ask(h, func(s *coordinator.Step, reply func(*kmsg.OffsetDeleteResponse, error)) {
		h.m.OffsetDelete(s, req, reply)
	})
	a.waits()
	h.commit("g0", "orders", 0, 7) // stays
	h.boundedSteps(1000)
	for _, p := range a.got().Topics[0].Partitions {
		if p.ErrorCode != 0 {
			t.Fatalf("partition %d: %d", p.Partition, p.ErrorCode)
		}
	}
	if len(a.response.Topics[0].Partitions) != n+1 {
		t.Errorf("%d partitions are answered", len(a.response.Topics[0].Partitions))
	}
}
