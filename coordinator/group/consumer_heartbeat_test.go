package group

import (
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"

	"ringmain/coordinator/group/records"
)

func TestHeartbeatsThatAreInvalid(t *testing.T) {
	sc := newScene(t)
	sc.topic("t", 1)
	invalid := kerr.InvalidRequest.Code
	regex := "x"
	for name, b := range map[string]beat{
		"no member id in version 1":    {timeout: 1000, topics: []string{"t"}, owned: share{}},
		"no member id, living, v0":     {v0: true, epoch: 1},
		"no member id, leaving, v0":    {v0: true, epoch: -1},
		"blank member id":              {id: " ", timeout: 1000, topics: []string{"t"}, owned: share{}},
		"blank instance id":            {id: "m", instance: " ", timeout: 1000, topics: []string{"t"}, owned: share{}},
		"blank rack":                   {id: "m", rack: " ", timeout: 1000, topics: []string{"t"}, owned: share{}},
		"joins without a timeout":      {id: "m", topics: []string{"t"}, owned: share{}},
		"joins and does not say owned": {id: "m", timeout: 1000, topics: []string{"t"}},
		"joins and owns":               {id: "m", timeout: 1000, topics: []string{"t"}, owned: share{"t": {0}}},
		"joins without a subscription": {id: "m", timeout: 1000, owned: share{}},
		"leaves for a while, dynamic":  {id: "m", epoch: -2},
		"an epoch below all":           {id: "m", epoch: -3, regex: &regex},
	} {
		if g := sc.beat(b); g.code != invalid || g.text == "" {
			t.Errorf("%s: %+v", name, g)
		}
	}
	group := sc.group
	sc.group = ""
	sc.refused(joins("m", "t"), invalid)
	sc.group = group
	b := joins("m", "t")
	b.assignor = "sticky"
	sc.refused(b, kerr.UnsupportedAssignor.Code)
	sc.refused(beat{id: "m", epoch: 1}, kerr.GroupIDNotFound.Code)
	sc.refused(beat{id: "m", epoch: -1}, kerr.GroupIDNotFound.Code)
	if g := sc.describe(); g.ErrorCode != kerr.GroupIDNotFound.Code || g.ErrorMessage == nil {
		t.Errorf("refused requests left a group: %+v", g)
	}
}

// TestWhatAMemberSaysHasBounds: it is in a record.
func TestWhatAMemberSaysHasBounds(t *testing.T) {
	sc := newMachineScene(t, asKafka)
	long := strings.Repeat("x", records.MaxString+1)
	sc.refused(joins(long, "t"), kerr.InvalidRequest.Code)
	static := joins("m", "t")
	static.instance = long
	sc.refused(static, kerr.InvalidRequest.Code)
	sc.refused(joins("m", slices.Repeat([]string{long[:249]}, memberMaxBytes/249+1)...), kerr.InvalidRequest.Code)
	sc.beat(joins("m", "t"))
	if j := sc.join(classicJoin{id: long, topics: []string{"t"}}); j.ErrorCode != kerr.InvalidRequest.Code {
		t.Errorf("%+v", j)
	}
	if j := sc.join(classicJoin{id: "x", topics: []string{"t"}, protocols: []string{"a", "b"}, owned: parts("t", make([]int32, memberMaxBytes/8)...)}); j.ErrorCode != kerr.InvalidRequest.Code {
		t.Errorf("%+v", j)
	}
}

func TestOneMember(t *testing.T) {
	sc := newScene(t)
	sc.topic("t", 3)
	all := share{"t": {0, 1, 2}}
	if g := sc.served(joins("m", "t"), 2, all); g.id != "m" || g.interval != 5000 {
		t.Errorf("got %+v", g)
	}
	sc.served(beat{id: "m", epoch: 2}, 2, nil)
	sc.served(beat{id: "m", epoch: 2, owned: all}, 2, nil)
	sc.shows("Stable", 2, 2)
	// The answer was lost: it comes again with what it had, or joins again.
	sc.served(beat{id: "m", epoch: 0, timeout: 300_000, topics: []string{"t"}, owned: share{}}, 2, all)
	// A request in which all is said wants to know all.
	sc.served(beat{id: "m", epoch: 2, timeout: 300_000, topics: []string{"t"}, owned: all}, 2, all)
	sc.served(beat{id: "m", epoch: 2, timeout: 300_000, topics: []string{"t"}}, 2, nil)
	sc.served(beat{id: "m", epoch: 2, topics: []string{"t"}, owned: all}, 2, nil)

	sc.refused(beat{id: "m", epoch: 3}, kerr.FencedMemberEpoch.Code)
	sc.refused(beat{id: "m", epoch: 1}, kerr.FencedMemberEpoch.Code)
	sc.refused(beat{id: "n", epoch: 2}, kerr.UnknownMemberID.Code)
	sc.refused(beat{id: "n", epoch: -1}, kerr.UnknownMemberID.Code)

	if g := sc.beat(beat{id: "m", epoch: -1}); g.code != 0 || g.epoch != -1 || g.id != "m" || g.share != nil {
		t.Errorf("left with %+v", g)
	}
	sc.shows("Empty", 3, 3)
	sc.refused(beat{id: "m", epoch: 2}, kerr.UnknownMemberID.Code)
	sc.served(joins("m", "t"), 4, all)
}

