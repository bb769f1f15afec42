package group

import (
	"cmp"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"ringmain/coordinator"
)

// ListGroups is API 16, versions 0 to 5, for the groups of this partition, by their
// ids. An empty filter lets all pass; states may be in any case and with spaces
// around them, types in any case. What is no state or type fits no group.
func (m *Machine) ListGroups(s *coordinator.Step, states, types []string, reply func([]kmsg.ListGroupsResponseGroup, error)) {
	var list []kmsg.ListGroupsResponseGroup
	for _, g := range m.groups {
		kind, state := g.members.kind(), g.members.state(s)
		if !fits(states, func(x string) bool { return strings.EqualFold(strings.TrimSpace(x), state) }) ||
			!fits(types, func(x string) bool { return strings.EqualFold(x, string(kind)) }) {
			continue
		}
		list = append(list, kmsg.ListGroupsResponseGroup{
			Group:        g.id,
			ProtocolType: g.members.protocolType(),
			GroupState:   state,
			GroupType:    string(kind),
		})
	}
	slices.SortFunc(list, func(a, b kmsg.ListGroupsResponseGroup) int { return cmp.Compare(a.Group, b.Group) })
	coordinator.Answer(s, reply, list)
}

func fits(filter []string, match func(string) bool) bool {
	return len(filter) == 0 || slices.ContainsFunc(filter, match)
}
