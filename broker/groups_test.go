package broker

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"ringmain/coordinator/group"
	"ringmain/metadata"
	"ringmain/metrics"
	"ringmain/segment"
)

// groupSettings are Kafka's defaults with few partitions and no delay.
func groupSettings() GroupSettings {
	return GroupSettings{
		Config: group.Config{
			MaxMetadataBytes: 4096, RetentionMs: 7 * 24 * 3600 * 1000, RetentionCheckMs: 600_000,
			MinSessionTimeoutMs: 6000, MaxSessionTimeoutMs: 1800000, MaxSize: 1 << 30, ConsumerMaxSize: 1 << 30,
			Assignors: []string{"uniform", "range"}, Migration: group.MigrationPolicy{Upgrade: true, Downgrade: true},
			RegexRefreshMs: 600_000, ClassicProtocol: true, ConsumerProtocol: true,
		},
		Loops: 2, CommitTimeout: 5 * time.Second, LoadBytes: 5 << 20,
		TopicPartitions: 4, TopicReplication: 1, TopicSegmentBytes: 1 << 20,
	}
}

func (c *liveClient) findGroup(id string) {
	c.Helper()
	if resp := c.ask(3, find(0, id)).(*kmsg.FindCoordinatorResponse); resp.ErrorCode != 0 {
		c.Fatalf("no coordinator: error %d", resp.ErrorCode)
	}
}

func commitRequest(id, topic string, offset int64) *kmsg.OffsetCommitRequest {
	req := kmsg.NewPtrOffsetCommitRequest()
	req.Group, req.Generation = id, -1
	t := kmsg.NewOffsetCommitRequestTopic()
	t.Topic = topic
	p := kmsg.NewOffsetCommitRequestTopicPartition()
	p.Offset, p.Metadata = offset, new(string)
	t.Partitions = append(t.Partitions, p)
	req.Topics = append(req.Topics, t)
	return req
}

func commitCode(resp kmsg.Response) int16 {
	return resp.(*kmsg.OffsetCommitResponse).Topics[0].Partitions[0].ErrorCode
}

func (c *liveClient) commit(id, topic string, offset int64) {
	c.Helper()
	if code := commitCode(c.ask(8, commitRequest(id, topic, offset))); code != 0 {
		c.Fatalf("commit: error %d", code)
	}
}

// fetched gives the committed offset of a group in partition 0 of a topic.
func (c *liveClient) fetched(version int16, id, topic string) (offset int64, code int16) {
	c.Helper()
	req := kmsg.NewPtrOffsetFetchRequest()
	req.Group = id
	req.Topics = []kmsg.OffsetFetchRequestTopic{{Topic: topic, Partitions: []int32{0}}}
	g := kmsg.NewOffsetFetchRequestGroup()
	g.Group = id
	g.Topics = []kmsg.OffsetFetchRequestGroupTopic{{Topic: topic, Partitions: []int32{0}}}
	req.Groups = append(req.Groups, g)
	resp := c.ask(version, req).(*kmsg.OffsetFetchResponse)
	if version >= 8 {
		if got := resp.Groups[0]; got.ErrorCode != 0 {
			return -1, got.ErrorCode
		}
		p := resp.Groups[0].Topics[0].Partitions[0]
		return p.Offset, p.ErrorCode
	}
	if resp.ErrorCode != 0 {
		return -1, resp.ErrorCode
	}
	p := resp.Topics[0].Partitions[0]
	return p.Offset, p.ErrorCode
}

func joinRequest(id, member string) *kmsg.JoinGroupRequest {
	req := kmsg.NewPtrJoinGroupRequest()
	req.Group, req.MemberID, req.ProtocolType = id, member, "consumer"
	req.SessionTimeoutMillis, req.RebalanceTimeoutMillis = 30000, 60000
	req.Protocols = []kmsg.JoinGroupRequestProtocol{{Name: "range", Metadata: []byte{0, 0, 0, 0, 0, 0, 0, 0, 0, 0}}}
	return req
}

