package group

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func TestMembersWhoDoNotJoinAgainAreRemoved(t *testing.T) {
	w := newWorld(t)
	ids, _ := w.settled(2)
	static, generation := w.addStatic("i", ids)
	changed := w.joinRequest(9, ids[1], "range")
	changed.Protocols[0].Metadata = []byte("new")
	b := w.join(changed)
	for range 2 { // heartbeats keep the sessions, but not the place
		w.pass(4600)
		for _, id := range []string{ids[0], static} {
			if code := w.heartbeat(w.heartbeatRequest(4, id, generation)).got().ErrorCode; code != kerr.RebalanceInProgress.Code {
				t.Errorf("before the rebalance timeout: %d", code)
			}
		}
	}
	b.waits()
	w.pass(1000)
	got := b.got()
	if got.Generation != generation+1 || got.LeaderID != ids[1] || len(got.Members) != 2 {
		t.Errorf("%+v", got)
	}
	if code := w.heartbeat(w.heartbeatRequest(4, ids[0], generation+1)).got().ErrorCode; code != kerr.UnknownMemberID.Code {
		t.Errorf("the dynamic member: %d", code)
	}
	if code := w.heartbeat(w.heartbeatRequest(4, static, generation+1)).got().ErrorCode; code != 0 {
		t.Errorf("the static member: %d", code)
	}
	if code := w.heartbeat(w.heartbeatRequest(4, static, generation)).got().ErrorCode; code != kerr.IllegalGeneration.Code {
		t.Errorf("the static member, not yet aware: %d", code)
	}
}

func TestOnlyStaticMembersAndNoneJoins(t *testing.T) {
	w := newWorld(t)
	a := w.join(w.joinStatic(9, "", "i", "range")).got()
	w.sync(w.syncRequest(5, a.MemberID, 1, nil)).got()
	id, b := w.enter("range")
	w.leave(w.leaveRequest(id)).got()
	if code := b.got().ErrorCode; code != kerr.UnknownMemberID.Code {
		t.Errorf("who left while it joined: %d", code)
	}
	for range 4 {
		w.pass(4000)
		if code := w.heartbeat(w.heartbeatRequest(4, a.MemberID, 1)).got().ErrorCode; code != kerr.RebalanceInProgress.Code {
			t.Fatalf("%d", code)
		}
	}
	if got := w.join(w.joinStatic(9, a.MemberID, "i", "range")).got(); got.ErrorCode != 0 || got.Generation != 2 {
		t.Errorf("%+v", got)
	}
}

func TestTheLastSessionEndsInEmpty(t *testing.T) {
	w := newWorld(t)
	ids, generation := w.settled(1)
	w.pass(6200)
	if d := w.describe(5); d.State != "Empty" || d.ProtocolType != "consumer" || d.Protocol != "" || len(d.Members) != 0 {
		t.Errorf("%+v", d)
	}
	if code := w.join(w.joinRequest(9, ids[0], "range")).got().ErrorCode; code != kerr.UnknownMemberID.Code {
		t.Errorf("%d", code)
	}
	// The generation went on by one, and the next group may be of another kind.
	req := w.joinRequest(3, "", "any")
	req.ProtocolType = "connect"
	if got := w.join(req).got(); got.Generation != generation+2 {
		t.Errorf("%+v", got)
	}
	if d := w.describe(5); d.ProtocolType != "connect" {
		t.Errorf("%+v", d)
	}
}

func TestTheLeaderStaysWhileItJoins(t *testing.T) {
	w := newWorld(t)
	ids, _ := w.settled(3)
	w.leave(w.leaveRequest(ids[1])).got()
	c := w.join(w.joinRequest(9, ids[2], "range"))
	a := w.join(w.joinRequest(9, ids[0], "range")).got()
	if got := c.got(); a.LeaderID != ids[0] || got.LeaderID != ids[0] || len(a.Members) != 2 || len(got.Members) != 0 {
		t.Errorf("%+v\n%+v", a, got)
	}
	w.leave(w.leaveRequest(ids[0])).got()
	if got := w.join(w.joinRequest(9, ids[2], "range")).got(); got.LeaderID != ids[2] || len(got.Members) != 1 {
		t.Errorf("%+v", got)
	}
}

