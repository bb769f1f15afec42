package groups

import (
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// meant reports whether the brokers differ only as docs/deviations.md says. What follows
// would differ for that, so the sequence ends.
//
//   - Who leads when the leader is gone, and which of two protocols with as many votes
//     is chosen, is left to a hash in Kafka.
//   - A code says what was wrong where Kafka has UNKNOWN_SERVER_ERROR.
//   - Kafka keeps a group that nothing is stored of for some minutes.
func (s *sequence) meant(req kmsg.Request, list []string) bool {
	return slices.ContainsFunc(list, func(d string) bool {
		switch {
		case strings.HasPrefix(d, ".LeaderID:"), strings.HasPrefix(d, ".Protocol:") && req.Key() == int16(kmsg.JoinGroup), strings.HasPrefix(d, ".Groups[].Protocol:"):
			return true
		case strings.Contains(d, "ErrorCode: -1, "):
			return true
		case strings.HasSuffix(d, `State: "Empty", "Dead"`):
			return true
		}
		return false
	})
}

// meantAlone is meant for a client that one broker (a or b is nil) does not answer.
//
//   - The SyncGroup of a member that leaves, by itself or by another's hand, is answered
//     UNKNOWN_MEMBER_ID; Kafka forgets it.
//   - A static member that comes back with other votes may change the protocol, and then
//     waits for the others.
func (s *sequence) meantAlone(req kmsg.Request, a, b *answer) bool {
	switch r := req.(type) {
	case *kmsg.SyncGroupRequest:
		return b != nil && b.err == nil && b.resp.(*kmsg.SyncGroupResponse).ErrorCode == kerr.UnknownMemberID.Code
	case *kmsg.JoinGroupRequest:
		return r.InstanceID != nil && r.MemberID == "" && len(r.Protocols) > 1
	}
	return false
}
