package group

import (
	"bytes"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// speaks makes protocols of "name=metadata" or "name".
func speaks(names ...string) []kmsg.JoinGroupRequestProtocol {
	protocols := make([]kmsg.JoinGroupRequestProtocol, len(names))
	for i, name := range names {
		protocols[i] = kmsg.JoinGroupRequestProtocol{Name: name, Metadata: []byte("of " + name)}
	}
	return protocols
}

func (w *world) joinRequest(version int16, member string, protocols ...string) *kmsg.JoinGroupRequest {
	req := kmsg.NewPtrJoinGroupRequest()
	req.Version = version
	req.Group = w.group
	req.SessionTimeoutMillis = 6000
	req.RebalanceTimeoutMillis = 10_000
	req.MemberID = member
	req.ProtocolType = "consumer"
	req.Protocols = speaks(protocols...)
	return req
}

// joinStatic is a JoinGroup of a static member.
func (w *world) joinStatic(version int16, member, instance string, protocols ...string) *kmsg.JoinGroupRequest {
	req := w.joinRequest(version, member, protocols...)
	req.InstanceID = &instance
	return req
}

// syncRequest is a SyncGroup with shares of "what" for each member in shares.
func (w *world) syncRequest(version int16, member string, generation int32, shares map[string]string) *kmsg.SyncGroupRequest {
	req := kmsg.NewPtrSyncGroupRequest()
	req.Version = version
	req.Group = w.group
	req.MemberID = member
	req.Generation = generation
	if version >= 5 {
		req.ProtocolType, req.Protocol = kmsg.StringPtr("consumer"), kmsg.StringPtr("range")
	}
	for id, share := range shares {
		req.GroupAssignment = append(req.GroupAssignment, kmsg.SyncGroupRequestGroupAssignment{MemberID: id, MemberAssignment: []byte(share)})
	}
	return req
}

func (w *world) heartbeatRequest(version int16, member string, generation int32) *kmsg.HeartbeatRequest {
	req := kmsg.NewPtrHeartbeatRequest()
	req.Version = version
	req.Group = w.group
	req.MemberID = member
	req.Generation = generation
	return req
}

// leaveRequest is of version 4: who leaves is a member id, or "@" and an instance id.
func (w *world) leaveRequest(who ...string) *kmsg.LeaveGroupRequest {
	req := kmsg.NewPtrLeaveGroupRequest()
	req.Version = 4
	req.Group = w.group
	for _, id := range who {
		m := kmsg.NewLeaveGroupRequestMember()
		if id != "" && id[0] == '@' {
			m.InstanceID = kmsg.StringPtr(id[1:])
		} else {
			m.MemberID = id
		}
		req.Members = append(req.Members, m)
	}
	return req
}

// enter makes a dynamic member join in two steps, as clients do since KIP-394; the
// second waits as it must.
func (w *world) enter(protocols ...string) (id string, a *answer[*kmsg.JoinGroupResponse]) {
	w.t.Helper()
	id = w.join(w.joinRequest(9, "", protocols...)).got().MemberID
	return id, w.join(w.joinRequest(9, id, protocols...))
}

// settled gives a Stable group of n dynamic members that speak range; the first leads.
func (w *world) settled(n int) (ids []string, generation int32) {
	w.t.Helper()
	var joins []*answer[*kmsg.JoinGroupResponse]
	for range n {
		id, a := w.enter("range")
		ids = append(ids, id)
		joins = append(joins, a)
		if len(ids) > 1 { // those who are there join again
			for i, known := range ids[:len(ids)-1] {
				joins[i] = w.join(w.joinRequest(9, known, "range"))
			}
		}
		for _, j := range joins {
			generation = j.got().Generation
		}
	}
	shares := map[string]string{}
	for _, id := range ids {
		shares[id] = "share of " + id
	}
	for _, id := range ids {
		if got := w.sync(w.syncRequest(5, id, generation, shares)).got(); got.ErrorCode != 0 || string(got.MemberAssignment) != shares[id] {
			w.t.Fatalf("SyncGroup: %+v", got)
		}
	}
	return ids, generation
}

// addStatic lets a static member join a settled group of ids, and settles it again.
func (w *world) addStatic(instance string, ids []string) (id string, generation int32) {
	w.t.Helper()
	a := w.join(w.joinStatic(9, "", instance, "range"))
	for _, known := range ids {
		w.join(w.joinRequest(9, known, "range"))
	}
	joined := a.got()
	shares := map[string]string{joined.MemberID: "share of " + joined.MemberID}
	for _, known := range ids {
		shares[known] = "share of " + known
	}
	for id := range shares {
		if id != joined.LeaderID {
			w.sync(w.syncRequest(5, id, joined.Generation, nil))
		}
	}
	if got := w.sync(w.syncRequest(5, joined.LeaderID, joined.Generation, shares)).got(); got.ErrorCode != 0 {
		w.t.Fatalf("SyncGroup: %+v", got)
	}
	return joined.MemberID, joined.Generation
}

// same asserts that a client sees the same.
func (w *world) same(got, want kmsg.Response) {
	w.t.Helper()
	if !bytes.Equal(got.AppendTo(nil), want.AppendTo(nil)) {
		w.t.Errorf("version %d:\n got %+v\nwant %+v", got.GetVersion(), got, want)
	}
}
