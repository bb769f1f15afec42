package group

import (
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"ringmain/coordinator"
)

// classicJoin is a JoinGroup of a consumer.
type classicJoin struct {
	id       string
	instance string
	version  int16 // 0: 9
	typ      string
	// protocols that it speaks, cooperative-sticky if nil
	protocols []string
	topics    []string
	owned     share
	raw       []byte // instead of a subscription
}

func (sc *scene) join(j classicJoin) *kmsg.JoinGroupResponse {
	sc.t.Helper()
	a := sc.joining(j)
	return a()
}

// joining sends the request, and gives what waits for its answer.
func (sc *scene) joining(j classicJoin) func() *kmsg.JoinGroupResponse {
	sc.t.Helper()
	req := kmsg.NewPtrJoinGroupRequest()
	req.Version, req.Group, req.MemberID, req.ProtocolType = 9, sc.group, j.id, consumerProtocolType
	if j.version != 0 {
		req.Version = j.version
	}
	if j.typ != "" {
		req.ProtocolType = j.typ
	}
	req.SessionTimeoutMillis, req.RebalanceTimeoutMillis = 30_000, 60_000
	if j.instance != "" {
		req.InstanceID = &j.instance
	}
	if j.protocols == nil {
		j.protocols = []string{"cooperative-sticky"}
	}
	for _, name := range j.protocols {
		metadata := j.raw
		if metadata == nil {
			v := kmsg.NewConsumerMemberMetadata()
			v.Version = 3
			for _, topic := range j.topics {
				v.Topics = append(v.Topics, sc.named(topic))
			}
			for topic, partitions := range j.owned {
				v.OwnedPartitions = append(v.OwnedPartitions, kmsg.ConsumerMemberMetadataOwnedPartition{Topic: sc.named(topic), Partitions: partitions})
			}
			metadata = v.AppendTo(nil)
		}
		req.Protocols = append(req.Protocols, kmsg.JoinGroupRequestProtocol{Name: name, Metadata: metadata})
	}
	return exchange(sc, req, func(s *coordinator.Step, reply func(*kmsg.JoinGroupResponse, error)) {
		sc.m.JoinGroup(s, req, testClient, reply)
	})
}

func (sc *scene) sync(id string, generation int32, protocol string, shares ...kmsg.SyncGroupRequestGroupAssignment) (int16, share) {
	sc.t.Helper()
	req := kmsg.NewPtrSyncGroupRequest()
	req.Version, req.Group, req.MemberID, req.Generation = 5, sc.group, id, generation
	req.ProtocolType, req.Protocol = kmsg.StringPtr(consumerProtocolType), &protocol
	req.GroupAssignment = shares
	r := exchange(sc, req, func(s *coordinator.Step, reply func(*kmsg.SyncGroupResponse, error)) { sc.m.SyncGroup(s, req, reply) })()
	if r.ErrorCode != 0 {
		return r.ErrorCode, nil
	}
	v := kmsg.NewConsumerMemberAssignment()
	if err := v.ReadFrom(r.MemberAssignment); err != nil {
		sc.t.Fatal(err)
	}
	got := share{}
	for _, topic := range v.Topics {
		got[topic.Topic[len(sc.named("")):]] = slices.Sorted(slices.Values(topic.Partitions))
	}
	return 0, got
}

func (sc *scene) classicBeat(id string, generation int32) int16 {
	sc.t.Helper()
	req := kmsg.NewPtrHeartbeatRequest()
	req.Version, req.Group, req.MemberID, req.Generation = 4, sc.group, id, generation
	return exchange(sc, req, func(s *coordinator.Step, reply func(*kmsg.HeartbeatResponse, error)) { sc.m.Heartbeat(s, req, reply) })().ErrorCode
}

func (sc *scene) classicLeave(members ...kmsg.LeaveGroupRequestMember) *kmsg.LeaveGroupResponse {
	sc.t.Helper()
	req := kmsg.NewPtrLeaveGroupRequest()
	req.Version, req.Group, req.Members = 5, sc.group, members
	return exchange(sc, req, func(s *coordinator.Step, reply func(*kmsg.LeaveGroupResponse, error)) { sc.m.LeaveGroup(s, req, reply) })()
}

func (sc *scene) classicState() string {
	sc.t.Helper()
	req := kmsg.NewPtrDescribeGroupsRequest()
	req.Version, req.Groups = 6, []string{sc.group}
	r := exchange(sc, req, func(s *coordinator.Step, reply func(*kmsg.DescribeGroupsResponse, error)) {
		sc.m.DescribeGroup(s, sc.group, 6, func(g kmsg.DescribeGroupsResponseGroup, err error) {
			reply(&kmsg.DescribeGroupsResponse{Version: 6, Groups: []kmsg.DescribeGroupsResponseGroup{g}}, err)
		})
	})()
	if r.Groups[0].ErrorCode != 0 {
		return "none"
	}
	return r.Groups[0].State
}

