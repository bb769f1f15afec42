package broker

import (
	"errors"

	"github.com/twmb/franz-go/pkg/kmsg"

	"ringmain/coordinator"
	"ringmain/coordinator/group"
)

// ListGroups, versions 0 to 5.
//
//   - v3 flexible, v4 states, which are filtered by, v5 likewise types
//   - the groups of this broker; while one of its partitions is being loaded there is
//     no list, as in Kafka
var listGroupsAPI = api{key: 16, min: 0, max: 5, group: listGroups}

// listed is what one partition has to say.
type listed struct {
	groups []kmsg.ListGroupsResponseGroup
	err    error
}

func listGroups(g *groups, c *groupCall, r kmsg.Request) {
	req := r.(*kmsg.ListGroupsRequest)
	n := g.partitions()
	give := gather(int(n), func(all []listed) {
		resp := kmsg.NewPtrListGroupsResponse()
		for _, l := range all {
			switch {
			case errors.Is(l.err, coordinator.ErrNotCoordinator): // others list these
			case l.err != nil:
				resp.ErrorCode = coordinatorCode(l.err)
			default:
				resp.Groups = append(resp.Groups, l.groups...)
			}
		}
		if resp.ErrorCode != 0 {
			resp.Groups = nil
		}
		c.answer(resp)
	})
	for i := range n {
		askPartition(c, i, give[i], func(err error) listed { return listed{err: err} },
			func(m *group.Machine, s *coordinator.Step, reply func(listed, error)) {
				m.ListGroups(s, req.StatesFilter, req.TypesFilter, func(found []kmsg.ListGroupsResponseGroup, err error) {
					reply(listed{groups: found}, err)
				})
			})
	}
}
