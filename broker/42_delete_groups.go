package broker

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"ringmain/coordinator"
	"ringmain/coordinator/group"
)

// DeleteGroups, versions 0 to 3.
//
//   - v2 flexible, v3 a message for each error, which Kafka leaves null
//   - a group that is named twice is answered once
var deleteGroupsAPI = api{key: 42, min: 0, max: 3, group: deleteGroups}

func deleteGroups(_ *groups, c *groupCall, r kmsg.Request) {
	req := r.(*kmsg.DeleteGroupsRequest)
	seen := make(map[string]bool, len(req.Groups))
	ids := slices.DeleteFunc(req.Groups, func(id string) bool {
		again := seen[id]
		seen[id] = true
		return again
	})
	give := gather(len(ids), func(all []kmsg.DeleteGroupsResponseGroup) {
		resp := kmsg.NewPtrDeleteGroupsResponse()
		resp.Groups = all
		c.answer(resp)
	})
	for i, id := range ids {
		result := func(code int16) kmsg.DeleteGroupsResponseGroup {
			out := kmsg.NewDeleteGroupsResponseGroup()
			out.Group, out.ErrorCode = id, code
			return out
		}
		ask(c, id, give[i], result,
			func(m *group.Machine, s *coordinator.Step, reply func(kmsg.DeleteGroupsResponseGroup, error)) {
				m.DeleteGroup(s, id, func(code int16, err error) { reply(result(code), err) })
			})
	}
}
