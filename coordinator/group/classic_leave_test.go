package group

import (
	"fmt"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func TestLeaveGroupRefusals(t *testing.T) {
	w := newWorld(t)
	ids, _ := w.settled(1)
	old, generation := w.addStatic("i", ids)
	for version := int16(0); version <= 5; version++ {
		for _, row := range []struct {
			group, member string
			instance      *string
			code          int16
		}{
			{w.group + "?", ids[0], nil, kerr.UnknownMemberID.Code},
			{w.group, "?", nil, kerr.UnknownMemberID.Code},
			{w.group, "", nil, kerr.UnknownMemberID.Code},
			{w.group, "", kmsg.StringPtr("?"), kerr.UnknownMemberID.Code},
			{w.group, ids[0], kmsg.StringPtr("i"), kerr.FencedInstanceID.Code},
			{w.group, ids[0], kmsg.StringPtr("?"), kerr.UnknownMemberID.Code},
		} {
			if version < 3 && row.instance != nil {
				continue
			}
			req := kmsg.NewPtrLeaveGroupRequest()
			req.Version, req.Group, req.MemberID = version, row.group, row.member
			req.Members = []kmsg.LeaveGroupRequestMember{{MemberID: row.member, InstanceID: row.instance}}
			want := kmsg.NewPtrLeaveGroupResponse()
			want.Version = version
			if version < 3 {
				want.ErrorCode = row.code
			} else {
				want.Members = []kmsg.LeaveGroupResponseMember{{MemberID: row.member, InstanceID: row.instance, ErrorCode: row.code}}
			}
			w.same(w.leave(req).got(), want)
		}
		req := w.leaveRequest("?")
		req.Version, req.Group = version, ""
		want := kmsg.NewPtrLeaveGroupResponse()
		want.Version, want.ErrorCode = version, kerr.InvalidGroupID.Code
		w.same(w.leave(req).got(), want)
	}
	w.same(w.leave(w.leaveRequest()).got(), &kmsg.LeaveGroupResponse{Version: 4})
	for _, id := range []string{ids[0], old} {
		if code := w.heartbeat(w.heartbeatRequest(4, id, generation)).got().ErrorCode; code != 0 {
			t.Errorf("somebody left: %d", code)
		}
	}
}

func TestLeaveGroupRebalancesAtOnce(t *testing.T) {
	for version := int16(0); version <= 5; version++ {
		t.Run(fmt.Sprint(version), func(t *testing.T) {
			w := newWorld(t)
			ids, generation := w.settled(2)
			req := w.leaveRequest(ids[1])
			req.Version, req.MemberID = version, ids[1]
			want := kmsg.NewPtrLeaveGroupResponse()
			want.Version = version
			if version >= 3 {
				want.Members = []kmsg.LeaveGroupResponseMember{{MemberID: ids[1]}}
			}
			w.same(w.leave(req).got(), want)
			if code := w.heartbeat(w.heartbeatRequest(4, ids[0], generation)).got().ErrorCode; code != kerr.RebalanceInProgress.Code {
				t.Errorf("%d", code)
			}
			if got := w.join(w.joinRequest(9, ids[0], "range")).got(); got.Generation != generation+1 || len(got.Members) != 1 {
				t.Errorf("%+v", got)
			}
		})
	}
}

// An admin removes static members by their instance ids (kafka-consumer-groups
// --delete-members), whoever they are now; and what does not exist with them.
func TestLeaveGroupByInstanceID(t *testing.T) {
	w := newWorld(t)
	ids, _ := w.settled(1)
	w.addStatic("i", ids)
	got := w.leave(w.leaveRequest("@i", "@?", ids[0], ids[0])).got()
	want := kmsg.NewPtrLeaveGroupResponse()
	want.Version = 4
	want.Members = []kmsg.LeaveGroupResponseMember{
		{InstanceID: kmsg.StringPtr("i")},
		{InstanceID: kmsg.StringPtr("?"), ErrorCode: kerr.UnknownMemberID.Code},
		{MemberID: ids[0]},
		{MemberID: ids[0], ErrorCode: kerr.UnknownMemberID.Code},
	}
	w.same(got, want)
	if d := w.describe(5); d.State != "Empty" {
		t.Errorf("%+v", d)
	}
}

func TestWhoLeavesWhileOthersWait(t *testing.T) {
	w := newWorld(t)
	ids, generation := w.settled(2)
	a := w.join(w.joinRequest(9, ids[0], "range"))
	a.waits()
	w.leave(w.leaveRequest(ids[1])).got()
	if got := a.got(); got.Generation != generation+1 || len(got.Members) != 1 {
		t.Errorf("%+v", got)
	}
}

func TestAPendingMemberLeaves(t *testing.T) {
	w := newWorld(t)
	ids, generation := w.settled(1)
	id := w.join(w.joinRequest(9, "", "range")).got().MemberID
	a := w.join(w.joinRequest(9, ids[0], "range"))
	a.waits()
	if got := w.leave(w.leaveRequest(id)).got(); got.Members[0].ErrorCode != 0 {
		t.Errorf("%+v", got)
	}
	if got := a.got(); got.Generation != generation+1 {
		t.Errorf("%+v", got)
	}
	if code := w.join(w.joinRequest(9, id, "range")).got().ErrorCode; code != kerr.UnknownMemberID.Code {
		t.Errorf("%d", code)
	}
}

func TestWhoLeavesIsToldInItsParkedSyncGroup(t *testing.T) {
	machineOnly(t) // Kafka never answers it
	w := newWorld(t)
	ids, generation := w.settled(2)
	w.join(w.joinRequest(9, ids[0], "range"))
	w.join(w.joinRequest(9, ids[1], "range")).got()
	sync := w.sync(w.syncRequest(5, ids[1], generation+1, nil))
	w.leave(w.leaveRequest(ids[1])).got()
	if code := sync.got().ErrorCode; code != kerr.UnknownMemberID.Code {
		t.Errorf("%d", code)
	}
}
