package group

import (
	"fmt"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"ringmain/coordinator"
	"ringmain/coordinator/group/records"
	"ringmain/model"
)

// shown writes an answer in one line: what was fetched, in order.
func shown(h *harness, g kmsg.OffsetFetchResponseGroup) string {
	var b strings.Builder
	for _, t := range g.Topics {
		name := t.Topic
		if topic := h.img.TopicByID(t.TopicID); topic != nil {
			name += "/" + topic.Name
		} else if t.TopicID != [16]byte{} {
			name += "/?"
		}
		for _, p := range t.Partitions {
			fmt.Fprintf(&b, "%s-%d:%d", name, p.Partition, p.Offset)
			if p.LeaderEpoch != model.NoEpoch || p.Metadata == nil {
				fmt.Fprintf(&b, "(epoch %d, metadata %v)", p.LeaderEpoch, p.Metadata)
			}
			if p.ErrorCode != 0 {
				fmt.Fprintf(&b, "!%d", p.ErrorCode)
			}
			b.WriteByte(' ')
		}
	}
	return strings.TrimSpace(b.String())
}

func TestWhatWasNotCommittedIsMinusOne(t *testing.T) {
	h := newHarness(t)
	h.create("orders", 2)
	h.commit("g", "orders", 0, 5)
	for version := int16(1); version <= 9; version++ {
		for group, want := range map[string]string{
			"g":      "orders-0:5 orders-1:-1 none-0:-1",
			"nobody": "orders-0:-1 orders-1:-1 none-0:-1",
		} {
			got := h.fetch(version, fetchRequest(group, model.TopicPartition{Topic: "orders"}, model.TopicPartition{Topic: "orders", Partition: 1}, model.TopicPartition{Topic: "none"}))
			if shown(h, got) != want || got.ErrorCode != 0 {
				t.Errorf("version %d, group %q: %s, error %d", version, group, shown(h, got), got.ErrorCode)
			}
		}
	}
	if h.exists("nobody") {
		t.Error("a fetch made a group")
	}
}

func TestFetchOfAllOffsets(t *testing.T) {
	h := newHarness(t)
	h.create("b", 3)
	h.create("a", 1)
	h.commits(with(with(with(commitRequest("g"), "b", 2, 3), "b", 0, 1), "a", 0, 7), nil, nil, nil)
	if got := shown(h, h.fetch(9, fetchRequest("g"))); got != "a-0:7 b-0:1 b-2:3" {
		t.Error(got)
	}
	if got := shown(h, h.fetch(10, fetchRequest("g"))); got != "a/a-0:7 b/b-0:1 b/b-2:3" {
		t.Error(got)
	}
	if got := h.fetch(9, fetchRequest("nobody")); got.Topics != nil || got.ErrorCode != 0 {
		t.Errorf("%+v", got)
	}
	// A list of no topics is not all of them.
	none := fetchRequest("g")
	none.Topics = []kmsg.OffsetFetchRequestGroupTopic{}
	if got := h.fetch(9, none); len(got.Topics) != 0 {
		t.Errorf("%+v", got)
	}
}