// TestTheRecordsOfAJoin are those that Kafka writes, in its order; of a living member
// there is nothing to write.
func TestTheRecordsOfAJoin(t *testing.T) {
	sc := newMachineScene(t, asKafka)
	sc.topic("t", 1)
	wrote := func(b beat, want ...records.Kind) {
		t.Helper()
		var got []records.Kind
		before := len(sc.log)
		sc.beat(b)
		for _, r := range sc.log[before:] {
			d, err := records.Decode(r.Key, r.Value)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, d.Kind)
		}
		if !slices.Equal(got, want) {
			t.Errorf("wrote %v, want %v", got, want)
		}
	}
	wrote(joins("a", "t"), records.ConsumerGroupMemberMetadataKind, records.ConsumerGroupMetadataKind,
		records.ConsumerGroupTargetAssignmentMemberKind, records.ConsumerGroupTargetAssignmentMetadataKind,
		records.ConsumerGroupCurrentMemberAssignmentKind)
	wrote(beat{id: "a", epoch: 2})
	wrote(beat{id: "a", epoch: -1}, records.ConsumerGroupCurrentMemberAssignmentKind,
		records.ConsumerGroupTargetAssignmentMemberKind, records.ConsumerGroupMemberMetadataKind,
		records.ConsumerGroupMetadataKind, records.ConsumerGroupTargetAssignmentMetadataKind)
}

func TestVersionZeroMakesMemberIDs(t *testing.T) {
	sc := newScene(t)
	sc.topic("t", 1)
	b := joins("", "t")
	b.v0 = true
	g := sc.served(b, 2, share{"t": {0}})
	if g.id == "" {
		t.Fatal("no member id")
	}
	sc.served(beat{v0: true, id: g.id, epoch: 2}, 2, nil)
}

// TestHandOver is a whole rebalance: the first member is told to give up, confirms,
// and only then does the second get what it waits for.
func TestHandOver(t *testing.T) {
	sc := newScene(t)
	sc.topic("t", 4)
	sc.served(joins("a", "t"), 2, share{"t": {0, 1, 2, 3}})
	sc.served(joins("b", "t"), 3, share{}) // waits: all is a's
	sc.shows("Reconciling", 3, 3)
	g := sc.beat(beat{id: "a", epoch: 2})
	if g.code != 0 || g.epoch != 2 || len(g.share["t"]) != 2 {
		t.Fatalf("a is to give up two: %+v", g)
	}
	kept := g.share["t"]
	var given []int32
	for p := range int32(4) {
		if p != kept[0] && p != kept[1] {
			given = append(given, p)
		}
	}
	sc.served(beat{id: "b", epoch: 3}, 3, nil)
	sc.served(beat{id: "a", epoch: 2}, 2, nil)                                  // does not say
	sc.served(beat{id: "a", epoch: 2, owned: share{"t": {0, 1, 2, 3}}}, 2, nil) // has them still
	d := sc.describe()
	if a := d.Members[0]; len(a.Assignment.TopicPartitions[0].Partitions) != 4 || len(a.TargetAssignment.TopicPartitions[0].Partitions) != 2 {
		t.Errorf("a has %+v, and is to have %+v", a.Assignment, a.TargetAssignment)
	}
	sc.served(beat{id: "a", epoch: 2, owned: share{"t": kept}}, 3, nil)
	// The answer was lost. What it comes with is no more than it was given.
	sc.served(beat{id: "a", epoch: 2, owned: share{"t": kept[:1]}}, 3, nil)
	sc.refused(beat{id: "a", epoch: 2, owned: share{"t": {0, 1, 2, 3}}}, kerr.FencedMemberEpoch.Code)
	sc.refused(beat{id: "a", epoch: 2}, kerr.FencedMemberEpoch.Code)
	sc.served(beat{id: "b", epoch: 3}, 3, share{"t": given})
	sc.shows("Stable", 3, 3)
	if sc.kafka {
		return
	}
	before := sc.describe()
	sc.load()
	if after := sc.describe(); after.Epoch != before.Epoch || after.State != before.State || len(after.Members) != 2 {
		t.Errorf("%+v was loaded as %+v", before, after)
	}
	sc.served(beat{id: "a", epoch: 3, owned: share{"t": kept}}, 3, nil)
}

