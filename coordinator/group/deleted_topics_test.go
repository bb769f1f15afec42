package group

import (
	"testing"

	"ringmain/coordinator"
	"ringmain/coordinator/group/records"
	"ringmain/metadata"
)

func TestOffsetsOfADeletedTopicAreDeleted(t *testing.T) {
	h := newHarness(t, retention)
	h.create("orders", 2)
	h.create("other", 1)
	h.commits(with(with(commitRequest("g"), "orders", 0, 5, "m"), "other", 0, 7), nil, nil)
	h.commit("k", "orders", 0, 6)
	h.commit("k", "orders", 1, 6)
	h.script("k", scripted{k: Consumer, st: "Stable", typ: "consumer", n: 1, topics: []string{"orders"}, deleteCode: 68})
	h.delete("orders")
	h.offsets("orders", map[string]int64{"g": -1, "k": -1})
	h.offsets("other", map[string]int64{"g": 7})
	h.create("orders", 2)
	h.offsets("orders", map[string]int64{"g": -1, "k": -1})
	h.load()
	h.offsets("orders", map[string]int64{"g": -1, "k": -1})
	h.offsets("other", map[string]int64{"g": 7})
	if !h.exists("g") {
		t.Error("the group is gone though it has an offset")
	}
}

func TestAGroupOfADeletedTopicIsForgottenAtTheNextCheck(t *testing.T) {
	h := newHarness(t, retention)
	h.create("orders", 1)
	h.commit("g", "orders", 0, 5)
	h.delete("orders")
	if !h.exists("g") {
		t.Error("the group is forgotten before Kafka would")
	}
	h.pass(60_000)
	if h.exists("g") {
		t.Error("the group is there without anything left")
	}
}

func TestOffsetsOfATopicOfTheSameNameStay(t *testing.T) {
	h := newHarness(t)
	h.create("orders", 2)
	old := h.img.Topic("orders")
	h.delete("orders")
	h.create("orders", 2)
	h.commit("g", "orders", 0, 5)
	// Partition 1 has an offset of an unknown topic id.
	h.step(func(s *coordinator.Step) {
		h.m.write(s, records.OffsetCommit("g", "orders", 1, &records.OffsetCommitValue{Offset: 6, ExpireTimestamp: records.NoTimestamp}))
	})
	h.step(func(s *coordinator.Step) { h.m.dropTopics(s, []*metadata.Topic{old}) })
	if got := shown(h, h.fetch(9, fetchRequest("g"))); got != "orders-0:5" {
		t.Error(got)
	}
}

func TestDeletionOfMuchIsDoneInSteps(t *testing.T) {
	h := newHarness(t)
	commits := commitMany(h, 2)
	before := len(h.log)
	h.delete("orders")
	if n := len(h.log) - before; n == 0 || n == commits {
		t.Errorf("the first step deleted %d of %d offsets", n, commits)
	}
	h.boundedSteps(10)
	if n := len(h.log) - before; n != commits {
		t.Errorf("%d of %d offsets are deleted", n, commits)
	}
}
