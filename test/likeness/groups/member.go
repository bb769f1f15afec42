package groups

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// member is what somebody knows who wants to be in a group, or was in it once.
type member struct {
	group      int
	id         string  // as the sequence names it; "" until one was given
	instance   *string // nil: a dynamic member
	kind       string  // protocol type
	protocols  []kmsg.JoinGroupRequestProtocol
	generation int32
	protocol   string // of the generation
	leads      bool
	others     []string // the generation's members, for who leads
	pending    bool     // was given an id and has not joined
}

// learn takes over what a JoinGroup was answered.
func (s *sequence) learn(m *member, resp kmsg.Response) {
	r, ok := resp.(*kmsg.JoinGroupResponse)
	if !ok || m == nil || r.ErrorCode != 0 && r.ErrorCode != kerr.MemberIDRequired.Code {
		return
	}
	id := s.ids[0].name(r.MemberID)
	if m.id == "" {
		s.members = append(s.members, m)
	} else if m.id != id { // who it was stays, fenced
		before := *m
		s.members = append(s.members, &before)
	}
	m.id, m.pending = id, r.ErrorCode != 0
	if m.pending {
		return
	}
	m.generation, m.leads, m.protocol, m.others = r.Generation, r.LeaderID == r.MemberID, "", nil
	if r.Protocol != nil {
		m.protocol = *r.Protocol
	}
	for i := range r.Members {
		m.others = append(m.others, s.ids[0].name(r.Members[i].MemberID))
	}
}

// someone is a member that is known, rather one of the newest; nil if there is none.
func (s *sequence) someone() *member {
	n := len(s.members)
	if n == 0 {
		return nil
	}
	if s.oneIn(3) {
		return s.members[s.random.IntN(n)]
	}
	return s.members[n-1-s.random.IntN(min(n, 4))]
}

// holder is who was last known under an instance id of a group, or nil.
func (s *sequence) holder(group int, instance string) (m *member) {
	for _, x := range s.members {
		if x.group == group && x.instance != nil && *x.instance == instance {
			m = x
		}
	}
	return m
}
