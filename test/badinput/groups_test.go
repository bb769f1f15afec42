package badinput

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"ringmain/test/peer"
)

// group gives a fresh group's id, whose coordinator answers.
func (r *rig) group(name string) string {
	r.Helper()
	id := fmt.Sprintf("bad-%s-%x", name, time.Now().UnixNano())
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		find := kmsg.NewPtrFindCoordinatorRequest()
		find.CoordinatorKeys = []string{id}
		fetch := kmsg.NewPtrOffsetFetchRequest()
		fetch.Groups = []kmsg.OffsetFetchRequestGroup{{Group: id}}
		if r.do(r.witness, 4, find).(*kmsg.FindCoordinatorResponse).Coordinators[0].ErrorCode == 0 &&
			r.do(r.witness, 8, fetch).(*kmsg.OffsetFetchResponse).Groups[0].ErrorCode == 0 {
			return id
		}
		if time.Now().After(deadline) {
			r.Fatal("no coordinator")
		}
	}
}

func joinReq(group, member string, metadata []byte) *kmsg.JoinGroupRequest {
	req := kmsg.NewPtrJoinGroupRequest()
	req.Group, req.MemberID, req.ProtocolType = group, member, "consumer"
	req.SessionTimeoutMillis, req.RebalanceTimeoutMillis = 30_000, 30_000
	req.Protocols = []kmsg.JoinGroupRequestProtocol{{Name: "range", Metadata: metadata}}
	return req
}

func (r *rig) join(c *peer.Conn, version int16, req *kmsg.JoinGroupRequest) *kmsg.JoinGroupResponse {
	r.Helper()
	return r.do(c, version, req).(*kmsg.JoinGroupResponse)
}

func TestRow44SessionTimeouts(t *testing.T) {
	r := newRig(t)
	id := r.group("session")
	for _, ms := range []int32{0, -1, -1 << 31, 5999, 1_800_001, 1<<31 - 1} {
		for _, version := range []int16{0, 4, 9} {
			req := joinReq(id, "", []byte("m"))
			req.SessionTimeoutMillis = ms
			r.code(fmt.Sprintf("JoinGroup v%d with a session timeout of %d ms", version, ms), r.join(r.witness, version, req).ErrorCode, 26)
		}
	}
	for _, ms := range []int32{-1 << 31, 1<<31 - 1} {
		req := joinReq(id, "", []byte("m"))
		req.RebalanceTimeoutMillis = ms
		r.code(fmt.Sprintf("JoinGroup with a rebalance timeout of %d ms", ms), r.join(r.witness, 4, req).ErrorCode, 79)
	}
}

// Metadata of 99 MB, many times. Kafka keeps it for as long as the member waits.
func TestRow44HugeMetadata(t *testing.T) {
	r := newRig(t)
	r.slack = 200 << 20 // the frame, and those that the broker has ready for the next
	id := r.group("huge")
	if kafka {
		return
	}
	metadata := make([]byte, 99_000_000)
	for i := range 5 {
		c := r.dial()
		r.code("JoinGroup with 99 MB of metadata", r.join(c, 3, joinReq(id, "", metadata)).ErrorCode, 42)
		r.code("JoinGroup with 99 MB of metadata, flexible", r.join(c, 9, joinReq(fmt.Sprint(id, i), "", metadata)).ErrorCode, 42)
		c.Close()
	}
	req := joinReq(id, "", nil)
	for i := range 100_000 {
		req.Protocols = append(req.Protocols, kmsg.JoinGroupRequestProtocol{Name: fmt.Sprint("p", i)})
	}
	r.code("JoinGroup with 100,000 protocols", r.join(r.dial(), 3, req).ErrorCode, 42)
	for _, none := range []int{0, 1} {
		req = joinReq(id, "", []byte("m"))
		req.Protocols = req.Protocols[:none]
		if none == 1 {
			req.ProtocolType = ""
		}
		r.code("JoinGroup without a protocol or a type", r.join(r.dial(), 3, req).ErrorCode, 23)
	}
	r.closes("JoinGroup with a group id of 40,000 bytes", framed(11, 9, joinReq(strings.Repeat("g", 40_000), "", nil)))
}

// receiveJoin is the answer to a frame that framed made of a JoinGroup.
func (r *rig) receiveJoin(c *peer.Conn, version int16) *kmsg.JoinGroupResponse {
	r.Helper()
	answer, err := c.Receive()
	if err != nil {
		r.Fatal(err)
	}
	req := kmsg.NewPtrJoinGroupRequest()
	req.SetVersion(version)
	resp, err := peer.Decode(req, 1, answer)
	if err != nil {
		r.Fatal(err)
	}
	return resp.(*kmsg.JoinGroupResponse)
}

