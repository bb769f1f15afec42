package group

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Each row is asked of a Stable group of two dynamic members and a static one.
func TestSyncGroupRefusals(t *testing.T) {
	for _, row := range []struct {
		name    string
		change  func(ids []string, req *kmsg.SyncGroupRequest)
		code    int16
		version int16
	}{
		{"no group id", func(_ []string, r *kmsg.SyncGroupRequest) { r.Group = "" }, kerr.InvalidGroupID.Code, 0},
		{"unknown group", func(_ []string, r *kmsg.SyncGroupRequest) { r.Group += "?" }, kerr.UnknownMemberID.Code, 0},
		{"unknown member", func(_ []string, r *kmsg.SyncGroupRequest) { r.MemberID = "?" }, kerr.UnknownMemberID.Code, 0},
		{"older generation", func(_ []string, r *kmsg.SyncGroupRequest) { r.Generation-- }, kerr.IllegalGeneration.Code, 0},
		{"newer generation", func(_ []string, r *kmsg.SyncGroupRequest) { r.Generation++ }, kerr.IllegalGeneration.Code, 0},
		{"unknown instance", func(_ []string, r *kmsg.SyncGroupRequest) { r.InstanceID = kmsg.StringPtr("?") }, kerr.UnknownMemberID.Code, 3},
		{"fenced instance", func(_ []string, r *kmsg.SyncGroupRequest) { r.InstanceID = kmsg.StringPtr("i") }, kerr.FencedInstanceID.Code, 3},
		{"no protocol type", func(_ []string, r *kmsg.SyncGroupRequest) { r.ProtocolType = nil }, kerr.InconsistentGroupProtocol.Code, 5},
		{"no protocol", func(_ []string, r *kmsg.SyncGroupRequest) { r.Protocol = nil }, kerr.InconsistentGroupProtocol.Code, 5},
		{"another protocol type", func(_ []string, r *kmsg.SyncGroupRequest) { r.ProtocolType = kmsg.StringPtr("connect") }, kerr.InconsistentGroupProtocol.Code, 5},
		{"another protocol", func(_ []string, r *kmsg.SyncGroupRequest) { r.Protocol = kmsg.StringPtr("sticky") }, kerr.InconsistentGroupProtocol.Code, 5},
	} {
		t.Run(row.name, func(t *testing.T) {
			w := newWorld(t)
			ids, _ := w.settled(2)
			_, generation := w.addStatic("i", ids)
			for version := row.version; version <= 5; version++ {
				req := w.syncRequest(version, ids[1], generation, nil)
				row.change(ids, req)
				want := kmsg.NewPtrSyncGroupResponse()
				want.Version, want.ErrorCode = version, row.code
				w.same(w.sync(req).got(), want)
			}
		})
	}
}

func TestSyncGroupGivesTheShare(t *testing.T) {
	w := newWorld(t)
	ids, generation := w.settled(2)
	for version := int16(0); version <= 5; version++ {
		want := kmsg.NewPtrSyncGroupResponse()
		want.Version, want.MemberAssignment = version, []byte("share of "+ids[1])
		want.ProtocolType, want.Protocol = kmsg.StringPtr("consumer"), kmsg.StringPtr("range")
		w.same(w.sync(w.syncRequest(version, ids[1], generation, nil)).got(), want)
	}
}

func TestSyncGroupWaitsForTheLeader(t *testing.T) {
	w := newWorld(t)
	ids, generation := w.settled(2)
	a, b := w.join(w.joinRequest(9, ids[0], "range")), w.join(w.joinRequest(9, ids[1], "range"))
	a.got()
	b.got()
	generation++
	follower := w.sync(w.syncRequest(5, ids[1], generation, nil))
	follower.waits()
	again := w.sync(w.syncRequest(5, ids[1], generation, nil))
	again.waits()
	if w.harness != nil && follower.got().ErrorCode != kerr.RebalanceInProgress.Code {
		t.Errorf("the request that was sent again: %+v", follower.got())
	}
	if d := w.describe(5); d.State != "CompletingRebalance" || d.Protocol != "" || len(d.Members[0].ProtocolMetadata) != 0 {
		t.Errorf("%+v", d)
	}
	// One member gets nothing, and somebody who is no member something.
	leader := w.sync(w.syncRequest(5, ids[0], generation, map[string]string{ids[1]: "all", "?": "nothing"})).got()
	if leader.ErrorCode != 0 || len(leader.MemberAssignment) != 0 {
		t.Errorf("leader: %+v", leader)
	}
	if got := again.got(); string(got.MemberAssignment) != "all" {
		t.Errorf("follower: %+v", got)
	}
	d := w.describe(5)
	if d.State != "Stable" || d.Protocol != "range" || d.ProtocolType != "consumer" || len(d.Members) != 2 {
		t.Errorf("%+v", d)
	}
	for _, m := range d.Members {
		if string(m.ProtocolMetadata) != "of range" || m.ClientID != "c" || m.ClientHost != "/127.0.0.1" || m.InstanceID != nil {
			t.Errorf("%+v", m)
		}
	}
	// A leader that has lost the answer asks again; it cannot change anything.
	w.sync(w.syncRequest(5, ids[0], generation, map[string]string{ids[0]: "all"})).got()
	if got := w.sync(w.syncRequest(5, ids[1], generation, nil)).got(); string(got.MemberAssignment) != "all" {
		t.Errorf("after a second SyncGroup of the leader: %+v", got)
	}
}

