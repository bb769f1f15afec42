package broker

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"ringmain/coordinator"
	"ringmain/coordinator/group"
)

// DescribeGroups, versions 0 to 6.
//
//   - v3 authorized operations, v4 static members, v5 flexible, v6 GROUP_ID_NOT_FOUND
//     for a group that is not there; before it is Dead and no error
//   - a group that is named twice is described twice; in an answer of more than 100 MiB
//     groups are INVALID_REQUEST
var describeGroupsAPI = api{key: 15, min: 0, max: 6, group: describeGroups}

func describeGroups(_ *groups, c *groupCall, r kmsg.Request) {
	req := r.(*kmsg.DescribeGroupsRequest)
	refuse := func(id string, code int16) kmsg.DescribeGroupsResponseGroup {
		out := kmsg.NewDescribeGroupsResponseGroup()
		out.Group, out.ErrorCode = id, code
		return out
	}
	gatherNamed(req.Groups, func(i int, give func(kmsg.DescribeGroupsResponseGroup)) {
		id := req.Groups[i]
		ask(c, id, func(out kmsg.DescribeGroupsResponseGroup) {
			out.AuthorizedOperations = operations(req.IncludeAuthorizedOperations && out.ErrorCode == 0, allGroupOperations)
			give(out)
		}, func(code int16) kmsg.DescribeGroupsResponseGroup { return refuse(id, code) },
			func(m *group.Machine, s *coordinator.Step, reply func(kmsg.DescribeGroupsResponseGroup, error)) {
				m.DescribeGroup(s, id, c.h.Version, reply)
			})
	}, describedBytes, func(i int) kmsg.DescribeGroupsResponseGroup {
		return refuse(req.Groups[i], kerr.InvalidRequest.Code)
	}, func(all []kmsg.DescribeGroupsResponseGroup) {
		resp := kmsg.NewPtrDescribeGroupsResponse()
		resp.Groups = all
		c.answer(resp)
	})
}

// describedBytes is about what a group takes in an answer.
func describedBytes(g kmsg.DescribeGroupsResponseGroup) int {
	const room = 64
	size := room + len(g.Group)
	for i := range g.Members {
		m := &g.Members[i]
		size += room + len(m.MemberID) + len(m.ClientID) + len(m.ProtocolMetadata) + len(m.MemberAssignment)
	}
	return size
}
