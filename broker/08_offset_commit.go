package broker

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"ringmain/coordinator"
	"ringmain/coordinator/group"
)

// OffsetCommit, versions 2 to 10.
//
//   - v2 to v4 a retention time of the offsets, which counts from the commit, v6
//     leader epochs, v7 static members, v8 flexible, v9 members of the consumer
//     protocol, v10 topic ids
//   - answered when the commit is durable
var offsetCommitAPI = api{key: 8, min: 2, max: 10, group: offsetCommit}

func offsetCommit(_ *groups, c *groupCall, r kmsg.Request) {
	req := r.(*kmsg.OffsetCommitRequest)
	ask(c, req.Group, func(resp *kmsg.OffsetCommitResponse) { c.answer(resp) },
		func(code int16) *kmsg.OffsetCommitResponse { return refusedCommit(req, code) },
		func(m *group.Machine, s *coordinator.Step, reply func(*kmsg.OffsetCommitResponse, error)) {
			m.OffsetCommit(s, req, c.client, reply)
		})
}

// refusedCommit gives every partition of a commit the same code.
func refusedCommit(req *kmsg.OffsetCommitRequest, code int16) *kmsg.OffsetCommitResponse {
	resp := kmsg.NewPtrOffsetCommitResponse()
	for i := range req.Topics {
		t := &req.Topics[i]
		out := kmsg.NewOffsetCommitResponseTopic()
		out.Topic, out.TopicID = t.Topic, t.TopicID
		for j := range t.Partitions {
			p := kmsg.NewOffsetCommitResponseTopicPartition()
			p.Partition, p.ErrorCode = t.Partitions[j].Partition, code
			out.Partitions = append(out.Partitions, p)
		}
		resp.Topics = append(resp.Topics, out)
	}
	return resp
}