func TestSyncGroupDuringARebalance(t *testing.T) {
	w := newWorld(t)
	ids, generation := w.settled(2)
	w.join(w.joinRequest(9, ids[0], "range")).waits()
	if code := w.sync(w.syncRequest(5, ids[1], generation, nil)).got().ErrorCode; code != kerr.RebalanceInProgress.Code {
		t.Errorf("%d", code)
	}
}

func TestARebalanceEndsTheWaitForTheLeader(t *testing.T) {
	w := newWorld(t)
	ids, generation := w.settled(2)
	w.join(w.joinRequest(9, ids[0], "range"))
	w.join(w.joinRequest(9, ids[1], "range")).got()
	follower := w.sync(w.syncRequest(5, ids[1], generation+1, nil))
	follower.waits()
	_, c := w.enter("range")
	c.waits()
	if got := follower.got(); got.ErrorCode != kerr.RebalanceInProgress.Code || got.Protocol != nil || len(got.MemberAssignment) != 0 {
		t.Errorf("%+v", got)
	}
	for _, m := range w.describe(5).Members {
		if len(m.MemberAssignment) != 0 {
			t.Errorf("an older share is shown: %+v", m)
		}
	}
}

func TestMembersWhoDoNotSyncAreRemoved(t *testing.T) {
	w := newWorld(t)
	ids, generation := w.settled(2)
	w.join(w.joinRequest(9, ids[0], "range"))
	w.join(w.joinRequest(9, ids[1], "range")).got()
	generation++
	leader := w.sync(w.syncRequest(5, ids[0], generation, map[string]string{ids[0]: "all"})).got()
	if leader.ErrorCode != 0 {
		t.Fatalf("%+v", leader)
	}
	for range 2 { // a heartbeat is not enough
		w.pass(4600)
		for _, id := range ids {
			if code := w.heartbeat(w.heartbeatRequest(4, id, generation)).got().ErrorCode; code != 0 {
				t.Fatalf("before the rebalance timeout: %d", code)
			}
		}
	}
	w.pass(1000)
	if code := w.heartbeat(w.heartbeatRequest(4, ids[0], generation)).got().ErrorCode; code != kerr.RebalanceInProgress.Code {
		t.Errorf("the leader: %d", code)
	}
	if code := w.heartbeat(w.heartbeatRequest(4, ids[1], generation)).got().ErrorCode; code != kerr.UnknownMemberID.Code {
		t.Errorf("who did not ask: %d", code)
	}
	if got := w.join(w.joinRequest(9, ids[0], "range")).got(); got.Generation != generation+1 || len(got.Members) != 1 {
		t.Errorf("%+v", got)
	}
}

func TestALeaderWhoDoesNotSyncIsReplaced(t *testing.T) {
	w := newWorld(t)
	ids, generation := w.settled(2)
	w.join(w.joinRequest(9, ids[0], "range"))
	w.join(w.joinRequest(9, ids[1], "range")).got()
	generation++
	follower := w.sync(w.syncRequest(5, ids[1], generation, nil))
	w.pass(4000)
	w.heartbeat(w.heartbeatRequest(4, ids[0], generation)).got()
	w.pass(4000)
	w.heartbeat(w.heartbeatRequest(4, ids[0], generation)).got()
	follower.waits()
	w.pass(2300)
	if code := follower.got().ErrorCode; code != kerr.RebalanceInProgress.Code {
		t.Errorf("%d", code)
	}
	if got := w.join(w.joinRequest(9, ids[1], "range")).got(); got.LeaderID != ids[1] || len(got.Members) != 1 {
		t.Errorf("%+v", got)
	}
}

func TestSyncGroupIsAnsweredWhenTheAssignmentIsDurable(t *testing.T) {
	machineOnly(t)
	w := newWorld(t)
	ids, generation := w.settled(2)
	a := w.join(w.joinRequest(9, ids[0], "range"))
	w.join(w.joinRequest(9, ids[1], "range")).got()
	a.got()
	follower := w.sync(w.syncRequest(5, ids[1], generation+1, nil))
	w.hold = true
	before := len(w.log)
	leader := w.sync(w.syncRequest(5, ids[0], generation+1, map[string]string{ids[0]: "all"}))
	if len(w.log) != before+1 {
		t.Fatalf("%d records", len(w.log)-before)
	}
	leader.waits()
	follower.waits()
	w.release(nil)
	if a, b := leader.got(), follower.got(); string(a.MemberAssignment) != "all" || len(b.MemberAssignment) != 0 || b.ErrorCode != 0 {
		t.Errorf("%+v\n%+v", a, b)
	}
}