// joined makes a group of one member that is stable, and gives the member.
func (c *liveClient) joined(id string) (member string, generation int32) {
	c.Helper()
	resp := c.ask(2, joinRequest(id, "")).(*kmsg.JoinGroupResponse)
	if resp.ErrorCode != 0 {
		c.Fatalf("join: error %d", resp.ErrorCode)
	}
	sync := kmsg.NewPtrSyncGroupRequest()
	sync.Group, sync.MemberID, sync.Generation = id, resp.MemberID, resp.Generation
	sync.GroupAssignment = []kmsg.SyncGroupRequestGroupAssignment{{MemberID: resp.MemberID, MemberAssignment: []byte("mine")}}
	if got := c.ask(2, sync).(*kmsg.SyncGroupResponse); got.ErrorCode != 0 || string(got.MemberAssignment) != "mine" {
		c.Fatalf("sync: %+v", got)
	}
	return resp.MemberID, resp.Generation
}

func TestCommitsSurviveARestart(t *testing.T) {
	l := newLive(t, nil)
	l.create("t")
	c := l.dial()
	c.findGroup("g")
	for i := range 100 {
		c.commit(fmt.Sprint("g", i), "t", int64(i))
	}
	member, generation := c.joined("members")
	dir := l.dir.Path()
	l.close()

	l = startLive(t, dir, l.meta, segment.NewPwritevIO())
	c = l.dial()
	for i := range 100 {
		for version := int16(1); version <= 9; version++ {
			var offset int64
			code := int16(14)
			l.eventually("the partition is loaded", func() bool {
				offset, code = c.fetched(version, fmt.Sprint("g", i), "t")
				return code != 14
			})
			if offset != int64(i) || code != 0 {
				t.Fatalf("v%d: group %d has offset %d, error %d", version, i, offset, code)
			}
		}
	}
	beat := kmsg.NewPtrHeartbeatRequest()
	beat.Group, beat.MemberID, beat.Generation = "members", member, generation
	if resp := c.ask(3, beat).(*kmsg.HeartbeatResponse); resp.ErrorCode != 0 {
		t.Errorf("the member is not known after a restart: error %d", resp.ErrorCode)
	}
}

func TestACommitIsAnsweredWhenItIsDurable(t *testing.T) {
	gate := make(chan struct{})
	l := newLive(t, gate)
	l.create("t")
	c := l.dial()
	c.findGroup("g")
	req := commitRequest("g", "t", 7)
	c.send(8, req)
	l.eventually("the commit is written", func() bool {
		for _, r := range l.replicas.topic(offsetsTopic).replicas {
			if r.Log().EndOffset() > 0 {
				return true
			}
		}
		return false
	})
	other := l.dial()
	list := kmsg.NewPtrListGroupsRequest()
	other.send(4, list) // says what is there, so it waits, too
	c.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
	if n, err := c.Read(make([]byte, 1)); n > 0 || !errors.Is(err, errTimeout(err)) {
		t.Fatalf("answered before the sync: %d bytes, %v", n, err)
	}
	close(gate)
	resp, err := c.receive(req)
	if err != nil || commitCode(resp) != 0 {
		t.Fatalf("%+v, %v", resp, err)
	}
	if resp, err := other.receive(list); err != nil || len(resp.(*kmsg.ListGroupsResponse).Groups) != 1 {
		t.Errorf("%+v, %v", resp, err)
	}
}

// errTimeout gives err back if it is a timeout of the network.
func errTimeout(err error) error {
	var n net.Error
	if errors.As(err, &n) && n.Timeout() {
		return err
	}
	return nil
}

// failingIO is a backend whose syncs fail once told so.
type failingIO struct {
	segment.LogIO
	fails *atomic.Bool
}