// exchange sends a request, and gives what waits for its answer.
func exchange[R kmsg.Response](sc *scene, req kmsg.Request, to func(s *coordinator.Step, reply func(R, error))) func() R {
	if sc.kafka {
		answer := make(chan kmsg.Response, 1)
		go func() {
			r, err := askKafka(req)
			if err != nil {
				sc.t.Error(err)
			}
			answer <- r
		}()
		return func() R { return (<-answer).(R) }
	}
	a := ask(sc.harness, to)
	return func() R { return a.got() }
}

// parts is one topic's share.
func parts(topic string, partitions ...int32) share { return share{topic: partitions} }

func (sc *scene) holds(id string, generation int32, want share) {
	sc.t.Helper()
	code, got := sc.sync(id, generation, "cooperative-sticky")
	if code != 0 || len(got) != len(want) || !slices.Equal(got["t"], want["t"]) {
		sc.t.Fatalf("%s got %d, %v in generation %d, want %v", id, code, got, generation, want)
	}
}

// TestAClassicMemberInAConsumerGroup is one that joins, takes over a part when it is
// free, and leaves.
func TestAClassicMemberInAConsumerGroup(t *testing.T) {
	sc := newScene(t)
	sc.topic("t", 2)
	sc.served(joins("a", "t"), 2, parts("t", 0, 1))
	j := sc.join(classicJoin{topics: []string{"t"}})
	if j.ErrorCode != kerr.MemberIDRequired.Code || j.MemberID == "" {
		t.Fatalf("%+v", j)
	}
	id := j.MemberID
	j = sc.join(classicJoin{id: id, topics: []string{"t"}})
	if j.ErrorCode != 0 || j.Generation != 3 || j.LeaderID != "" || len(j.Members) != 0 || *j.Protocol != "cooperative-sticky" || *j.ProtocolType != "consumer" || j.MemberID != id {
		t.Fatalf("%+v", j)
	}
	sc.holds(id, 3, share{})
	if code := sc.classicBeat(id, 3); code != 0 { // waits for what a has
		t.Errorf("the heartbeat got %d", code)
	}
	for want, code := range map[int16]int16{
		kerr.IllegalGeneration.Code: sc.classicBeat(id, 2),
		kerr.UnknownMemberID.Code:   sc.classicBeat("nobody", 3),
	} {
		if code != want {
			t.Errorf("got %d, want %d", code, want)
		}
	}
	if code := sc.classicBeat("a", 3); code != kerr.UnknownMemberID.Code {
		t.Errorf("a member of the consumer protocol got %d", code)
	}
	if code, _ := sc.sync(id, 2, "cooperative-sticky"); code != kerr.IllegalGeneration.Code {
		t.Errorf("got %d", code)
	}
	if code, _ := sc.sync(id, 3, "range"); code != kerr.InconsistentGroupProtocol.Code {
		t.Errorf("got %d", code)
	}
	g := sc.beat(beat{id: "a", epoch: 2})
	kept := g.share
	if len(kept["t"]) != 1 {
		t.Fatalf("%+v", g)
	}
	sc.served(beat{id: "a", epoch: 2, owned: kept}, 3, nil)
	if code := sc.classicBeat(id, 3); code != kerr.RebalanceInProgress.Code {
		t.Errorf("told of its share with %d", code)
	}
	if d := sc.describe(); len(d.Members) != 2 || d.State != "Reconciling" {
		t.Errorf("%+v", d)
	}
	j = sc.join(classicJoin{id: id, topics: []string{"t"}})
	if j.ErrorCode != 0 || j.Generation != 3 {
		t.Fatalf("%+v", j)
	}
	sc.holds(id, 3, parts("t", 1-kept["t"][0]))
	if code := sc.classicBeat(id, 3); code != 0 {
		t.Errorf("got %d", code)
	}
	d := sc.describe()
	for _, m := range d.Members {
		if want := int8(1); m.MemberID == id && m.MemberType != 0 || m.MemberID == "a" && m.MemberType != want {
			t.Errorf("%s is of type %d", m.MemberID, m.MemberType)
		}
	}
	// A third one: the classic member has to give up, says so by joining again, and
	// is given what it is to keep.
	sc.grow("t", 4)
	g = sc.beat(beat{id: "a", epoch: 3})
	if g.epoch != 4 {
		t.Fatalf("%+v", g)
	}
	if code := sc.classicBeat(id, 3); code != kerr.RebalanceInProgress.Code {
		t.Errorf("got %d", code)
	}
	if code, _ := sc.sync(id, 3, "cooperative-sticky"); code != kerr.RebalanceInProgress.Code {
		t.Errorf("got %d", code)
	}
	if j = sc.join(classicJoin{id: id, topics: []string{"t"}, owned: parts("t", 1-kept["t"][0])}); j.Generation != 4 {
		t.Fatalf("%+v", j)
	}
	left := sc.classicLeave(kmsg.LeaveGroupRequestMember{MemberID: "nobody"}, kmsg.LeaveGroupRequestMember{MemberID: id})
	if left.ErrorCode != 0 || left.Members[0].ErrorCode != kerr.UnknownMemberID.Code || left.Members[1].ErrorCode != 0 {
		t.Errorf("%+v", left)
	}
	sc.served(beat{id: "a", epoch: 4}, 5, parts("t", 0, 1, 2, 3))
	sc.shows("Stable", 5, 5)
}

