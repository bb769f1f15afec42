package group

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Each row is asked of a Stable group of two dynamic members and a static one.
func TestHeartbeatAnswers(t *testing.T) {
	for _, row := range []struct {
		name    string
		change  func(req *kmsg.HeartbeatRequest)
		code    int16
		version int16
	}{
		{"in order", func(*kmsg.HeartbeatRequest) {}, 0, 0},
		{"no group id", func(r *kmsg.HeartbeatRequest) { r.Group = "" }, kerr.InvalidGroupID.Code, 0},
		{"unknown group", func(r *kmsg.HeartbeatRequest) { r.Group += "?" }, kerr.UnknownMemberID.Code, 0},
		{"unknown member", func(r *kmsg.HeartbeatRequest) { r.MemberID = "?" }, kerr.UnknownMemberID.Code, 0},
		{"older generation", func(r *kmsg.HeartbeatRequest) { r.Generation-- }, kerr.IllegalGeneration.Code, 0},
		{"newer generation", func(r *kmsg.HeartbeatRequest) { r.Generation++ }, kerr.IllegalGeneration.Code, 0},
		{"no generation", func(r *kmsg.HeartbeatRequest) { r.Generation = -1 }, kerr.IllegalGeneration.Code, 0},
		{"unknown instance", func(r *kmsg.HeartbeatRequest) { r.InstanceID = kmsg.StringPtr("?") }, kerr.UnknownMemberID.Code, 3},
		{"fenced instance", func(r *kmsg.HeartbeatRequest) { r.InstanceID = kmsg.StringPtr("i") }, kerr.FencedInstanceID.Code, 3},
		{"fenced instance, unknown member", func(r *kmsg.HeartbeatRequest) { r.MemberID, r.InstanceID = "?", kmsg.StringPtr("i") }, kerr.FencedInstanceID.Code, 3},
	} {
		t.Run(row.name, func(t *testing.T) {
			w := newWorld(t)
			ids, _ := w.settled(2)
			_, generation := w.addStatic("i", ids)
			for version := row.version; version <= 4; version++ {
				req := w.heartbeatRequest(version, ids[1], generation)
				row.change(req)
				want := kmsg.NewPtrHeartbeatResponse()
				want.Version, want.ErrorCode = version, row.code
				w.same(w.heartbeat(req).got(), want)
			}
		})
	}
}

func TestHeartbeatInEachState(t *testing.T) {
	w := newWorld(t)
	ids, generation := w.settled(2)
	a := w.join(w.joinRequest(9, ids[0], "range"))
	a.waits()
	if code := w.heartbeat(w.heartbeatRequest(4, ids[1], generation)).got().ErrorCode; code != kerr.RebalanceInProgress.Code {
		t.Errorf("PreparingRebalance: %d", code)
	}
	w.join(w.joinRequest(9, ids[1], "range")).got()
	if code := w.heartbeat(w.heartbeatRequest(4, ids[1], generation+1)).got().ErrorCode; code != 0 {
		t.Errorf("CompletingRebalance: %d", code)
	}
	w.leave(w.leaveRequest(ids...)).got()
	if d := w.describe(5); d.State != "Empty" {
		t.Fatalf("%+v", d)
	}
	if code := w.heartbeat(w.heartbeatRequest(4, ids[1], generation+2)).got().ErrorCode; code != kerr.UnknownMemberID.Code {
		t.Errorf("Empty: %d", code)
	}
}

