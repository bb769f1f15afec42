package group

import (
	"testing"

	"ringmain/coordinator"
	"ringmain/coordinator/group/records"
	"ringmain/metadata"
	"ringmain/model"
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

// TestOffsetsOfTopicsThatWereDeletedUnseenAreDeletedByALoad is what a kill leaves right
// after DeleteTopics was answered: the metadata know, the log of the offsets does not.
func TestOffsetsOfTopicsThatWereDeletedUnseenAreDeletedByALoad(t *testing.T) {
	h := newHarness(t)
	h.create("again", 2)
	h.create("gone", 1)
	h.create("stays", 1)
	h.commits(with(with(with(commitRequest("g"), "again", 0, 5), "gone", 0, 6), "stays", 0, 7), nil, nil, nil)
	h.commit("k", "again", 1, 8)
	h.step(func(s *coordinator.Step) { // of unknown topic ids
		for _, topic := range []string{"again", "gone", "stays"} {
			h.m.write(s, records.OffsetCommit("k", topic, 0, &records.OffsetCommitValue{Offset: 9, LeaderEpoch: model.NoEpoch, ExpireTimestamp: records.NoTimestamp}))
		}
	})
	h.unseen(func() {
		h.delete("again")
		h.delete("gone")
		h.create("again", 2)
	})
	h.load()
	if got := shown(h, h.fetch(9, fetchRequest("g"))); got != "stays-0:7" {
		t.Error(got)
	}
	if got := shown(h, h.fetch(9, fetchRequest("k"))); got != "again-0:9 stays-0:9" {
		t.Error(got)
	}
}

// TestATopicDoesNotInheritOffsetsOfItsName, also before they are deleted.
func TestATopicDoesNotInheritOffsetsOfItsName(t *testing.T) {
	h := newHarness(t)
	h.create("orders", 2)
	h.commit("g", "orders", 0, 5)
	h.unseen(func() {
		h.delete("orders")
		h.create("orders", 2)
	})
	h.commit("g", "orders", 1, 6)
	h.offsets("orders", map[string]int64{"g": -1})
	if got := shown(h, h.fetch(9, fetchRequest("g"))); got != "orders-1:6" {
		t.Error(got)
	}
}

func TestDeletionOfMuchIsDoneInSteps(t *testing.T) {
	for name, loaded := range map[string]bool{"told": false, "found by a load": true} {
		t.Run(name, func(t *testing.T) { deletesMuchInSteps(t, loaded) })
	}
}

func deletesMuchInSteps(t *testing.T, loaded bool) {
	h := newHarness(t)
	commits := commitMany(h, 2)
	before := len(h.log)
	if loaded {
		h.unseen(func() { h.delete("orders") })
		h.load()
	} else {
		h.delete("orders")
	}
	if n := len(h.log) - before; n == 0 || n == commits {
		t.Errorf("the first step deleted %d of %d offsets", n, commits)
	}
	h.boundedSteps(10)
	if n := len(h.log) - before; n != commits {
		t.Errorf("%d of %d offsets are deleted", n, commits)
	}
}