func TestClassicJoinsThatAreRefused(t *testing.T) {
	sc := newScene(t)
	sc.topic("t", 1)
	sc.beat(joins("a", "t"))
	static := joins("b", "t")
	static.instance = "i"
	sc.beat(static)
	topics := []string{"t"}
	for name, row := range map[string]struct {
		j    classicJoin
		code int16
	}{
		"another type":         {classicJoin{id: "x", typ: "connect", topics: topics}, kerr.InconsistentGroupProtocol.Code},
		"no protocols":         {classicJoin{id: "x", protocols: []string{}}, kerr.InconsistentGroupProtocol.Code},
		"malformed":            {classicJoin{id: "x", raw: []byte{0}}, kerr.InconsistentGroupProtocol.Code},
		"unknown instance":     {classicJoin{id: "x", instance: "j", topics: topics}, kerr.UnknownMemberID.Code},
		"instance of another":  {classicJoin{id: "x", instance: "i", topics: topics}, kerr.FencedInstanceID.Code},
		"asks for a member id": {classicJoin{topics: topics}, kerr.MemberIDRequired.Code},
	} {
		j := sc.join(row.j)
		if j.ErrorCode != row.code {
			t.Errorf("%s: %+v", name, j)
		}
		// Unlike a classic group, this one does not say the id again that it refuses.
		if (j.MemberID != "") != (row.code == kerr.MemberIDRequired.Code) {
			t.Errorf("%s: refused with the member id %q", name, j.MemberID)
		}
	}
	if j := sc.join(classicJoin{id: "c", topics: topics, protocols: []string{"range", "roundrobin"}}); j.ErrorCode != 0 || *j.Protocol != "range" {
		t.Errorf("%+v", j)
	}
	if j := sc.join(classicJoin{id: "d", topics: topics}); j.ErrorCode != kerr.InconsistentGroupProtocol.Code {
		t.Errorf("nothing in common: %+v", j)
	}
	if j := sc.join(classicJoin{id: "d", topics: topics, protocols: []string{"roundrobin"}}); j.ErrorCode != 0 {
		t.Errorf("%+v", j)
	}
	if j := sc.join(classicJoin{id: "e", topics: topics, protocols: []string{"roundrobin"}}); j.ErrorCode != kerr.GroupMaxSizeReached.Code || j.MemberID != "" {
		t.Errorf("one too many: %+v", j)
	}
}

// classicGroup makes a group of two classic members, "range" of t's partitions, and
// gives their ids.
func (sc *scene) classicGroup(userData []byte) (leader, follower string) {
	sc.t.Helper()
	topics := []string{"t"}
	one := sc.join(classicJoin{topics: topics}).MemberID
	two := sc.join(classicJoin{topics: topics}).MemberID
	var a *kmsg.JoinGroupResponse
	first := sc.joining(classicJoin{id: one, topics: topics})
	if sc.kafka { // has no initial delay: the first is alone at first
		a = first()
		second := sc.joining(classicJoin{id: two, topics: topics})
		for sc.classicBeat(one, a.Generation) != kerr.RebalanceInProgress.Code {
			time.Sleep(10 * time.Millisecond)
		}
		a = sc.join(classicJoin{id: one, topics: topics})
		second()
	} else {
		second := sc.joining(classicJoin{id: two, topics: topics})
		sc.pass(10_000)
		a = first()
		second()
	}
	assignment := func(p int32) []byte {
		v := kmsg.NewConsumerMemberAssignment()
		v.Version = 3
		v.Topics = []kmsg.ConsumerMemberAssignmentTopic{{Topic: sc.named("t"), Partitions: []int32{p}}}
		v.UserData = userData
		return v.AppendTo(nil)
	}
	leader, follower = a.LeaderID, one
	if leader == one {
		follower = two
	}
	if code, _ := sc.sync(leader, a.Generation, "cooperative-sticky",
		kmsg.SyncGroupRequestGroupAssignment{MemberID: leader, MemberAssignment: assignment(0)},
		kmsg.SyncGroupRequestGroupAssignment{MemberID: follower, MemberAssignment: assignment(1)}); code != 0 {
		sc.t.Fatal(code)
	}
	if code, _ := sc.sync(follower, a.Generation, "cooperative-sticky"); code != 0 {
		sc.t.Fatal(code)
	}
	return leader, follower
}