// framed is the frame of a request.
func framed(key, version int16, req kmsg.Request) []byte {
	req.SetVersion(version)
	return frame(key, version, req.IsFlexible(), req.AppendTo(nil)...)
}

// A leader's assignment that no record can hold: nobody gets it, and the group goes on.
func TestRow44HugeAssignment(t *testing.T) {
	r := newRig(t)
	id := r.group("assignment")
	c := r.dial()
	joined := r.join(c, 3, joinReq(id, "", []byte("m")))
	r.code("JoinGroup", joined.ErrorCode, 0)
	sync := kmsg.NewPtrSyncGroupRequest()
	sync.Group, sync.MemberID, sync.Generation = id, joined.MemberID, joined.Generation
	sync.GroupAssignment = []kmsg.SyncGroupRequestGroupAssignment{{MemberID: joined.MemberID, MemberAssignment: make([]byte, 40<<20)}}
	r.code("SyncGroup with an assignment of 40 MiB", r.do(c, 3, sync).(*kmsg.SyncGroupResponse).ErrorCode, -1)
	joined = r.join(c, 3, joinReq(id, joined.MemberID, []byte("m")))
	r.code("JoinGroup after that", joined.ErrorCode, 0)
	sync.Generation, sync.GroupAssignment[0].MemberAssignment = joined.Generation, []byte("all")
	r.code("SyncGroup with a small one", r.do(c, 3, sync).(*kmsg.SyncGroupResponse).ErrorCode, 0)
}

func TestRow44TooManyMembers(t *testing.T) {
	r := ownRig(t, "group.max.size=3", "group.initial.rebalance.delay.ms=2000", "group.consumer.max.size=3")
	id := r.group("size")
	waiting := make([]*peer.Conn, 5)
	for i := range waiting { // they all wait for the initial delay to end
		waiting[i] = r.dial()
		if err := waiting[i].Send(framed(11, 3, joinReq(id, "", []byte("m")))); err != nil {
			t.Fatal(err)
		}
	}
	codes := map[int16]int{}
	for _, c := range waiting {
		codes[r.receiveJoin(c, 3).ErrorCode]++
	}
	if codes[0] != 3 || codes[81] != 2 {
		t.Errorf("5 members of a group of 3 at most got %v", codes)
	}
	for i := range 5 {
		req := kmsg.NewPtrConsumerGroupHeartbeatRequest()
		req.Group, req.MemberID = id+"-848", fmt.Sprint("m", i)
		req.RebalanceTimeoutMillis, req.SubscribedTopicNames = 30_000, []string{r.topic}
		req.Topics = []kmsg.ConsumerGroupHeartbeatRequestTopic{}
		want := int16(0)
		if i >= 3 {
			want = 81
		}
		r.code(fmt.Sprint("member ", i), r.do(r.witness, 1, req).(*kmsg.ConsumerGroupHeartbeatResponse).ErrorCode, want)
	}
}

// Ever new groups and members without an id: each is told to come with one, and what is
// kept of those who do not is bounded.
func TestRow44MembersThatNeverCome(t *testing.T) {
	r := newRig(t)
	r.slack = 256 << 20 // 2 MiB for each of 50 partitions, until it is collected
	id := r.group("never")
	const requests, window = 300_000, 500
	c := r.dial()
	var pipeline []byte
	for i := 0; i < requests; i += window {
		pipeline = pipeline[:0]
		for j := range window {
			req := joinReq(fmt.Sprint(id, "-", i+j), "", []byte("m"))
			req.SessionTimeoutMillis = 1_800_000
			req.SetVersion(4)
			pipeline = append(pipeline, framed(11, 4, req)...)
		}
		if err := c.Send(pipeline); err != nil {
			t.Fatal(err)
		}
		for range window {
			if r.code("JoinGroup without a member id", r.receiveJoin(c, 4).ErrorCode, 79); t.Failed() {
				return
			}
		}
	}
	late := r.join(c, 4, joinReq(id+"-0", "nobody", []byte("m")))
	r.code("JoinGroup with an id that was not given out", late.ErrorCode, 25)
}