func (f failingIO) Sync(files []*segment.File) []error {
	if f.fails.Load() {
		errs := make([]error, len(files))
		for i := range errs {
			errs[i] = errors.New("the disk is gone")
		}
		return errs
	}
	return f.LogIO.Sync(files)
}

func TestACommitThatCannotBeStoredIsNotAcknowledged(t *testing.T) {
	meta := &watchedMeta{stubMeta: stubMeta{img: metadata.Empty()}}
	meta.apply(t, append(metadata.Bootstrap(stubCluster, 0), brokerRecord(1))...)
	var fails atomic.Bool
	l := startLive(t, t.TempDir(), meta, failingIO{segment.NewPwritevIO(), &fails})
	l.broken = true
	l.create("t")
	c := l.dial()
	c.findGroup("g")
	c.commit("g", "t", 1)
	fails.Store(true)
	if code := commitCode(c.ask(8, commitRequest("g", "t", 2))); code != 15 {
		t.Errorf("a failed commit: error %d", code)
	}
	if _, code := c.fetched(5, "g", "t"); code != 15 && code != 14 {
		t.Errorf("a fetch of offsets that nobody knows: error %d", code)
	}
	beat := kmsg.NewPtrHeartbeatRequest()
	beat.Group, beat.MemberID = "g", "m"
	if resp := c.ask(3, beat).(*kmsg.HeartbeatResponse); resp.ErrorCode != 15 && resp.ErrorCode != 0 {
		t.Errorf("a heartbeat meanwhile: error %d", resp.ErrorCode)
	}
}

func TestRequestsOfGroupsKeepTheirOrder(t *testing.T) {
	l := newLive(t, nil)
	l.create("t")
	c := l.dial()
	c.findGroup("g")
	member, _ := c.joined("g")
	// The leader is stable; a second member makes it rejoin, so its JoinGroup waits.
	join := joinRequest("g", "")
	c.send(2, join)
	for i := range 3 {
		c.send(8, commitRequest("other", "t", int64(i)))
	}
	l.eventually("the commits are done while the join waits", func() bool {
		offset, _ := l.dial().fetched(5, "other", "t")
		return offset == 2
	})
	leave := kmsg.NewPtrLeaveGroupRequest()
	leave.Group, leave.MemberID = "g", member
	if resp := l.dial().ask(1, leave).(*kmsg.LeaveGroupResponse); resp.ErrorCode != 0 {
		t.Fatalf("leave: error %d", resp.ErrorCode)
	}
	if resp, err := c.receive(join); err != nil || resp.(*kmsg.JoinGroupResponse).ErrorCode != 0 {
		t.Fatalf("%+v, %v", resp, err)
	}
	for range 3 {
		req := commitRequest("other", "t", 0)
		req.SetVersion(8)
		if resp, err := c.receive(req); err != nil || commitCode(resp) != 0 {
			t.Fatalf("%+v, %v", resp, err)
		}
	}
}

func TestWaitingMembersOfAConnectionDoNotPileUp(t *testing.T) {
	l := newLive(t, nil)
	c, other := l.dial(), l.dial()
	c.findGroup("g")
	var members []string
	for i := range 3 * maxGroupCalls { // each group has a member that does not rejoin
		member, _ := other.joined(fmt.Sprint("g", i))
		members = append(members, member)
	}
	join := joinRequest("", "")
	for i := range 3 * maxGroupCalls {
		join.Group = fmt.Sprint("g", i)
		c.send(2, join)
	}
	rebalancing := func() int {
		return int(l.GroupStates()[metrics.GroupState{Type: "classic", State: "PreparingRebalance"}])
	}
	l.eventually("as many wait as may", func() bool { return rebalancing() == maxGroupCalls })
	other.ask(3, kmsg.NewPtrApiVersionsRequest()) // the same loop: it has looked at all that is there
	if n := rebalancing(); n != maxGroupCalls {
		t.Fatalf("%d requests of one connection wait, want %d", n, maxGroupCalls)
	}
	for i := range 3 * maxGroupCalls {
		leave := kmsg.NewPtrLeaveGroupRequest()
		leave.Group, leave.MemberID = fmt.Sprint("g", i), members[i]
		other.ask(1, leave)
		if resp, err := c.receive(join); err != nil || resp.(*kmsg.JoinGroupResponse).ErrorCode != 0 {
			t.Fatalf("answer %d: %+v, %v", i, resp, err)
		}
	}
}