// A session is renewed by each of what a member does, and ends without.
func TestSessions(t *testing.T) {
	for _, row := range []struct {
		name  string
		renew func(w *world, ids []string, generation int32)
		lives bool
	}{
		{"nothing", func(*world, []string, int32) {}, false},
		{"heartbeat", func(w *world, ids []string, generation int32) {
			w.heartbeat(w.heartbeatRequest(4, ids[1], generation)).got()
		}, true},
		{"heartbeat of another generation", func(w *world, ids []string, generation int32) {
			w.heartbeat(w.heartbeatRequest(4, ids[1], generation-1)).got()
		}, false},
		{"commit", func(w *world, ids []string, generation int32) {
			if code := w.commit(ids[1], "", generation); code != 0 {
				w.t.Errorf("commit: %d", code)
			}
		}, true},
		{"commit of another generation", func(w *world, ids []string, generation int32) {
			w.commit(ids[1], "", generation-1)
		}, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			w := newWorld(t)
			ids, generation := w.settled(2)
			for range 2 {
				w.pass(4500)
				w.heartbeat(w.heartbeatRequest(4, ids[0], generation)).got()
				row.renew(w, ids, generation)
			}
			want := kerr.RebalanceInProgress.Code
			if row.lives {
				want = 0
			}
			if code := w.heartbeat(w.heartbeatRequest(4, ids[0], generation)).got().ErrorCode; code != want {
				t.Errorf("the other member: %d, want %d", code, want)
			}
		})
	}
}

// Kafka does not renew the session here; the member is as alive as with a heartbeat.
func TestSyncAndJoinRenewTheSession(t *testing.T) {
	machineOnly(t)
	w := newWorld(t)
	ids, generation := w.settled(2)
	for i := range 4 {
		w.pass(4500)
		w.heartbeat(w.heartbeatRequest(4, ids[0], generation)).got()
		if i%2 == 0 {
			w.sync(w.syncRequest(5, ids[1], generation, nil)).got()
		} else {
			w.join(w.joinRequest(9, ids[1], "range")).got()
		}
	}
	if d := w.describe(5); d.State != "Stable" || len(d.Members) != 2 {
		t.Errorf("%+v", d)
	}
}

func TestASessionDoesNotRunWhileAMemberWaits(t *testing.T) {
	w := newWorld(t)
	ids, generation := w.settled(2)
	a := w.join(w.joinRequest(9, ids[0], "range"))
	w.pass(4500)
	w.heartbeat(w.heartbeatRequest(4, ids[1], generation)).got()
	w.pass(3000) // the session would be over
	a.waits()
	if d := w.describe(5); len(d.Members) != 2 {
		t.Fatalf("%+v", d)
	}
	b := w.join(w.joinRequest(9, ids[1], "range")).got()
	a.got()
	follower := w.sync(w.syncRequest(5, ids[1], b.Generation, nil))
	w.pass(4500)
	w.heartbeat(w.heartbeatRequest(4, ids[0], b.Generation)).got()
	w.pass(3000)
	follower.waits()
	w.sync(w.syncRequest(5, ids[0], b.Generation, map[string]string{ids[1]: "all"})).got()
	if got := follower.got(); string(got.MemberAssignment) != "all" {
		t.Errorf("%+v", got)
	}
}

func TestAHeartbeatOfAMemberThatWaitsBeginsNoSession(t *testing.T) {
	w := newWorld(t)
	ids, generation := w.settled(2)
	a := w.join(w.joinRequest(9, ids[0], "range"))
	if code := w.heartbeat(w.heartbeatRequest(4, ids[0], generation)).got().ErrorCode; code != kerr.RebalanceInProgress.Code {
		t.Errorf("%d", code)
	}
	w.pass(4500)
	w.heartbeat(w.heartbeatRequest(4, ids[1], generation)).got()
	w.pass(3000)
	a.waits()
}

func TestANewMemberWaitsInJoinGroupForFiveMinutesAtMost(t *testing.T) {
	machineOnly(t)
	w := newWorld(t)
	ids, _ := w.settled(1)
	req := w.joinRequest(9, ids[0], "range")
	req.RebalanceTimeoutMillis = 30 * 60_000
	generation := w.join(req).got().Generation
	w.sync(w.syncRequest(5, ids[0], generation, nil)).got()
	_, b := w.enter("range")
	for range 75 {
		w.pass(4000)
		if code := w.heartbeat(w.heartbeatRequest(4, ids[0], generation)).got().ErrorCode; code != kerr.RebalanceInProgress.Code {
			t.Fatalf("%d", code)
		}
	}
	if got := b.got(); got.ErrorCode != kerr.UnknownMemberID.Code || got.MemberID != "" {
		t.Errorf("%+v", got)
	}
	if newMemberJoinMs != 300_000 {
		t.Error(newMemberJoinMs)
	}
}
