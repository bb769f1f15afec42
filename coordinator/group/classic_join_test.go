package group

import (
	"fmt"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"ringmain/coordinator"
)

// Each row is asked of a Stable group of two dynamic members, the first of which
// leads, and a static one.
func TestJoinGroupRefusals(t *testing.T) {
	for _, row := range []struct {
		name    string
		change  func(w *world, ids []string, req *kmsg.JoinGroupRequest)
		code    int16
		noID    bool // the answer bears no member id, whatever was asked
		version int16
	}{
		{"no group id", func(_ *world, _ []string, r *kmsg.JoinGroupRequest) { r.Group = "" }, kerr.InvalidGroupID.Code, false, 0},
		{"session too short", func(_ *world, _ []string, r *kmsg.JoinGroupRequest) { r.SessionTimeoutMillis = 5999 }, kerr.InvalidSessionTimeout.Code, false, 0},
		{"session too long", func(_ *world, _ []string, r *kmsg.JoinGroupRequest) { r.SessionTimeoutMillis = 1_800_001 }, kerr.InvalidSessionTimeout.Code, false, 0},
		{"unknown group", func(_ *world, _ []string, r *kmsg.JoinGroupRequest) { r.Group += "?"; r.MemberID = "m" }, kerr.UnknownMemberID.Code, false, 0},
		{"unknown member", func(_ *world, _ []string, r *kmsg.JoinGroupRequest) { r.MemberID = "m" }, kerr.UnknownMemberID.Code, false, 0},
		{"no protocols", func(_ *world, _ []string, r *kmsg.JoinGroupRequest) { r.Protocols = nil }, kerr.InconsistentGroupProtocol.Code, false, 0},
		{"no protocols, new group", func(_ *world, _ []string, r *kmsg.JoinGroupRequest) { r.Group += "?"; r.Protocols = nil }, kerr.InconsistentGroupProtocol.Code, false, 0},
		{"no protocol type, new group", func(_ *world, _ []string, r *kmsg.JoinGroupRequest) { r.Group += "?"; r.ProtocolType = "" }, kerr.InconsistentGroupProtocol.Code, false, 0},
		{"another protocol", func(_ *world, _ []string, r *kmsg.JoinGroupRequest) { r.Protocols = speaks("sticky") }, kerr.InconsistentGroupProtocol.Code, false, 0},
		{"another protocol, member", func(_ *world, ids []string, r *kmsg.JoinGroupRequest) {
			r.MemberID, r.Protocols = ids[1], speaks("sticky")
		}, kerr.InconsistentGroupProtocol.Code, false, 0},
		{"another protocol type", func(_ *world, _ []string, r *kmsg.JoinGroupRequest) { r.ProtocolType = "connect" }, kerr.InconsistentGroupProtocol.Code, false, 0},
		{"unknown instance", func(_ *world, ids []string, r *kmsg.JoinGroupRequest) {
			r.MemberID, r.InstanceID = ids[1], kmsg.StringPtr("?")
		}, kerr.UnknownMemberID.Code, false, 5},
		{"fenced instance", func(_ *world, ids []string, r *kmsg.JoinGroupRequest) {
			r.MemberID, r.InstanceID = ids[1], kmsg.StringPtr("i")
		}, kerr.FencedInstanceID.Code, false, 5},
		{"pending member with an instance id", func(w *world, _ []string, r *kmsg.JoinGroupRequest) {
			r.MemberID = w.join(w.joinRequest(9, "", "range")).got().MemberID
			r.InstanceID = kmsg.StringPtr("j")
		}, kerr.UnknownServerError.Code, true, 5},
	} {
		t.Run(row.name, func(t *testing.T) {
			w := newWorld(t)
			ids, _ := w.settled(2)
			w.addStatic("i", ids)
			for version := row.version; version <= 9; version++ {
				req := w.joinRequest(version, "", "range")
				row.change(w, ids, req)
				want := kmsg.NewPtrJoinGroupResponse()
				want.Version, want.ErrorCode = version, row.code
				if !row.noID {
					want.MemberID = req.MemberID
				}
				if version < 7 {
					want.Protocol = kmsg.StringPtr("")
				}
				w.same(w.join(req).got(), want)
			}
			if d := w.describe(5); d.State != "Stable" || len(d.Members) != 3 {
				t.Errorf("refusals changed the group: %+v", d)
			}
		})
	}
}

