package badinput

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

const (
	offsetMetadataTooLarge  = 12
	loadInProgress          = 14
	coordinatorNotAvailable = 15
	unknownMember           = 25
	invalidSessionTimeout   = 26
	commitTooLarge          = 28
	invalidRequest          = 42
	memberIDRequired        = 79
	groupMaxSize            = 81
)

// group gives a name for a group whose coordinator answers.
func (r *rig) group() string {
	r.Helper()
	name := fmt.Sprintf("bad-group-%x", time.Now().UnixNano())
	c := r.dial()
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		find := kmsg.NewPtrFindCoordinatorRequest()
		find.CoordinatorKeys = []string{name}
		code := r.do(c, 4, find).(*kmsg.FindCoordinatorResponse).Coordinators[0].ErrorCode
		if code == 0 { // it may still read its partition
			leave := kmsg.NewPtrLeaveGroupRequest()
			leave.Group, leave.MemberID = name, "nobody"
			if code = r.do(c, 1, leave).(*kmsg.LeaveGroupResponse).ErrorCode; code == unknownMember {
				return name
			}
		}
		if code != loadInProgress && code != coordinatorNotAvailable || time.Now().After(deadline) {
			r.Fatalf("%s has no coordinator: %d", name, code)
		}
	}
}

// joinReq is the JoinGroup of a new member that says so many bytes of itself.
func joinReq(group string, bytes int) *kmsg.JoinGroupRequest {
	req := kmsg.NewPtrJoinGroupRequest()
	req.Group, req.ProtocolType = group, "consumer"
	req.SessionTimeoutMillis, req.RebalanceTimeoutMillis = 6000, 6000
	p := kmsg.NewJoinGroupRequestProtocol()
	p.Name, p.Metadata = "range", make([]byte, bytes)
	req.Protocols = append(req.Protocols, p)
	return req
}

func TestRow44SessionTimeouts(t *testing.T) {
	r := newRig(t)
	g := r.group()
	for _, ms := range []int32{0, -1, -1 << 31, 5999, 1_800_001, 1<<31 - 1} {
		req := joinReq(g, 10)
		req.SessionTimeoutMillis = ms
		r.code(fmt.Sprint("session of ", ms, " ms"), r.do(r.dial(), 7, req).(*kmsg.JoinGroupResponse).ErrorCode, invalidSessionTimeout)
	}
}

func TestRow44LongWords(t *testing.T) {
	r := newRig(t)
	if kafka {
		t.Skip("Kafka keeps it, and fails when it writes the group")
	}
	r.slack = 512 << 20 // the request itself, and what it is decoded to
	g := r.group()
	for _, mb := range []int{17, 100} {
		c := r.dial()
		c.Timeout = 60 * time.Second
		r.code(fmt.Sprint(mb, " MB of metadata"), r.do(c, 3, joinReq(g, mb*1_000_000)).(*kmsg.JoinGroupResponse).ErrorCode, groupMaxSize)
	}
	beat := kmsg.NewPtrConsumerGroupHeartbeatRequest()
	beat.Group, beat.MemberID, beat.RebalanceTimeoutMillis = g, "m", 1000
	beat.Topics = []kmsg.ConsumerGroupHeartbeatRequestTopic{}
	for i := range 20_000 {
		beat.SubscribedTopicNames = append(beat.SubscribedTopicNames, fmt.Sprintf("a-topic-that-is-not-there-%d", i))
	}
	r.code("20,000 names of topics", r.do(r.dial(), 1, beat).(*kmsg.ConsumerGroupHeartbeatResponse).ErrorCode, invalidRequest)
}

func TestRow44TooManyMembers(t *testing.T) {
	r := ownRig(t, "group.max.size=1", "group.initial.rebalance.delay.ms=0")
	g := r.group()
	r.code("the first", r.do(r.dial(), 3, joinReq(g, 10)).(*kmsg.JoinGroupResponse).ErrorCode, 0)
	r.code("the second", r.do(r.dial(), 3, joinReq(g, 10)).(*kmsg.JoinGroupResponse).ErrorCode, groupMaxSize)
}

// Members without an id, in one group and in as many: each is told to come again with
// one, and what that takes is little.
func TestRow44MembersWithoutID(t *testing.T) {
	r := ownRig(t)
	g, c := r.group(), r.dial()
	for i := range 10_000 {
		for _, name := range []string{g, fmt.Sprint(g, "-", i)} {
			if code := r.do(c, 9, joinReq(name, 10)).(*kmsg.JoinGroupResponse).ErrorCode; code != memberIDRequired {
				r.code(fmt.Sprint("member ", i, " of ", name), code, memberIDRequired)
				return
			}
		}
	}
}

func TestRow45Commits(t *testing.T) {
	r := newRig(t)
	g, c := r.group(), r.dial()
	commit := func(times int, offset int64, metadata string) int16 {
		req := kmsg.NewPtrOffsetCommitRequest()
		req.Group, req.Generation = g, -1
		rt := kmsg.NewOffsetCommitRequestTopic()
		rt.Topic = r.topic
		for range times {
			p := kmsg.NewOffsetCommitRequestTopicPartition()
			p.Offset, p.Metadata = offset, &metadata
			rt.Partitions = append(rt.Partitions, p)
		}
		req.Topics = append(req.Topics, rt)
		return r.do(c, 9, req).(*kmsg.OffsetCommitResponse).Topics[0].Partitions[0].ErrorCode
	}
	r.code("4096 bytes of metadata", commit(1, 1, strings.Repeat("m", 4096)), 0)
	r.code("4097 bytes of metadata", commit(1, 1, strings.Repeat("m", 4097)), offsetMetadataTooLarge)
	r.code("16 MB of metadata", commit(1, 1, strings.Repeat("m", 16_000_000)), offsetMetadataTooLarge)
	if !kafka { // UNKNOWN_SERVER_ERROR there
		r.code("5,000 times 4096 bytes", commit(5000, 1, strings.Repeat("m", 4096)), commitTooLarge)
	}
	for _, offset := range []int64{-1, -2, -1 << 63, 1<<63 - 1} {
		r.code(fmt.Sprint("offset ", offset), commit(1, offset, ""), 0)
	}
}
