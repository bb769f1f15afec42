package broker

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"ringmain/coordinator"
	"ringmain/coordinator/group"
	"ringmain/model"
)

// OffsetFetch, versions 1 to 10.
//
//   - v2 null topics mean all, an error for the whole answer; before, each partition
//     has it
//   - v5 leader epochs, v6 flexible, v7 require_stable, v8 several groups, each with an
//     error of its own, v9 who asks (KIP-848), v10 topic ids
//   - what was never committed is offset -1 and no error
//   - in an answer of more than 100 MiB groups are INVALID_REQUEST
var offsetFetchAPI = api{key: 9, min: 1, max: 10, group: offsetFetch}

func offsetFetch(_ *groups, c *groupCall, r kmsg.Request) {
	req := r.(*kmsg.OffsetFetchRequest)
	if c.h.Version >= 8 {
		fetchGroups(c, req)
		return
	}
	g := kmsg.NewOffsetFetchRequestGroup()
	g.Group = req.Group
	if req.Topics != nil {
		g.Topics = make([]kmsg.OffsetFetchRequestGroupTopic, len(req.Topics))
		for i := range req.Topics {
			g.Topics[i].Topic, g.Topics[i].Partitions = req.Topics[i].Topic, req.Topics[i].Partitions
		}
	}
	fetchOffsets(c, req.RequireStable, &g, func(out kmsg.OffsetFetchResponseGroup) {
		c.answer(oneGroup(c.h.Version, &g, &out))
	})
}

// asker is what makes two groups of a request the same: all offsets of a group, for the
// same member. A group that names partitions is only itself.
type asker struct {
	group, member string
	epoch         int32
	entry         int
}

// fetchGroups is OffsetFetch of several groups.
func fetchGroups(c *groupCall, req *kmsg.OffsetFetchRequest) {
	names := make([]asker, len(req.Groups))
	for i := range req.Groups {
		g := &req.Groups[i]
		names[i] = asker{group: g.Group, epoch: g.MemberEpoch}
		if g.MemberID != nil {
			names[i].member = *g.MemberID
		}
		if g.Topics != nil {
			names[i].entry = i + 1
		}
	}
	gatherNamed(names, func(i int, give func(kmsg.OffsetFetchResponseGroup)) {
		fetchOffsets(c, req.RequireStable, &req.Groups[i], give)
	}, fetchedBytes, func(i int) kmsg.OffsetFetchResponseGroup {
		out := kmsg.NewOffsetFetchResponseGroup()
		out.Group, out.ErrorCode = req.Groups[i].Group, kerr.InvalidRequest.Code
		return out
	}, func(all []kmsg.OffsetFetchResponseGroup) {
		resp := kmsg.NewPtrOffsetFetchResponse()
		resp.Groups = all
		c.answer(resp)
	})
}

// fetchedBytes is about what a group's offsets take in an answer.
func fetchedBytes(g kmsg.OffsetFetchResponseGroup) int {
	const room = 24
	size := room + len(g.Group)
	for i := range g.Topics {
		size += room + len(g.Topics[i].Topic)
		for j := range g.Topics[i].Partitions {
			p := &g.Topics[i].Partitions[j]
			if size += room; p.Metadata != nil {
				size += len(*p.Metadata)
			}
		}
	}
	return size
}

// fetchOffsets fetches the offsets of one group.
func fetchOffsets(c *groupCall, stable bool, g *kmsg.OffsetFetchRequestGroup, then func(kmsg.OffsetFetchResponseGroup)) {
	ask(c, g.Group, then,
		func(code int16) kmsg.OffsetFetchResponseGroup {
			out := kmsg.NewOffsetFetchResponseGroup()
			out.Group, out.ErrorCode = g.Group, code
			return out
		},
		func(m *group.Machine, s *coordinator.Step, reply func(kmsg.OffsetFetchResponseGroup, error)) {
			m.OffsetFetch(s, c.h.Version, stable, g, reply)
		})
}

// oneGroup is the answer in versions 1 to 7.
func oneGroup(version int16, asked *kmsg.OffsetFetchRequestGroup, g *kmsg.OffsetFetchResponseGroup) *kmsg.OffsetFetchResponse {
	resp := kmsg.NewPtrOffsetFetchResponse()
	resp.ErrorCode = g.ErrorCode
	if g.ErrorCode != 0 && version < 2 {
		for i := range asked.Topics {
			t := kmsg.NewOffsetFetchResponseTopic()
			t.Topic = asked.Topics[i].Topic
			for _, index := range asked.Topics[i].Partitions {
				p := kmsg.NewOffsetFetchResponseTopicPartition()
				p.Partition, p.Offset, p.LeaderEpoch, p.Metadata, p.ErrorCode = index, -1, model.NoEpoch, new(string), g.ErrorCode
				t.Partitions = append(t.Partitions, p)
			}
			resp.Topics = append(resp.Topics, t)
		}
		return resp
	}
	for i := range g.Topics {
		t := kmsg.NewOffsetFetchResponseTopic()
		t.Topic = g.Topics[i].Topic
		for _, p := range g.Topics[i].Partitions {
			out := kmsg.NewOffsetFetchResponseTopicPartition()
			out.Partition, out.Offset, out.LeaderEpoch, out.Metadata, out.ErrorCode = p.Partition, p.Offset, p.LeaderEpoch, p.Metadata, p.ErrorCode
			t.Partitions = append(t.Partitions, out)
		}
		resp.Topics = append(resp.Topics, t)
	}
	return resp
}
