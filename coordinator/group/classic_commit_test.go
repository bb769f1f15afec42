package group

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"ringmain/coordinator"
)

// commit gives the error code of an OffsetCommit with these credentials. Kafka is
// asked with a topic that is there: it makes it.
func (w *world) commit(member, instance string, generation int32) int16 {
	w.t.Helper()
	if w.harness == nil {
		w.makeTopic()
		req := kmsg.NewPtrOffsetCommitRequest()
		req.Version, req.Group, req.MemberID, req.Generation = 8, w.group, member, generation
		req.InstanceID = named(instance)
		topic := kmsg.NewOffsetCommitRequestTopic()
		topic.Topic = "t"
		topic.Partitions = []kmsg.OffsetCommitRequestTopicPartition{kmsg.NewOffsetCommitRequestTopicPartition()}
		req.Topics = append(req.Topics, topic)
		r, err := askKafka(req)
		if err != nil {
			w.t.Fatal(err)
		}
		return r.(*kmsg.OffsetCommitResponse).Topics[0].Partitions[0].ErrorCode
	}
	var code int16
	w.step(func(s *coordinator.Step) {
		who := &commitCredentials{version: 8, memberID: member, instance: named(instance), generation: generation}
		code, _ = w.m.ensure(w.group).members.mayCommit(s, who)
	})
	return code
}

// named is an instance id; "" stands for none and noName for one that is empty.
func named(instance string) *string {
	switch instance {
	case "":
		return nil
	case noName:
		instance = ""
	}
	return &instance
}

const noName = "''"

func (w *world) makeTopic() {
	req := kmsg.NewPtrCreateTopicsRequest()
	req.Version, req.TimeoutMillis = 4, 10_000
	topic := kmsg.NewCreateTopicsRequestTopic()
	topic.Topic, topic.NumPartitions, topic.ReplicationFactor = "t", 1, 1
	req.Topics = append(req.Topics, topic)
	if _, err := askKafka(req); err != nil {
		w.t.Fatal(err)
	}
}

func TestCommitsOfAClassicGroup(t *testing.T) {
	w := newWorld(t)
	expect := func(state string, member, instance string, generation int32, want int16) {
		t.Helper()
		if d := w.describe(5); d.State != state {
			t.Fatalf("the group is %s, not %s", d.State, state)
		}
		if got := w.commit(member, instance, generation); got != want {
			t.Errorf("%s: %q %q %d: %d, want %d", state, member, instance, generation, got, want)
		}
	}
	ids, _ := w.settled(2)
	static, generation := w.addStatic("i", ids)
	for _, state := range []string{"Stable", "PreparingRebalance"} {
		if state == "PreparingRebalance" {
			w.join(w.joinRequest(9, ids[0], "range"))
		}
		expect(state, ids[1], "", generation, 0)
		expect(state, static, "i", generation, 0)
		expect(state, ids[1], "", generation-1, kerr.IllegalGeneration.Code)
		expect(state, ids[1], "", generation+1, kerr.IllegalGeneration.Code)
		expect(state, ids[1], "", -1, kerr.IllegalGeneration.Code)
		expect(state, "?", "", generation, kerr.UnknownMemberID.Code)
		expect(state, "", "", -1, kerr.UnknownMemberID.Code)
		expect(state, "", "", generation, kerr.UnknownMemberID.Code)
		expect(state, ids[1], "i", generation, kerr.FencedInstanceID.Code)
		expect(state, ids[1], "?", generation, kerr.UnknownMemberID.Code)
		expect(state, ids[1], noName, generation, kerr.UnknownMemberID.Code)
		expect(state, "", noName, -1, kerr.UnknownMemberID.Code)
	}
	w.join(w.joinRequest(9, ids[1], "range"))
	w.join(w.joinStatic(9, static, "i", "range")).got()
	expect("CompletingRebalance", ids[1], "", generation+1, kerr.RebalanceInProgress.Code)
	expect("CompletingRebalance", ids[1], "", generation, kerr.IllegalGeneration.Code)
	expect("CompletingRebalance", "", "", -1, kerr.UnknownMemberID.Code)
	expect("CompletingRebalance", ids[1], noName, generation+1, kerr.UnknownMemberID.Code)
	w.leave(w.leaveRequest(ids[0], ids[1], "@i")).got()
	expect("Empty", "", "", -1, 0)
	expect("Empty", "?", "", -1, 0)
	expect("Empty", ids[1], "", generation+1, kerr.UnknownMemberID.Code)
	expect("Empty", "", "", 0, kerr.UnknownMemberID.Code)
}