func TestStopAnswersWaitingMembers(t *testing.T) {
	l := newLive(t, nil)
	c := l.dial()
	c.findGroup("g")
	c.joined("g")
	join := joinRequest("g", "")
	c.send(2, join)
	l.eventually("the join waits", func() bool {
		return l.GroupStates()[metrics.GroupState{Type: "classic", State: "PreparingRebalance"}] == 1
	})
	l.stop()
	if resp, err := c.receive(join); err != nil || resp.(*kmsg.JoinGroupResponse).ErrorCode != 15 {
		t.Errorf("%+v, %v", resp, err)
	}
}

func TestALargeCommitAndSeveralGroups(t *testing.T) {
	l := newLive(t, nil)
	l.create("t")
	c := l.dial()
	c.findGroup("g")
	large := commitRequest("large", "t", 0)
	for i := range int32(quickBytes / 10) {
		p := kmsg.NewOffsetCommitRequestTopicPartition()
		p.Partition, p.Offset, p.Metadata = i, int64(i), new(string)
		large.Topics[0].Partitions = append(large.Topics[0].Partitions, p)
	}
	c.send(8, large)
	small := commitRequest("large", "t", 1000)
	c.send(8, small) // comes after it in effect as well
	resp, err := c.receive(large)
	if err != nil || commitCode(resp) != 0 || resp.(*kmsg.OffsetCommitResponse).Topics[0].Partitions[100].ErrorCode != 3 {
		t.Fatalf("%v", err)
	}
	if resp, err = c.receive(small); err != nil || commitCode(resp) != 0 {
		t.Fatalf("%+v, %v", resp, err)
	}
	fetch := kmsg.NewPtrOffsetFetchRequest()
	describe := kmsg.NewPtrDescribeGroupsRequest()
	remove := kmsg.NewPtrDeleteGroupsRequest()
	for _, id := range []string{"none", "large", "", "none", "other"} {
		g := kmsg.NewOffsetFetchRequestGroup()
		g.Group = id
		fetch.Groups = append(fetch.Groups, g)
		describe.Groups = append(describe.Groups, id)
		remove.Groups = append(remove.Groups, id)
	}
	groups := c.ask(8, fetch).(*kmsg.OffsetFetchResponse).Groups
	if len(groups) != 5 || groups[0].Group != "none" || groups[1].Group != "large" || groups[1].Topics[0].Partitions[0].Offset != 1000 || groups[4].Group != "other" {
		t.Errorf("%+v", groups)
	}
	var states []string
	for _, g := range c.ask(5, describe).(*kmsg.DescribeGroupsResponse).Groups {
		states = append(states, g.Group+" "+g.State)
	}
	if want := []string{"none Dead", "large Empty", " Dead", "none Dead", "other Dead"}; !slices.Equal(states, want) {
		t.Errorf("%q", states)
	}
	var codes []string
	for _, g := range c.ask(2, remove).(*kmsg.DeleteGroupsResponse).Groups {
		codes = append(codes, fmt.Sprint(g.Group, " ", g.ErrorCode))
	}
	if want := []string{"none 69", "large 0", " 69", "other 69"}; !slices.Equal(codes, want) {
		t.Errorf("%q", codes)
	}
	for _, req := range []kmsg.Request{kmsg.NewPtrDescribeGroupsRequest(), kmsg.NewPtrDeleteGroupsRequest(), kmsg.NewPtrConsumerGroupDescribeRequest()} {
		c.ask(0, req) // of no group: answered at once
	}
}