func TestAMemberIDIsRequiredFromVersion4On(t *testing.T) {
	for version := int16(0); version <= 9; version++ {
		t.Run(fmt.Sprint(version), func(t *testing.T) {
			w := newWorld(t)
			got := w.join(w.joinRequest(version, "", "range")).got()
			if !strings.HasPrefix(got.MemberID, "c-") || len(got.MemberID) != len("c-")+36 {
				t.Errorf("member id %q", got.MemberID)
			}
			if version >= 4 {
				want := kmsg.NewPtrJoinGroupResponse()
				want.Version, want.ErrorCode, want.MemberID = version, kerr.MemberIDRequired.Code, got.MemberID
				if version < 7 {
					want.Protocol = kmsg.StringPtr("")
				}
				w.same(got, want)
				if d := w.describe(5); d.State != "Empty" || len(d.Members) != 0 || d.ProtocolType != "" {
					t.Errorf("a pending member is a member: %+v", d)
				}
				got = w.join(w.joinRequest(version, got.MemberID, "range")).got()
			}
			want := kmsg.NewPtrJoinGroupResponse()
			want.Version, want.MemberID, want.LeaderID, want.Generation = version, got.MemberID, got.MemberID, 1
			want.ProtocolType, want.Protocol = kmsg.StringPtr("consumer"), kmsg.StringPtr("range")
			want.Members = []kmsg.JoinGroupResponseMember{{MemberID: got.MemberID, ProtocolMetadata: []byte("of range")}}
			w.same(got, want)
		})
	}
}

func TestAPendingMemberHasASessionToJoin(t *testing.T) {
	w := newWorld(t)
	id := w.join(w.joinRequest(9, "", "range")).got().MemberID
	if code := w.heartbeat(w.heartbeatRequest(4, id, 0)).got().ErrorCode; code != kerr.UnknownMemberID.Code {
		t.Errorf("a pending member's heartbeat: %d", code)
	}
	w.pass(6100)
	if code := w.join(w.joinRequest(9, id, "range")).got().ErrorCode; code != kerr.UnknownMemberID.Code {
		t.Errorf("it came too late: %d", code)
	}
}

func TestARebalanceWaitsForPendingMembers(t *testing.T) {
	w := newWorld(t)
	ids, _ := w.settled(1)
	pending := w.join(w.joinRequest(9, "", "range")).got().MemberID
	a := w.join(w.joinRequest(9, ids[0], "range"))
	a.waits()
	b := w.join(w.joinRequest(9, pending, "range"))
	if got := a.got(); got.Generation != 2 || len(got.Members) != 2 {
		t.Errorf("leader: %+v", got)
	}
	if got := b.got(); got.Generation != 2 || got.LeaderID != ids[0] || len(got.Members) != 0 {
		t.Errorf("new member: %+v", got)
	}
}

func TestARebalanceWaitsNoLongerThanAPendingMembersSession(t *testing.T) {
	w := newWorld(t)
	ids, _ := w.settled(1)
	w.join(w.joinRequest(9, "", "range")).got()
	a := w.join(w.joinRequest(9, ids[0], "range"))
	w.pass(6100)
	if got := a.got(); got.Generation != 2 || len(got.Members) != 1 {
		t.Errorf("%+v", got)
	}
}

