package broker

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"ringmain/coordinator"
	"ringmain/coordinator/group"
)

// ConsumerGroupDescribe, versions 0 and 1 (KIP-848).
//
//   - v1 the protocol that each member speaks
//   - UNSUPPORTED_VERSION for each group where ConsumerGroupHeartbeat is; a group that is
//     named twice is described twice
var consumerGroupDescribeAPI = api{key: 69, min: 0, max: 1, group: consumerGroupDescribe}

func consumerGroupDescribe(g *groups, c *groupCall, r kmsg.Request) {
	req := r.(*kmsg.ConsumerGroupDescribeRequest)
	served := g.consumerProtocol()
	give := gather(len(req.Groups), func(all []kmsg.ConsumerGroupDescribeResponseGroup) {
		resp := kmsg.NewPtrConsumerGroupDescribeResponse()
		resp.Groups = all
		c.answer(resp)
	})
	for i, id := range req.Groups {
		refuse := func(code int16) kmsg.ConsumerGroupDescribeResponseGroup {
			out := kmsg.NewConsumerGroupDescribeResponseGroup()
			out.Group, out.ErrorCode = id, code
			return out
		}
		switch {
		case !served:
			give[i](refuse(kerr.UnsupportedVersion.Code))
			continue
		case id == "":
			give[i](refuse(kerr.InvalidGroupID.Code))
			continue
		}
		ask(c, id, func(out kmsg.ConsumerGroupDescribeResponseGroup) {
			out.AuthorizedOperations = operations(req.IncludeAuthorizedOperations && out.ErrorCode == 0, allGroupOperations)
			give[i](out)
		}, refuse, func(m *group.Machine, s *coordinator.Step, reply func(kmsg.ConsumerGroupDescribeResponseGroup, error)) {
			m.ConsumerGroupDescribe(s, id, reply)
		})
	}
}