func TestSubscriptionsThatChange(t *testing.T) {
	sc := newScene(t)
	sc.topic("t", 2)
	sc.topic("u", 2)
	sc.served(joins("m", "t"), 2, share{"t": {0, 1}})
	sc.served(beat{id: "m", epoch: 2, topics: []string{"t", "t", "u"}}, 3, share{"t": {0, 1}, "u": {0, 1}})
	// Topics that are not there count when they come.
	sc.served(beat{id: "m", epoch: 3, topics: []string{"u", "later"}}, 3, share{"u": {0, 1}})
	sc.shows("Reconciling", 4, 4)
	sc.served(beat{id: "m", epoch: 3, owned: share{"u": {0, 1}}}, 4, nil)
	sc.topic("later", 1)
	sc.served(beat{id: "m", epoch: 4}, 5, share{"u": {0, 1}, "later": {0}})
	sc.grow("u", 3)
	sc.served(beat{id: "m", epoch: 5}, 6, share{"u": {0, 1, 2}, "later": {0}})
	sc.deleteTopic("later")
	sc.served(beat{id: "m", epoch: 6}, 6, share{"u": {0, 1, 2}})
	sc.served(beat{id: "m", epoch: 6, owned: share{"u": {0, 1, 2}}}, 7, nil)
	// Nothing at all is a subscription too.
	sc.served(beat{id: "m", epoch: 7, topics: []string{}}, 7, share{})
	sc.served(beat{id: "m", epoch: 7, owned: share{}}, 8, nil)
	sc.shows("Stable", 8, 8)
}

// TestATopicThatComesBackIsAnother: its partitions are given anew.
func TestATopicThatComesBackIsAnother(t *testing.T) {
	sc := newScene(t)
	sc.topic("t", 1)
	sc.served(joins("m", "t"), 2, share{"t": {0}})
	sc.deleteTopic("t")
	sc.topic("t", 2)
	g := sc.beat(beat{id: "m", epoch: 2})
	for range 3 {
		g = sc.beat(beat{id: "m", epoch: g.epoch, owned: share{}})
	}
	d := sc.describe()
	if n := len(d.Members[0].Assignment.TopicPartitions); n != 1 || d.State != "Stable" {
		t.Fatalf("%s with %d topics, after %+v", d.State, n, g)
	}
	if n := len(d.Members[0].Assignment.TopicPartitions[0].Partitions); n != 2 {
		t.Errorf("%d partitions", n)
	}
}

func TestStaticMembers(t *testing.T) {
	sc := newScene(t)
	sc.topic("t", 2)
	one := joins("a", "t")
	one.instance = "i1"
	sc.served(one, 2, share{"t": {0, 1}})
	two := joins("b", "t")
	two.instance = "i1"
	sc.refused(two, kerr.UnreleasedInstanceID.Code)
	sc.refused(one, kerr.UnreleasedInstanceID.Code)
	sc.refused(beat{id: "b", instance: "i1", epoch: 2}, kerr.FencedInstanceID.Code)
	sc.refused(beat{id: "a", instance: "i2", epoch: 2}, kerr.UnknownMemberID.Code)
	sc.refused(beat{id: "b", instance: "i1", epoch: -2}, kerr.FencedInstanceID.Code)
	sc.refused(beat{id: "b", instance: "i1", epoch: -1}, kerr.FencedInstanceID.Code)
	if g := sc.beat(beat{id: "a", instance: "i1", epoch: -2}); g.code != 0 || g.epoch != -2 || g.id != "a" {
		t.Fatalf("left for a while with %+v", g)
	}
	sc.shows("Reconciling", 2, 2)
	sc.refused(beat{id: "a", instance: "i1", epoch: 2}, kerr.FencedMemberEpoch.Code)
	sc.served(two, 2, share{"t": {0, 1}}) // nothing is assigned anew
	sc.shows("Stable", 2, 2)
	sc.refused(beat{id: "a", instance: "i1", epoch: 2}, kerr.FencedInstanceID.Code)
	sc.served(beat{id: "b", instance: "i1", epoch: 2}, 2, nil)
	if g := sc.beat(beat{id: "b", instance: "i1", epoch: -1}); g.code != 0 || g.epoch != -1 {
		t.Errorf("left with %+v", g)
	}
	sc.shows("Empty", 3, 3)
}