func TestEmptyGroupIDs(t *testing.T) {
	l := newLive(t, nil)
	c := l.dial()
	sync := kmsg.NewPtrSyncGroupRequest()
	sync.ProtocolType, sync.Protocol = new(string), new(string)
	bare := kmsg.NewPtrSyncGroupRequest()
	bare.Group = "g"
	for _, x := range []struct {
		req     kmsg.Request
		version int16
		code    int16
	}{
		{joinRequest("", ""), 5, 24}, {kmsg.NewPtrHeartbeatRequest(), 4, 24}, {kmsg.NewPtrLeaveGroupRequest(), 5, 24}, {kmsg.NewPtrOffsetDeleteRequest(), 0, 24},
		{sync, 5, 24}, {bare, 5, 23}, {kmsg.NewPtrConsumerGroupHeartbeatRequest(), 1, 16},
	} {
		if code := responseError(c.ask(x.version, x.req)); code != x.code && x.code != 16 {
			t.Errorf("%T: error %d, want %d", x.req, code, x.code)
		}
	}
}

// Before the topic is there, nobody is the coordinator of anything, but for what needs
// no group.
func TestWithoutTheOffsetsTopic(t *testing.T) {
	l := newLive(t, nil)
	l.create("t")
	c := l.dial()
	if code := commitCode(c.ask(8, commitRequest("g", "t", 1))); code != 16 {
		t.Errorf("commit: error %d", code)
	}
	if _, code := c.fetched(5, "g", "t"); code != 16 {
		t.Errorf("fetch: error %d", code)
	}
	if _, code := c.fetched(1, "g", "t"); code != 16 {
		t.Errorf("fetch v1: error %d", code)
	}
	if resp := c.ask(4, kmsg.NewPtrListGroupsRequest()).(*kmsg.ListGroupsResponse); resp.ErrorCode != 0 || len(resp.Groups) != 0 {
		t.Errorf("list: %+v", resp)
	}
}

func TestTheOffsetsTopicIsDeletedAndMadeAnew(t *testing.T) {
	l := newLive(t, nil)
	l.create("t")
	c := l.dial()
	c.findGroup("g")
	c.commit("g", "t", 5)
	c.joined("waits")
	parked := l.dial()
	join := joinRequest("waits", "")
	parked.send(2, join)
	l.eventually("the join waits", func() bool {
		return l.GroupStates()[metrics.GroupState{Type: "classic", State: "PreparingRebalance"}] == 1
	})
	remove := kmsg.NewPtrDeleteTopicsRequest()
	remove.TopicNames, remove.TimeoutMillis = []string{offsetsTopic}, 10000
	if resp := c.ask(3, remove).(*kmsg.DeleteTopicsResponse); resp.Topics[0].ErrorCode != 0 {
		t.Fatalf("delete: error %d", resp.Topics[0].ErrorCode)
	}
	if resp, err := parked.receive(join); err != nil || resp.(*kmsg.JoinGroupResponse).ErrorCode != 16 {
		t.Errorf("%+v, %v", resp, err)
	}
	if code := commitCode(c.ask(8, commitRequest("g", "t", 6))); code != 16 {
		t.Errorf("commit: error %d", code)
	}
	c.findGroup("g")
	if offset, code := c.fetched(5, "g", "t"); offset != -1 || code != 0 {
		t.Errorf("the new topic has offset %d, error %d", offset, code)
	}
	c.commit("g", "t", 7)
}

