package group

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// large is a JoinGroup whose member says so many bytes.
func (w *world) large(member string, bytes int) *kmsg.JoinGroupRequest {
	req := w.joinRequest(3, member)
	req.Protocols = []kmsg.JoinGroupRequestProtocol{{Name: "range", Metadata: make([]byte, bytes-len("range"))}}
	return req
}

func TestMembersTogetherSayNoMoreThanAGroupHolds(t *testing.T) {
	machineOnly(t) // Kafka keeps it, and fails when it writes the group
	w := newWorld(t)
	if got := w.join(w.large("", groupMaxBytes+1)).got(); got.ErrorCode != kerr.GroupMaxSizeReached.Code {
		t.Errorf("one byte too much: %d", got.ErrorCode)
	}
	one := w.join(w.large("", groupMaxBytes-100)).got()
	if one.ErrorCode != 0 {
		t.Fatal(one.ErrorCode)
	}
	if got := w.join(w.large("", 101)).got(); got.ErrorCode != kerr.GroupMaxSizeReached.Code {
		t.Errorf("a second with one byte too much: %d", got.ErrorCode)
	}
	// What it said before counts no more.
	two := w.join(w.large("", 100))
	two.waits()
	again := w.join(w.large(one.MemberID, 1000))
	if got := again.got(); got.ErrorCode != 0 || two.got().ErrorCode != 0 {
		t.Errorf("%d %d", got.ErrorCode, two.got().ErrorCode)
	}
	c := w.machine.groups["g"].members.(*classic)
	if c.said != 1100 {
		t.Errorf("%d bytes are counted", c.said)
	}
	w.sync(w.syncRequest(3, one.MemberID, 2, nil)).got()
	w.load()
	if c := w.machine.groups["g"].members.(*classic); c.said != 1100 {
		t.Errorf("%d bytes are counted after a load", c.said)
	}
}

func TestALeaderAssignsNoMoreThanAGroupHolds(t *testing.T) {
	machineOnly(t)
	w := newWorld(t)
	id, a := w.enter("range")
	a.got()
	req := w.syncRequest(3, id, 1, map[string]string{id: string(make([]byte, groupMaxBytes)), "nobody": "n"})
	if got := w.sync(req).got(); got.ErrorCode != kerr.InvalidRequest.Code {
		t.Errorf("one byte too much: %d", got.ErrorCode)
	}
	if got := w.sync(w.syncRequest(3, id, 1, map[string]string{id: string(make([]byte, groupMaxBytes))})).got(); got.ErrorCode != 0 {
		t.Error(got.ErrorCode)
	}
}