// TestAStaticMemberComesBackWithAnotherSubscription: that is reason to assign.
func TestAStaticMemberComesBackWithAnotherSubscription(t *testing.T) {
	sc := newScene(t)
	sc.topic("t", 1)
	sc.topic("u", 1)
	b := joins("a", "t")
	b.instance = "i"
	sc.served(b, 2, share{"t": {0}})
	sc.beat(beat{id: "a", instance: "i", epoch: -2})
	b = joins("b", "u")
	b.instance = "i"
	sc.served(b, 3, share{"u": {0}})
}

func TestMaxSize(t *testing.T) {
	sc := newScene(t)
	sc.topic("t", 1)
	for _, id := range []string{"a", "b", "c"} {
		sc.beat(joins(id, "t"))
	}
	static := joins("d", "t")
	static.instance = "i"
	sc.beat(static)
	sc.refused(joins("e", "t"), kerr.GroupMaxSizeReached.Code)
	other := joins("e", "t")
	other.instance = "j"
	sc.refused(other, kerr.GroupMaxSizeReached.Code)
	sc.refused(beat{id: "e", epoch: 1}, kerr.GroupMaxSizeReached.Code)
	sc.refused(beat{id: "e", instance: "j", epoch: 1}, kerr.GroupMaxSizeReached.Code)
	sc.refused(beat{id: "e", instance: "i", epoch: 1}, kerr.FencedInstanceID.Code)
	sc.refused(beat{id: "e", epoch: -1}, kerr.UnknownMemberID.Code)
	if g := sc.beat(joins("a", "t")); g.code != 0 {
		t.Errorf("a member that begins again got %+v", g)
	}
	sc.beat(beat{id: "d", instance: "i", epoch: -2})
	static.id = "f"
	if g := sc.beat(static); g.code != 0 {
		t.Errorf("a static member that comes back got %+v", g)
	}
}

func TestAssignors(t *testing.T) {
	sc := newScene(t)
	sc.topic("t", 2)
	b := joins("a", "t")
	b.assignor = "range"
	sc.served(b, 2, share{"t": {0, 1}})
	if d := sc.describe(); d.AssignorName != "range" {
		t.Errorf("the assignor is %s", d.AssignorName)
	}
	// Another one is reason to assign.
	sc.served(beat{id: "a", epoch: 2, assignor: "uniform"}, 3, nil)
	if d := sc.describe(); d.AssignorName != "uniform" {
		t.Errorf("the assignor is %s", d.AssignorName)
	}
}

func TestDescribeMembers(t *testing.T) {
	sc := newScene(t)
	sc.topic("t", 1)
	b := joins("a", "t")
	b.instance, b.rack = "i", "r"
	sc.beat(b)
	d := sc.describe()
	if len(d.Members) != 1 || d.AssignorName != "uniform" || d.ErrorCode != 0 || d.State != "Stable" {
		t.Fatalf("%+v", d)
	}
	m := d.Members[0]
	if m.MemberID != "a" || *m.InstanceID != "i" || *m.RackID != "r" || m.MemberEpoch != 2 || m.MemberType != 1 ||
		m.ClientID != "c" || m.ClientHost != "/127.0.0.1" || m.SubscribedTopicRegex == nil || *m.SubscribedTopicRegex != "" {
		t.Errorf("%+v", m)
	}
	if len(m.SubscribedTopics) != 1 || !strings.HasSuffix(m.SubscribedTopics[0], "t") {
		t.Errorf("subscribed to %v", m.SubscribedTopics)
	}
	if tp := m.Assignment.TopicPartitions; len(tp) != 1 || tp[0].Topic != sc.named("t") || len(tp[0].Partitions) != 1 {
		t.Errorf("has %+v", tp)
	}
}