// TestAnOffsetsPartitionThatCannotBeOpened makes its groups unavailable; a list of
// groups without them would be a lie.
func TestAnOffsetsPartitionThatCannotBeOpened(t *testing.T) {
	l := newLive(t, nil)
	l.create("t")
	c := l.dial()
	c.findGroup("g")
	lost := partitionOfGroup("g", groupSettings().TopicPartitions)
	other := "h"
	for i := 0; partitionOfGroup(other, groupSettings().TopicPartitions) == lost; i++ {
		other = fmt.Sprint("h", i)
	}
	c.commit("g", "t", 5)
	c.commit(other, "t", 6)
	dir := l.dir.Path()
	l.close()
	home := filepath.Join(dir, fmt.Sprintf("%s-%d", offsetsTopic, lost))
	if err := os.RemoveAll(home); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(home, nil, 0o600); err != nil { // nothing that could be a directory
		t.Fatal(err)
	}

	l = startLive(t, dir, l.meta, segment.NewPwritevIO())
	c = l.dial()
	l.eventually("the other partition is loaded", func() bool {
		offset, code := c.fetched(5, other, "t")
		return offset == 6 && code == 0
	})
	if _, code := c.fetched(5, "g", "t"); code != 15 {
		t.Errorf("fetch: error %d", code)
	}
	if code := commitCode(c.ask(8, commitRequest("g", "t", 6))); code != 15 {
		t.Errorf("commit: error %d", code)
	}
	if resp := c.ask(4, kmsg.NewPtrListGroupsRequest()).(*kmsg.ListGroupsResponse); resp.ErrorCode != 15 {
		t.Errorf("list: %+v", resp)
	}
}

func TestDeletedTopicsTakeTheirOffsetsWithThem(t *testing.T) {
	l := newLive(t, nil)
	l.create("t")
	l.create("u")
	c := l.dial()
	c.findGroup("g")
	c.commit("g", "t", 5)
	c.commit("g", "u", 6)
	remove := kmsg.NewPtrDeleteTopicsRequest()
	remove.TopicNames, remove.TimeoutMillis = []string{"t"}, 10000
	c.ask(3, remove)
	l.create("t")
	if offset, code := c.fetched(5, "g", "t"); offset != -1 || code != 0 {
		t.Errorf("offset %d, error %d", offset, code)
	}
	if offset, code := c.fetched(5, "g", "u"); offset != 6 || code != 0 {
		t.Errorf("offset %d, error %d", offset, code)
	}
}

func TestNobodyWritesToTheOffsetsTopic(t *testing.T) {
	l := newLive(t, nil)
	c := l.dial()
	c.findGroup("g")
	resp := c.ask(7, produceRequest(1, offsetsTopic, batchOf("x"))).(*kmsg.ProduceResponse)
	if code := resp.Topics[0].Partitions[0].ErrorCode; code != 17 {
		t.Errorf("error %d", code)
	}
}

// TestTheOffsetsTopicIsNotCutOrGrown by an admin who means well: its groups would lose
// their offsets.
func TestTheOffsetsTopicIsNotCutOrGrown(t *testing.T) {
	l := newLive(t, nil)
	l.create("t")
	c := l.dial()
	c.findGroup("g")
	c.commit("g", "t", 5)
	cut := kmsg.NewPtrDeleteRecordsRequest()
	cut.TimeoutMillis = 10000
	cut.Topics = []kmsg.DeleteRecordsRequestTopic{{Topic: offsetsTopic, Partitions: []kmsg.DeleteRecordsRequestTopicPartition{{Offset: -1}}}}
	if code := c.ask(1, cut).(*kmsg.DeleteRecordsResponse).Topics[0].Partitions[0].ErrorCode; code != 17 {
		t.Errorf("delete records: error %d", code)
	}
	grow := kmsg.NewPtrCreatePartitionsRequest()
	grow.TimeoutMillis = 10000
	grow.Topics = []kmsg.CreatePartitionsRequestTopic{{Topic: offsetsTopic, Count: 100}}
	if code := c.ask(1, grow).(*kmsg.CreatePartitionsResponse).Topics[0].ErrorCode; code != 17 {
		t.Errorf("create partitions: error %d", code)
	}
	if offset, code := c.fetched(5, "g", "t"); offset != 5 || code != 0 {
		t.Errorf("offset %d, error %d", offset, code)
	}
}

