package group

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"ringmain/coordinator"
)

func TestDescribeGroupsOfWhatIsNotThere(t *testing.T) {
	w := newWorld(t)
	for version := int16(0); version <= 6; version++ {
		want := kmsg.NewDescribeGroupsResponseGroup()
		want.Group, want.State = w.group, "Dead"
		if version >= 6 {
			want.ErrorCode, want.ErrorMessage = kerr.GroupIDNotFound.Code, kmsg.StringPtr("Group "+w.group+" not found.")
		}
		w.sameGroup(version, want)
	}
}

func TestDescribeGroupsInEachState(t *testing.T) {
	w := newWorld(t)
	var want kmsg.DescribeGroupsResponseGroup
	check := func() {
		t.Helper()
		for version := int16(0); version <= 6; version++ {
			w.sameGroup(version, want)
		}
	}
	want = kmsg.NewDescribeGroupsResponseGroup()
	want.Group, want.State, want.ProtocolType, want.Protocol = w.group, "Stable", "consumer", "range"
	got := w.join(w.joinStatic(9, "", "i", "range", "sticky")).got()
	w.sync(w.syncRequest(5, got.MemberID, 1, map[string]string{got.MemberID: "all"})).got()
	want.Members = []kmsg.DescribeGroupsResponseGroupMember{{
		MemberID: got.MemberID, InstanceID: kmsg.StringPtr("i"), ClientID: "c", ClientHost: "/127.0.0.1",
		ProtocolMetadata: []byte("of range"), MemberAssignment: []byte("all"),
	}}
	check()
	pending := w.join(w.joinRequest(9, "", "range")).got().MemberID
	w.join(w.joinStatic(9, got.MemberID, "i", "range", "sticky")).waits()
	want.State, want.Protocol, want.Members[0].ProtocolMetadata = "PreparingRebalance", "", nil
	check()
	w.leave(w.leaveRequest(pending)).got()
	want.State = "CompletingRebalance"
	check()
	w.leave(w.leaveRequest("@i")).got()
	want.State, want.Members = "Empty", nil
	check()
}

func (w *world) sameGroup(version int16, want kmsg.DescribeGroupsResponseGroup) {
	w.t.Helper()
	w.same(&kmsg.DescribeGroupsResponse{Version: version, Groups: []kmsg.DescribeGroupsResponseGroup{w.describe(version)}},
		&kmsg.DescribeGroupsResponse{Version: version, Groups: []kmsg.DescribeGroupsResponseGroup{want}})
}

// consumerMembers stand for the members of a group of the consumer protocol.
type consumerMembers struct {
	membership
	w *world
	n int
}

func (c *consumerMembers) kind() Kind { return Consumer }
func (c *consumerMembers) size() int  { return c.n }
func (c *consumerMembers) gone()      {}

func (c *consumerMembers) forget(*coordinator.Step) { delete(c.w.m.groups, c.w.group) }

func TestAGroupOfTheConsumerProtocolIsNotDescribed(t *testing.T) {
	machineOnly(t)
	w := newWorld(t)
	w.m.ensure("g").members = &consumerMembers{w: w, n: 1}
	for version := int16(0); version <= 6; version++ {
		want := kmsg.NewDescribeGroupsResponseGroup()
		want.Group, want.State = "g", "Dead"
		if version >= 6 {
			want.ErrorCode, want.ErrorMessage = kerr.GroupIDNotFound.Code, kmsg.StringPtr("Group g is not a classic group.")
		}
		w.sameGroup(version, want)
	}
}

// Without members it becomes a classic group when somebody new joins it.
func TestAnEmptyGroupOfTheConsumerProtocolIsJoined(t *testing.T) {
	machineOnly(t)
	w := newWorld(t)
	w.m.ensure("g").members = &consumerMembers{w: w}
	if code := w.join(w.joinRequest(9, "m", "range")).got().ErrorCode; code != kerr.UnknownMemberID.Code {
		t.Errorf("%d", code)
	}
	if w.m.groups["g"].members.kind() != Consumer {
		t.Error("a refused member has changed the group's protocol")
	}
	if _, a := w.enter("range"); a.got().Generation != 1 {
		t.Errorf("%+v", a.got())
	}
}
