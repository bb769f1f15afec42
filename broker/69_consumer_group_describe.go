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
//     named twice is described twice, within the bound that DescribeGroups has
var consumerGroupDescribeAPI = api{key: 69, min: 0, max: 1, group: consumerGroupDescribe}

func consumerGroupDescribe(g *groups, c *groupCall, r kmsg.Request) {
	req := r.(*kmsg.ConsumerGroupDescribeRequest)
	served := g.consumerProtocol()
	refuse := func(id string, code int16) kmsg.ConsumerGroupDescribeResponseGroup {
		out := kmsg.NewConsumerGroupDescribeResponseGroup()
		out.Group, out.ErrorCode = id, code
		return out
	}
	gatherNamed(req.Groups, func(i int, give func(kmsg.ConsumerGroupDescribeResponseGroup)) {
		id := req.Groups[i]
		switch {
		case !served:
			give(refuse(id, kerr.UnsupportedVersion.Code))
			return
		case id == "":
			give(refuse(id, kerr.InvalidGroupID.Code))
			return
		}
		ask(c, id, func(out kmsg.ConsumerGroupDescribeResponseGroup) {
			out.AuthorizedOperations = operations(req.IncludeAuthorizedOperations && out.ErrorCode == 0, allGroupOperations)
			give(out)
		}, func(code int16) kmsg.ConsumerGroupDescribeResponseGroup { return refuse(id, code) },
			func(m *group.Machine, s *coordinator.Step, reply func(kmsg.ConsumerGroupDescribeResponseGroup, error)) {
				m.ConsumerGroupDescribe(s, id, reply)
			})
	}, consumerDescribedBytes, func(i int) kmsg.ConsumerGroupDescribeResponseGroup {
		return refuse(req.Groups[i], kerr.InvalidRequest.Code)
	}, func(all []kmsg.ConsumerGroupDescribeResponseGroup) {
		resp := kmsg.NewPtrConsumerGroupDescribeResponse()
		resp.Groups = all
		c.answer(resp)
	})
}

// consumerDescribedBytes is about what a group takes in an answer.
func consumerDescribedBytes(g kmsg.ConsumerGroupDescribeResponseGroup) int {
	const room = 64
	size := room + len(g.Group)
	for i := range g.Members {
		m := &g.Members[i]
		size += room + len(m.MemberID) + len(m.ClientID)
		for _, name := range m.SubscribedTopics {
			size += len(name)
		}
		for _, a := range []kmsg.Assignment{m.Assignment, m.TargetAssignment} {
			for j := range a.TopicPartitions {
				size += room + len(a.TopicPartitions[j].Topic) + 4*len(a.TopicPartitions[j].Partitions)
			}
		}
	}
	return size
}