func TestTheFeatureTurnsTheConsumerProtocolOff(t *testing.T) {
	l := newLive(t, nil)
	c := l.dial()
	c.findGroup("g")
	beat := kmsg.NewPtrConsumerGroupHeartbeatRequest()
	beat.Group, beat.MemberID, beat.RebalanceTimeoutMillis = "g", "m", 10000
	beat.SubscribedTopicNames, beat.Topics = []string{"t"}, []kmsg.ConsumerGroupHeartbeatRequestTopic{}
	describe := kmsg.NewPtrConsumerGroupDescribeRequest()
	describe.Groups = []string{"g", ""}
	if resp := c.ask(1, beat).(*kmsg.ConsumerGroupHeartbeatResponse); resp.ErrorCode != 0 || resp.MemberEpoch < 1 {
		t.Errorf("%+v", resp)
	}
	if resp := c.ask(1, describe).(*kmsg.ConsumerGroupDescribeResponse); resp.Groups[0].ErrorCode != 0 || resp.Groups[1].ErrorCode != 24 {
		t.Errorf("%+v", resp)
	}
	l.meta.Change(t.Context(), func(*metadata.Image) ([]metadata.Record, error) {
		return []metadata.Record{metadata.FeatureRecord{Name: metadata.FeatureGroupVersion}}, nil
	})
	if resp := c.ask(1, beat).(*kmsg.ConsumerGroupHeartbeatResponse); resp.ErrorCode != 35 || resp.ErrorMessage != nil {
		t.Errorf("%+v", resp)
	}
	if resp := c.ask(1, describe).(*kmsg.ConsumerGroupDescribeResponse); resp.Groups[0].ErrorCode != 35 || resp.Groups[1].ErrorCode != 35 {
		t.Errorf("%+v", resp)
	}
}

// What a group sets for itself holds for it, and not for others.
func TestGroupsHaveSettingsOfTheirOwn(t *testing.T) {
	l := newLive(t, nil)
	c := l.dial()
	c.findGroup("g")
	value := "7000"
	l.meta.Change(t.Context(), func(*metadata.Image) ([]metadata.Record, error) {
		return []metadata.Record{metadata.ConfigRecord{Kind: metadata.GroupResource, Name: "own", Key: "consumer.heartbeat.interval.ms", Value: &value}}, nil
	})
	for id, want := range map[string]int32{"own": 7000, "other": 5000} {
		beat := kmsg.NewPtrConsumerGroupHeartbeatRequest()
		beat.Group, beat.MemberID, beat.RebalanceTimeoutMillis = id, "m", 10000
		beat.SubscribedTopicNames, beat.Topics = []string{"t"}, []kmsg.ConsumerGroupHeartbeatRequestTopic{}
		if resp := c.ask(1, beat).(*kmsg.ConsumerGroupHeartbeatResponse); resp.HeartbeatIntervalMillis != want {
			t.Errorf("%s: %+v", id, resp)
		}
	}
}

// All requests of groups are bounded by the guard of the codec, and what does not parse
// closes the connection.
func TestARequestOfAGroupThatDoesNotParse(t *testing.T) {
	l := newLive(t, nil)
	c := l.dial()
	c.findGroup("g")
	req := joinRequest("g", "")
	req.SetVersion(2)
	c.next++
	frame := kmsg.NewRequestFormatter().AppendRequest(nil, req, c.next)
	cut := append([]byte(nil), frame[:len(frame)-1]...)
	cut[3]--
	c.Write(cut)
	if _, err := c.receive(req); err == nil || strings.Contains(err.Error(), "timeout") {
		t.Errorf("answered, or left open: %v", err)
	}
}