func TestTheGroupSaysWhichMemberMayFetch(t *testing.T) {
	h := newHarness(t)
	h.create("orders", 1)
	h.commit("g", "orders", 0, 5)
	g := h.script("g", scripted{k: Consumer, st: "Stable", typ: "consumer", n: 1})
	for _, topics := range [][]model.TopicPartition{nil, {{Topic: "orders"}}} {
		req := fetchRequest("g", topics...)
		g.fetchedBy = "not asked"
		if got := h.fetch(9, req); shown(h, got) != "orders-0:5" || g.fetchedBy != "not asked" {
			t.Errorf("%s by %q in epoch %d", shown(h, got), g.fetchedBy, g.fetchedEpoch)
		}
		req.MemberID = new(string) // a member without a name is one that is not there
		if h.fetch(9, req); g.fetchedBy != "" || g.fetchedEpoch != -1 {
			t.Errorf("%q in epoch %d was asked for", g.fetchedBy, g.fetchedEpoch)
		}
		req.MemberID, req.MemberEpoch = kmsg.StringPtr("m"), 4
		for _, want := range []*kerr.Error{kerr.UnknownMemberID, kerr.StaleMemberEpoch} {
			g.fetchCode = want.Code
			if got := h.fetch(9, req); got.ErrorCode != want.Code || got.Topics != nil {
				t.Errorf("%+v", got)
			}
		}
		if g.fetchedBy != "m" || g.fetchedEpoch != 4 {
			t.Errorf("%q in epoch %d was asked for", g.fetchedBy, g.fetchedEpoch)
		}
		g.fetchCode = 0
	}
	// As Kafka: a group that is not there has no member to be wrong.
	req := fetchRequest("nobody", model.TopicPartition{Topic: "orders"})
	req.MemberID, req.MemberEpoch = kmsg.StringPtr("m"), 4
	if got := h.fetch(9, req); shown(h, got) != "orders-0:-1" || got.ErrorCode != 0 {
		t.Errorf("%+v", got)
	}
}

func TestFetchByTopicID(t *testing.T) {
	h := newHarness(t)
	old := h.create("orders", 2)
	h.commit("g", "orders", 0, 5)
	// An offset of which no record tells the topic's id, as older releases wrote it.
	unknown := records.OffsetCommit("g", "orders", 1, &records.OffsetCommitValue{Offset: 6, LeaderEpoch: model.NoEpoch, ExpireTimestamp: records.NoTimestamp})
	h.step(func(s *coordinator.Step) { h.m.write(s, unknown) })
	byID := func(id model.TopicID) *kmsg.OffsetFetchRequestGroup {
		req := fetchRequest("g", model.TopicPartition{})
		req.Topics[0].TopicID, req.Topics[0].Partitions = id, []int32{0, 1}
		return req
	}
	if got := shown(h, h.fetch(10, byID(old))); got != "orders/orders-0:5 orders/orders-1:6" {
		t.Error(got)
	}
	if got := shown(h, h.fetch(10, byID(model.NewTopicID()))); got != "/?-0:-1!100 /?-1:-1!100" {
		t.Error(got)
	}
	if got := shown(h, h.fetch(10, byID(model.TopicID{}))); got != "-0:-1!100 -1:-1!100" {
		t.Error(got)
	}

	// The topic is made anew while the offsets stay, as when there are too many of them to
	// be deleted at once.
	again := model.TopicID{}
	h.unseen(func() {
		h.delete("orders")
		again = h.create("orders", 2)
	})
	if got := shown(h, h.fetch(10, byID(again))); got != "orders/orders-0:-1 orders/orders-1:6" {
		t.Error(got)
	}
	if got := shown(h, h.fetch(10, byID(old))); got != "/?-0:-1!100 /?-1:-1!100" {
		t.Error(got)
	}
	if got := shown(h, h.fetch(10, fetchRequest("g"))); got != "orders/orders-1:6" {
		t.Error(got)
	}
	if got := shown(h, h.fetch(9, fetchRequest("g"))); got != "orders-1:6" {
		t.Error(got)
	}
	h.commit("g", "orders", 0, 9)
	if got := shown(h, h.fetch(10, byID(again))); got != "orders/orders-0:9 orders/orders-1:6" {
		t.Error(got)
	}
}

func TestAFetchOfAllLeavesOutTopicsThatAreGone(t *testing.T) {
	h := newHarness(t)
	h.create("orders", 1)
	h.commit("g", "orders", 0, 5)
	h.unseen(func() { h.delete("orders") })
	if got := h.fetch(10, fetchRequest("g")); len(got.Topics) != 0 {
		t.Errorf("%+v", got)
	}
	if got := shown(h, h.fetch(9, fetchRequest("g"))); got != "orders-0:5" {
		t.Error(got)
	}
}
