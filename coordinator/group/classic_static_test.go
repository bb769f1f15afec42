package group

import (
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func TestAStaticMemberComesBackToAStableGroup(t *testing.T) {
	w := newWorld(t)
	ids, _ := w.settled(1)
	first, generation := w.addStatic("i", ids)
	if !strings.HasPrefix(first, "i-") {
		t.Errorf("member id %q", first)
	}
	old := first
	for version := int16(5); version <= 9; version++ {
		got := w.join(w.joinStatic(version, "", "i", "range", "sticky")).got()
		if got.MemberID == old || !strings.HasPrefix(got.MemberID, "i-") {
			t.Errorf("version %d: member id %q after %q", version, got.MemberID, old)
		}
		want := kmsg.NewPtrJoinGroupResponse()
		want.Version, want.MemberID, want.LeaderID, want.Generation = version, got.MemberID, ids[0], generation
		want.ProtocolType, want.Protocol = kmsg.StringPtr("consumer"), kmsg.StringPtr("range")
		w.same(got, want)

		fenced := w.heartbeatRequest(4, old, generation)
		if code := w.heartbeat(fenced).got().ErrorCode; code != kerr.UnknownMemberID.Code {
			t.Errorf("the old member id: %d", code)
		}
		fenced.InstanceID = kmsg.StringPtr("i")
		if code := w.heartbeat(fenced).got().ErrorCode; code != kerr.FencedInstanceID.Code {
			t.Errorf("the old member id with the instance id: %d", code)
		}
		if code := w.join(w.joinStatic(9, old, "i", "range")).got().ErrorCode; code != kerr.FencedInstanceID.Code {
			t.Errorf("JoinGroup of the old member id: %d", code)
		}
		// What the old one was given is the new one's.
		if sync := w.sync(w.syncRequest(5, got.MemberID, generation, nil)).got(); string(sync.MemberAssignment) != "share of "+first {
			t.Errorf("its share: %q", sync.MemberAssignment)
		}
		old = got.MemberID
	}
	if code := w.heartbeat(w.heartbeatRequest(4, ids[0], generation)).got().ErrorCode; code != 0 {
		t.Errorf("the leader: %d", code)
	}
}

// Before version 9 a leader that comes back is not told that it leads, for it would
// assign (KIP-814).
func TestAStaticLeaderComesBackToAStableGroup(t *testing.T) {
	w := newWorld(t)
	first := w.join(w.joinStatic(9, "", "i", "range")).got()
	w.sync(w.syncRequest(5, first.MemberID, 1, map[string]string{first.MemberID: "all"})).got()
	old := first.MemberID
	for version := int16(5); version <= 9; version++ {
		got := w.join(w.joinStatic(version, "", "i", "range")).got()
		want := kmsg.NewPtrJoinGroupResponse()
		want.Version, want.MemberID, want.Generation = version, got.MemberID, 1
		want.ProtocolType, want.Protocol = kmsg.StringPtr("consumer"), kmsg.StringPtr("range")
		want.LeaderID = old
		if version >= 9 {
			want.LeaderID, want.SkipAssignment = got.MemberID, true
			want.Members = []kmsg.JoinGroupResponseMember{{MemberID: got.MemberID, InstanceID: kmsg.StringPtr("i"), ProtocolMetadata: []byte("of range")}}
		}
		w.same(got, want)
		old = got.MemberID
	}
	// It leads all the same.
	if a := w.join(w.joinStatic(9, old, "i", "range")).got(); a.Generation != 2 || a.LeaderID != old || a.SkipAssignment {
		t.Errorf("%+v", a)
	}
}

func TestAStaticMemberThatChangesTheProtocolRebalances(t *testing.T) {
	w := newWorld(t)
	a := w.join(w.joinStatic(9, "", "i", "range", "sticky")).got()
	w.sync(w.syncRequest(5, a.MemberID, 1, nil)).got()
	b := w.join(w.joinStatic(9, "", "i", "sticky", "range")).got()
	if b.Generation != 2 || *b.Protocol != "sticky" || b.LeaderID != b.MemberID || b.SkipAssignment {
		t.Errorf("%+v", b)
	}
}

// Metadata alone does not: it is a restart, most likely.
func TestAStaticMemberMayChangeItsMetadata(t *testing.T) {
	w := newWorld(t)
	a := w.join(w.joinStatic(9, "", "i", "range")).got()
	w.sync(w.syncRequest(5, a.MemberID, 1, nil)).got()
	req := w.joinStatic(9, "", "i", "range")
	req.Protocols[0].Metadata = []byte("new")
	if b := w.join(req).got(); b.Generation != 1 || string(b.Members[0].ProtocolMetadata) != "new" {
		t.Errorf("%+v", b)
	}
	if d := w.describe(5); string(d.Members[0].ProtocolMetadata) != "new" || *d.Members[0].InstanceID != "i" {
		t.Errorf("%+v", d)
	}
}

func TestAStaticMemberComesBackDuringARebalance(t *testing.T) {
	w := newWorld(t)
	ids, _ := w.settled(1)
	old, generation := w.addStatic("i", ids)
	waiting := w.join(w.joinStatic(9, old, "i", "sticky", "range"))
	waiting.waits()
	b := w.join(w.joinStatic(9, "", "i", "range"))
	b.waits()
	want := kmsg.NewPtrJoinGroupResponse()
	want.Version, want.ErrorCode, want.MemberID = 9, kerr.FencedInstanceID.Code, old
	w.same(waiting.got(), want)
	a := w.join(w.joinRequest(9, ids[0], "range")).got()
	got := b.got()
	if a.Generation != generation+1 || got.Generation != generation+1 || got.MemberID == old || len(a.Members) != 2 {
		t.Errorf("%+v\n%+v", a, got)
	}

	// Once more before the leader has assigned: its list has an id that is gone.
	old = got.MemberID
	sync := w.sync(w.syncRequest(5, old, generation+1, nil))
	sync.waits()
	c := w.join(w.joinStatic(9, "", "i", "range"))
	c.waits()
	refused := kmsg.NewPtrSyncGroupResponse()
	refused.Version, refused.ErrorCode = 5, kerr.FencedInstanceID.Code
	w.same(sync.got(), refused)
	if code := w.sync(w.syncRequest(5, ids[0], generation+1, map[string]string{old: "all"})).got().ErrorCode; code != kerr.RebalanceInProgress.Code {
		t.Errorf("the leader's SyncGroup: %d", code)
	}
	a = w.join(w.joinRequest(9, ids[0], "range")).got()
	if got := c.got(); a.Generation != generation+2 || got.Generation != generation+2 {
		t.Errorf("%+v\n%+v", a, got)
	}
}

func TestAStaticMemberStaysUntilItsSessionEnds(t *testing.T) {
	w := newWorld(t)
	ids, _ := w.settled(1)
	_, generation := w.addStatic("i", ids)
	w.pass(5500)
	if code := w.heartbeat(w.heartbeatRequest(4, ids[0], generation)).got().ErrorCode; code != 0 {
		t.Errorf("%d", code)
	}
	w.pass(700)
	if code := w.heartbeat(w.heartbeatRequest(4, ids[0], generation)).got().ErrorCode; code != kerr.RebalanceInProgress.Code {
		t.Errorf("%d", code)
	}
	if got := w.join(w.joinRequest(9, ids[0], "range")).got(); got.Generation != generation+1 || len(got.Members) != 1 {
		t.Errorf("%+v", got)
	}
}