func commitReq(group, topic string, offset int64, metadata string) *kmsg.OffsetCommitRequest {
	req := kmsg.NewPtrOffsetCommitRequest()
	req.Group, req.Generation = group, -1
	p := kmsg.NewOffsetCommitRequestTopicPartition()
	p.Offset, p.Metadata = offset, &metadata
	req.Topics = []kmsg.OffsetCommitRequestTopic{{Topic: topic, Partitions: []kmsg.OffsetCommitRequestTopicPartition{p}}}
	return req
}

func (r *rig) committed(group, topic string) (offset int64, metadata string) {
	r.Helper()
	req := kmsg.NewPtrOffsetFetchRequest()
	req.Group = group
	req.Topics = []kmsg.OffsetFetchRequestTopic{{Topic: topic, Partitions: []int32{0}}}
	p := r.do(r.witness, 5, req).(*kmsg.OffsetFetchResponse).Topics[0].Partitions[0]
	r.code("OffsetFetch", p.ErrorCode, 0)
	if p.Metadata != nil {
		metadata = *p.Metadata
	}
	return p.Offset, metadata
}

func TestRow45Commits(t *testing.T) {
	r := newRig(t)
	id := r.group("commit")
	commit := func(version int16, offset int64, metadata string) int16 {
		return r.do(r.dial(), version, commitReq(id, r.topic, offset, metadata)).(*kmsg.OffsetCommitResponse).Topics[0].Partitions[0].ErrorCode
	}
	largest := strings.Repeat("m", 4096)
	for _, version := range []int16{2, 5, 8, 9} {
		r.code("metadata of 4096 bytes", commit(version, 5, largest), 0)
		r.code("metadata of 4097 bytes", commit(version, 6, largest+"m"), 12)
		r.code("metadata of 32767 bytes", commit(version, 6, strings.Repeat("m", 32767)), 12)
		if offset, metadata := r.committed(id, r.topic); offset != 5 || metadata != largest {
			t.Errorf("v%d: offset %d with %d bytes of metadata is stored", version, offset, len(metadata))
		}
	}
	for _, offset := range []int64{-1, -2, 1<<63 - 1} { // kafkajs means the end and the start by the first two
		r.code(fmt.Sprint("offset ", offset), commit(8, offset, ""), 0)
		if is, _ := r.committed(id, r.topic); is != offset {
			t.Errorf("offset %d is stored for %d", is, offset)
		}
	}
	if !kafka { // which stores anything
		for _, offset := range []int64{-3, -1 << 63} {
			for _, version := range []int16{2, 5, 8, 9} {
				r.code(fmt.Sprint("offset ", offset), commit(version, offset, ""), 42)
			}
			if is, _ := r.committed(id, r.topic); is != 1<<63-1 {
				t.Errorf("offset %d is stored for %d", is, offset)
			}
		}
	}
	r.closes("metadata of 40,000 bytes", framed(8, 8, commitReq(id, r.topic, 6, strings.Repeat("m", 40_000))))
	unknown := r.do(r.dial(), 8, commitReq(id, "no-such-topic", 5, "")).(*kmsg.OffsetCommitResponse)
	r.code("an unknown topic", unknown.Topics[0].Partitions[0].ErrorCode, 3)
}

// One group, named as often as a request may: looked at once, and the answer is bounded.
func TestRow45OffsetsAskedForVeryOften(t *testing.T) {
	r := newRig(t)
	r.slack = 600 << 20 // an answer of 100 MiB, as values and as bytes
	id := r.group("often")
	if kafka {
		return
	}
	commit := commitReq(id, r.topic, 5, strings.Repeat("m", 4096))
	r.code("commit", r.do(r.witness, 8, commit).(*kmsg.OffsetCommitResponse).Topics[0].Partitions[0].ErrorCode, 0)
	req := kmsg.NewPtrOffsetFetchRequest()
	for range 100_000 {
		req.Groups = append(req.Groups, kmsg.OffsetFetchRequestGroup{Group: id})
	}
	groups := r.do(r.dial(), 8, req).(*kmsg.OffsetFetchResponse).Groups
	r.code("the first", groups[0].ErrorCode, 0)
	r.code("the last", groups[len(groups)-1].ErrorCode, 42)
	describe := kmsg.NewPtrDescribeGroupsRequest()
	for range 260_000 {
		describe.Groups = append(describe.Groups, "")
	}
	c := r.dial()
	describe.SetVersion(5)
	if _, err := c.Do(describe); !errors.Is(err, peer.ErrClosed) {
		t.Errorf("DescribeGroups of more groups than a request may name: %v", err)
	}
}