func TestAMemberThatAsksAgainIsAnswered(t *testing.T) {
	w := newWorld(t)
	ids, generation := w.settled(2)
	follower := w.join(w.joinRequest(9, ids[1], "range")).got()
	if follower.ErrorCode != 0 || follower.Generation != generation || follower.LeaderID != ids[0] || len(follower.Members) != 0 || follower.SkipAssignment {
		t.Errorf("a follower in Stable: %+v", follower)
	}
	if got := w.sync(w.syncRequest(5, ids[1], generation, nil)).got(); string(got.MemberAssignment) != "share of "+ids[1] {
		t.Errorf("its share: %+v", got)
	}

	leader := w.join(w.joinRequest(9, ids[0], "range"))
	leader.waits()
	again := w.join(w.joinRequest(9, ids[0], "range"))
	again.waits()
	if w.harness != nil {
		if got := leader.got(); got.ErrorCode != kerr.RebalanceInProgress.Code || got.MemberID != ids[0] {
			t.Errorf("the request that was sent again: %+v", got)
		}
	}
	w.join(w.joinRequest(9, ids[1], "range")).got()
	if got := again.got(); got.Generation != generation+1 || len(got.Members) != 2 {
		t.Errorf("the leader: %+v", got)
	}

	for i, id := range ids {
		if got := w.join(w.joinRequest(9, id, "range")).got(); got.Generation != generation+1 || len(got.Members) != 2-2*i {
			t.Errorf("in CompletingRebalance: %+v", got)
		}
	}
	changed := w.joinRequest(9, ids[1], "range")
	changed.Protocols[0].Metadata = []byte("new")
	b := w.join(changed)
	b.waits()
	if got := w.describe(5); got.State != "PreparingRebalance" {
		t.Errorf("changed metadata in CompletingRebalance: %+v", got)
	}
	a := w.join(w.joinRequest(9, ids[0], "range")).got()
	if a.Generation != generation+2 || string(memberMetadata(a, ids[1])) != "new" {
		t.Errorf("%+v", a)
	}
	if got := b.got(); got.Generation != generation+2 {
		t.Errorf("%+v", got)
	}
}

func memberMetadata(r *kmsg.JoinGroupResponse, id string) []byte {
	for _, m := range r.Members {
		if m.MemberID == id {
			return m.ProtocolMetadata
		}
	}
	return nil
}

func TestChangedMetadataInStableRebalances(t *testing.T) {
	w := newWorld(t)
	ids, generation := w.settled(2)
	changed := w.joinRequest(9, ids[1], "range")
	changed.Protocols[0].Metadata = []byte("new")
	b := w.join(changed)
	b.waits()
	if code := w.heartbeat(w.heartbeatRequest(4, ids[0], generation)).got().ErrorCode; code != kerr.RebalanceInProgress.Code {
		t.Errorf("heartbeat: %d", code)
	}
	a := w.join(w.joinRequest(9, ids[0], "range")).got()
	if a.Generation != generation+1 || string(memberMetadata(a, ids[1])) != "new" {
		t.Errorf("%+v", a)
	}
}

func TestGroupMaxSize(t *testing.T) {
	w := newWorld(t)
	ids, generation := w.settled(4)
	got := w.join(w.joinRequest(9, "", "range")).got()
	want := kmsg.NewPtrJoinGroupResponse()
	want.Version, want.ErrorCode = 9, kerr.GroupMaxSizeReached.Code
	w.same(got, want)
	// Members are let in while there is room among those who have joined.
	var joins []*answer[*kmsg.JoinGroupResponse]
	for _, id := range ids[:3] {
		if id != ids[0] {
			w.heartbeat(w.heartbeatRequest(4, id, generation)).got()
		}
		joins = append(joins, w.join(w.joinRequest(9, id, "range")))
	}
	late := w.join(w.joinRequest(9, "", "range")).got()
	if late.ErrorCode != kerr.MemberIDRequired.Code {
		t.Fatalf("%+v", late)
	}
	joins = append(joins, w.join(w.joinRequest(9, late.MemberID, "range")))
	// The fourth place is taken: who has not joined loses its own.
	got = w.join(w.joinRequest(9, ids[3], "range")).got()
	w.same(got, want)
	if w.harness == nil {
		w.pass(10_100) // Kafka does not see that nobody is missing any more
	}
	for _, a := range joins {
		if got := a.got(); got.ErrorCode != 0 || got.Generation != generation+1 {
			t.Errorf("%+v", got)
		}
	}
	if code := w.heartbeat(w.heartbeatRequest(4, ids[3], generation+1)).got().ErrorCode; code != kerr.UnknownMemberID.Code {
		t.Errorf("who was turned away: %d", code)
	}
}

