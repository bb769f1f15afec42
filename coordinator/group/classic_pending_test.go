package group

import (
	"fmt"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
)

// TestMemberIDsThatNobodyComesWith: a client that asks for ids of ever new groups finds
// a bound, and its groups go with the ids.
func TestMemberIDsThatNobodyComesWith(t *testing.T) {
	machineOnly(t)
	w := newWorld(t)
	w.group = "first"
	first := w.join(w.joinRequest(4, "", "range")).got()
	if first.ErrorCode != kerr.MemberIDRequired.Code {
		t.Fatalf("%+v", first)
	}
	const most = pendingMaxBytes / pendingRoom
	for i := range 2 * most {
		w.group = fmt.Sprint("g", i)
		if code := w.join(w.joinRequest(4, "", "range")).got().ErrorCode; code != kerr.MemberIDRequired.Code {
			t.Fatalf("request %d: %d", i, code)
		}
	}
	if groups, ids := len(w.m.groups), w.m.pending.list.Len(); groups > most || ids > most || groups < most*9/10 {
		t.Errorf("%d groups, %d ids; the bound is about %d", groups, ids, most)
	}
	if len(w.log) > 0 {
		t.Errorf("%d records", len(w.log))
	}
	// Whoever comes with a forgotten id begins again.
	w.group = "first"
	if code := w.join(w.joinRequest(4, first.MemberID, "range")).got().ErrorCode; code != kerr.UnknownMemberID.Code {
		t.Errorf("a forgotten id: %d", code)
	}
	again := w.join(w.joinRequest(4, "", "range")).got()
	w.join(w.joinRequest(4, again.MemberID, "range")).got()
	w.pass(6000) // the ids' session
	if len(w.m.groups) != 1 || w.m.pending.list.Len() != 0 || w.m.pending.bytes != 0 {
		t.Errorf("%d groups, %d ids of %d bytes are left", len(w.m.groups), w.m.pending.list.Len(), w.m.pending.bytes)
	}
}

// TestAnIDOutlivesTheSearchForWhatIsExpired: a group without members and offsets stays
// while somebody is expected in it.
func TestAnIDOutlivesTheSearchForWhatIsExpired(t *testing.T) {
	machineOnly(t)
	for _, c := range []struct {
		name string
		w    func(w *world)
	}{
		{"a group that is not recorded", func(*world) {}},
		{"a group that all members left", func(w *world) {
			ids, _ := w.settled(1)
			w.leave(w.leaveRequest(ids[0])).got()
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			c.w(w)
			wait := int64(w.cfg.RetentionCheckMs)
			req := w.joinRequest(4, "", "range")
			req.SessionTimeoutMillis = int32(wait + 2)
			id := w.join(req).got().MemberID
			w.pass(wait + 1)
			req = w.joinRequest(4, id, "range")
			if code := w.join(req).got().ErrorCode; code != 0 {
				t.Fatalf("joining with the id: %d", code)
			}
			w.leave(w.leaveRequest(id)).got()
			w.pass(wait + 1)
			if len(w.m.groups) > 0 {
				t.Error("the group is there without anything left")
			}
		})
	}
}

// TestTheOldestIDIsForgottenInItsGroup: others do not wait for it.
func TestTheOldestIDIsForgottenInItsGroup(t *testing.T) {
	machineOnly(t)
	w := newWorld(t)
	ids, generation := w.settled(2)
	w.join(w.joinRequest(4, "", "range")).got() // an id that the next generation waits for
	a := w.join(w.joinRequest(9, ids[0], "sticky", "range"))
	b := w.join(w.joinRequest(9, ids[1], "sticky", "range"))
	a.waits()
	was := w.group
	for i := range pendingMaxBytes / pendingRoom {
		w.group = fmt.Sprint("other", i)
		w.join(w.joinRequest(4, "", "range")).got()
	}
	w.group = was
	if a.got().Generation != generation+1 || b.got().Generation != generation+1 {
		t.Errorf("%+v %+v", a.got(), b.got())
	}
}

func TestARefusedJoinLeavesNothing(t *testing.T) {
	machineOnly(t)
	w := newWorld(t)
	req := w.joinRequest(3, "") // no protocol
	if code := w.join(req).got().ErrorCode; code != kerr.InconsistentGroupProtocol.Code {
		t.Errorf("%d", code)
	}
	if len(w.m.groups) > 0 {
		t.Error("a group was made")
	}
	id := w.join(w.joinRequest(4, "", "range")).got().MemberID
	w.leave(w.leaveRequest(id)).got()
	if len(w.m.groups) > 0 {
		t.Error("a group is left of an id")
	}
}
