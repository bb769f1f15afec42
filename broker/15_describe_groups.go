package broker

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"ringmain/coordinator"
	"ringmain/coordinator/group"
)

// DescribeGroups, versions 0 to 6.
//
//   - v3 authorized operations, v4 static members, v5 flexible, v6 GROUP_ID_NOT_FOUND
//     for a group that is not there; before it is Dead and no error
//   - a group that is named twice is described twice
var describeGroupsAPI = api{key: 15, min: 0, max: 6, group: describeGroups}

func describeGroups(_ *groups, c *groupCall, r kmsg.Request) {
	req := r.(*kmsg.DescribeGroupsRequest)
	give := gather(len(req.Groups), func(all []kmsg.DescribeGroupsResponseGroup) {
		resp := kmsg.NewPtrDescribeGroupsResponse()
		resp.Groups = all
		c.answer(resp)
	})
	for i, id := range req.Groups {
		ask(c, id, func(out kmsg.DescribeGroupsResponseGroup) {
			out.AuthorizedOperations = operations(req.IncludeAuthorizedOperations && out.ErrorCode == 0, allGroupOperations)
			give[i](out)
		}, func(code int16) kmsg.DescribeGroupsResponseGroup {
			out := kmsg.NewDescribeGroupsResponseGroup()
			out.Group, out.ErrorCode = id, code
			return out
		}, func(m *group.Machine, s *coordinator.Step, reply func(kmsg.DescribeGroupsResponseGroup, error)) {
			m.DescribeGroup(s, id, c.h.Version, reply)
		})
	}
}
