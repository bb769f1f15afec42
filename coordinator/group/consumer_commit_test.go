package group

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"ringmain/coordinator"
)

// commit commits an offset of a partition of t, and gives the error.
func (sc *scene) commit(member string, epoch, partition int32, offset int64) int16 {
	sc.t.Helper()
	return sc.commitVersion(9, member, epoch, partition, offset)
}

func (sc *scene) commitVersion(version int16, member string, epoch, partition int32, offset int64) int16 {
	sc.t.Helper()
	req := kmsg.NewPtrOffsetCommitRequest()
	req.Version, req.Group, req.MemberID, req.Generation = version, sc.group, member, epoch
	topic := kmsg.NewOffsetCommitRequestTopic()
	topic.Topic = sc.named("t")
	p := kmsg.NewOffsetCommitRequestTopicPartition()
	p.Partition, p.Offset = partition, offset
	topic.Partitions = append(topic.Partitions, p)
	req.Topics = append(req.Topics, topic)
	r := exchange(sc, req, func(s *coordinator.Step, reply func(*kmsg.OffsetCommitResponse, error)) {
		sc.m.OffsetCommit(s, req, testClient, reply)
	})()
	return r.Topics[0].Partitions[0].ErrorCode
}

// committed is the offset of partition 0 of t.
func (sc *scene) committed() int64 {
	sc.t.Helper()
	offset, _ := sc.fetch("", -1)
	return offset
}

func (sc *scene) fetch(member string, epoch int32) (int64, int16) {
	sc.t.Helper()
	req := kmsg.NewPtrOffsetFetchRequest()
	req.Version = 9
	g := kmsg.NewOffsetFetchRequestGroup()
	g.Group, g.MemberEpoch = sc.group, epoch
	if member != "" {
		g.MemberID = &member
	}
	topic := kmsg.NewOffsetFetchRequestGroupTopic()
	topic.Topic, topic.Partitions = sc.named("t"), []int32{0}
	g.Topics = append(g.Topics, topic)
	req.Groups = append(req.Groups, g)
	r := exchange(sc, req, func(s *coordinator.Step, reply func(*kmsg.OffsetFetchResponse, error)) {
		sc.m.OffsetFetch(s, 9, false, &g, func(g kmsg.OffsetFetchResponseGroup, err error) {
			reply(&kmsg.OffsetFetchResponse{Version: 9, Groups: []kmsg.OffsetFetchResponseGroup{g}}, err)
		})
	})()
	if r.Groups[0].ErrorCode != 0 {
		return -1, r.Groups[0].ErrorCode
	}
	return r.Groups[0].Topics[0].Partitions[0].Offset, 0
}

// TestCommitsOfMembers: with the epoch of the member, or with one of since it has the
// partition.
func TestCommitsOfMembers(t *testing.T) {
	sc := newScene(t)
	sc.topic("t", 2)
	sc.served(joins("a", "t"), 2, parts("t", 0, 1))
	stale := kerr.StaleMemberEpoch.Code
	want := func(name string, got, code int16) {
		t.Helper()
		if got != code {
			t.Errorf("%s: got %d, want %d", name, got, code)
		}
	}
	want("a member", sc.commit("a", 2, 0, 1), 0)
	want("a newer epoch", sc.commit("a", 3, 0, 1), stale)
	want("an epoch before it had it", sc.commit("a", 1, 0, 1), stale)
	want("nobody", sc.commit("", -1, 0, 1), kerr.UnknownMemberID.Code)
	want("a stranger", sc.commit("b", 2, 0, 1), kerr.UnknownMemberID.Code)
	want("a version that knows no epochs", sc.commitVersion(8, "a", 2, 0, 1), kerr.UnsupportedVersion.Code)
	_, code := sc.fetch("a", 2)
	want("fetch", code, 0)
	_, code = sc.fetch("a", 1)
	want("fetch with another epoch", code, stale)
	_, code = sc.fetch("b", 2)
	want("fetch of a stranger", code, kerr.UnknownMemberID.Code)
	_, code = sc.fetch("", -1)
	want("fetch of nobody", code, 0)

	sc.beat(joins("b", "t"))
	kept := sc.beat(beat{id: "a", epoch: 2}).share
	given := 1 - kept["t"][0]
	want("what it is to give up", sc.commit("a", 2, given, 2), 0)
	sc.served(beat{id: "a", epoch: 2, owned: kept}, 3, nil)
	want("an older epoch, of what it kept", sc.commit("a", 2, kept["t"][0], 3), 0)
	want("an older epoch, of what it gave up", sc.commit("a", 2, given, 3), stale)
	want("its epoch, of what it gave up", sc.commit("a", 3, given, 3), 0)
	sc.served(beat{id: "b", epoch: 3}, 3, parts("t", given))
	want("the epoch before, of what it got", sc.commit("b", 2, given, 4), stale)

	sc.beat(beat{id: "a", epoch: -1})
	sc.beat(beat{id: "b", epoch: -1})
	want("nobody, of an empty group", sc.commit("", -1, 0, 5), 0)
	want("who left", sc.commit("a", 3, 0, 5), kerr.UnknownMemberID.Code)
}