func TestAMemberFollowsALeaderWhoLeft(t *testing.T) {
	w := newWorld(t)
	ids, _ := w.settled(2)
	w.leave(w.leaveRequest(ids[0])).got()
	_, c := w.enter("range")
	c.waits()
	if b := w.join(w.joinRequest(9, ids[1], "range")).got(); b.LeaderID != ids[1] || len(b.Members) != 2 || c.got().LeaderID != ids[1] {
		t.Errorf("%+v\n%+v", b, c.got())
	}
}

// Of the protocols that all members speak, the one that most of them like best.
func TestProtocolSelection(t *testing.T) {
	for _, row := range []struct {
		members [][]string
		want    string
	}{
		{[][]string{{"a", "b"}, {"b", "a"}, {"b", "a"}}, "b"},
		{[][]string{{"a", "b"}, {"a", "b"}, {"b", "a"}}, "a"},
		{[][]string{{"a", "c"}, {"c", "b"}, {"a", "c"}}, "c"},
		{[][]string{{"x", "a", "b"}, {"y", "b", "a"}, {"z", "b", "a"}}, "b"},
	} {
		t.Run(row.want, func(t *testing.T) {
			w := newWorld(t)
			var joins []*answer[*kmsg.JoinGroupResponse]
			var ids []string
			for _, protocols := range row.members {
				id, a := w.enter(protocols...)
				for i, known := range ids {
					joins[i] = w.join(w.joinRequest(9, known, row.members[i]...))
				}
				ids, joins = append(ids, id), append(joins, a)
				for _, j := range joins {
					j.got()
				}
			}
			for i, j := range joins {
				got := j.got()
				if *got.Protocol != row.want {
					t.Errorf("%v: member %d: %s", row.members, i, *got.Protocol)
				}
				for _, m := range got.Members {
					if string(m.ProtocolMetadata) != "of "+row.want {
						t.Errorf("%+v", m)
					}
				}
			}
		})
	}
}

func TestInitialRebalanceDelay(t *testing.T) {
	machineOnly(t)
	for _, row := range []struct {
		name  string
		joins []int64 // when members join
		end   int64   // when they are answered
	}{
		{"alone", []int64{0}, 3000},
		{"together", []int64{0, 0}, 6000},
		{"one later", []int64{0, 2999}, 6000},
		{"some later", []int64{0, 2000, 4000}, 9000},
		{"up to the rebalance timeout", []int64{0, 2000, 4000, 8000}, 10_000},
		{"not beyond", []int64{0, 2000, 4000, 8000, 9500}, 10_000},
	} {
		t.Run(row.name, func(t *testing.T) {
			w := newMachineWorld(t, func(cfg *Config) { cfg.InitialRebalanceDelayMs, cfg.MaxSize = 3000, 10 })
			begin := w.nowMs
			var all []*answer[*kmsg.JoinGroupResponse]
			for _, at := range row.joins {
				w.pass(begin + at - w.nowMs)
				all = append(all, w.join(w.joinRequest(3, "", "range")))
			}
			w.pass(begin + row.end - 1 - w.nowMs)
			for _, a := range all {
				a.waits()
			}
			w.pass(1)
			for _, a := range all {
				if got := a.got(); got.Generation != 1 {
					t.Errorf("%+v", got)
				}
			}
		})
	}
}

// Who leaves during the delay leaves nothing behind.
func TestTheInitialDelayEndsInEmptyWhenAllHaveLeft(t *testing.T) {
	machineOnly(t)
	w := newMachineWorld(t, func(cfg *Config) { cfg.InitialRebalanceDelayMs = 3000 })
	id, a := w.enter("range")
	w.leave(w.leaveRequest(id)).got()
	if got := a.got(); got.ErrorCode != kerr.UnknownMemberID.Code || got.MemberID != "" {
		t.Errorf("%+v", got)
	}
	w.pass(3000)
	if d := w.describe(5); d.State != "Empty" {
		t.Errorf("%+v", d)
	}
}