// Nobody waits any more for a member id that was given out and has found no room.
func TestAPendingMemberWithoutRoom(t *testing.T) {
	machineOnly(t) // Kafka waits for the rebalance timeout
	w := newWorld(t)
	ids, generation := w.settled(3)
	first := w.join(w.joinRequest(9, "", "range")).got().MemberID
	second := w.join(w.joinRequest(9, "", "range")).got().MemberID
	a := w.join(w.joinRequest(9, first, "range"))
	for _, id := range ids {
		w.join(w.joinRequest(9, id, "range"))
	}
	a.waits()
	if code := w.join(w.joinRequest(9, second, "range")).got().ErrorCode; code != kerr.GroupMaxSizeReached.Code {
		t.Errorf("%d", code)
	}
	if got := a.got(); got.Generation != generation+1 {
		t.Errorf("%+v", got)
	}
}

// A static member takes its own place, not another one.
func TestAStaticMemberComesBackToAFullGroup(t *testing.T) {
	machineOnly(t) // Kafka refuses it
	w := newWorld(t)
	ids, _ := w.settled(3)
	old, generation := w.addStatic("i", ids)
	if got := w.join(w.joinStatic(9, "", "i", "range")).got(); got.ErrorCode != 0 || got.Generation != generation || got.MemberID == old {
		t.Errorf("%+v", got)
	}
	if code := w.join(w.joinStatic(9, "", "j", "range")).got().ErrorCode; code != kerr.GroupMaxSizeReached.Code {
		t.Errorf("another one: %d", code)
	}
}

// What a record could not hold is refused before anything is done. Kafka closes the
// connection, or answers UNKNOWN_SERVER_ERROR.
func TestNamesThatARecordCannotHold(t *testing.T) {
	machineOnly(t)
	longest := strings.Repeat("n", 32767)
	for _, row := range []struct {
		name   string
		change func(req *kmsg.JoinGroupRequest, longest string)
		code   int16
	}{
		{"group", func(r *kmsg.JoinGroupRequest, n string) { r.Group = n }, kerr.InvalidGroupID.Code},
		{"protocol type", func(r *kmsg.JoinGroupRequest, n string) { r.ProtocolType = n }, kerr.InvalidRequest.Code},
		{"protocol", func(r *kmsg.JoinGroupRequest, n string) { r.Protocols = speaks(n) }, kerr.InvalidRequest.Code},
		{"instance id", func(r *kmsg.JoinGroupRequest, n string) { r.InstanceID = kmsg.StringPtr(n[37:]) }, kerr.InvalidRequest.Code},
	} {
		for n, want := range map[string]int16{longest: 0, longest + "n": row.code} {
			w := newWorld(t)
			req := w.joinStatic(9, "", "i", "range")
			row.change(req, n)
			if code := w.join(req).got().ErrorCode; code != want {
				t.Errorf("%s of %d bytes: %d, want %d", row.name, len(n), code, want)
			}
			w.load()
		}
	}
	for n, want := range map[int]int16{32730: kerr.MemberIDRequired.Code, 32731: kerr.InvalidRequest.Code} {
		w := newWorld(t)
		var got *kmsg.JoinGroupResponse
		w.step(func(s *coordinator.Step) {
			w.m.JoinGroup(s, w.joinRequest(9, "", "range"), Client{ID: longest[:n]}, func(r *kmsg.JoinGroupResponse, _ error) { got = r })
		})
		if got.ErrorCode != want {
			t.Errorf("a client id of %d bytes: %d, want %d", n, got.ErrorCode, want)
		}
	}
}

func TestAProtocolNamedTwiceCountsOnce(t *testing.T) {
	machineOnly(t) // Kafka answers UNKNOWN_SERVER_ERROR
	w := newWorld(t)
	_, a := w.enter("range", "range", "sticky")
	if got := a.got(); got.ErrorCode != 0 || *got.Protocol != "range" {
		t.Errorf("%+v", got)
	}
	_, b := w.enter("sticky")
	b.waits()
}

func TestVersion0HasTheSessionForItsRebalances(t *testing.T) {
	machineOnly(t)
	w := newWorld(t)
	req := w.joinRequest(0, "", "range")
	req.RebalanceTimeoutMillis = 12345
	id := w.join(req).got().MemberID
	if got := w.m.groups["g"].members.(*classic).byID[id].rebalanceTimeoutMs; got != 6000 {
		t.Errorf("%d", got)
	}
}
