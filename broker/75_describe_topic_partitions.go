package broker

import (
	"context"
	"slices"
	"sort"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"ringmain/metadata"
	"ringmain/model"
)

// DescribeTopicPartitions, version 0: topics page by page (KIP-966). Topics
// come sorted by name, each once; an empty list means all. One answer holds at
// most as many partitions as the client asks for and as
// max.request.partition.size.limit allows, but at least one; where it ends
// before the last, the cursor says where the next one begins.
//
// There are no eligible leader replicas here (the feature
// eligible.leader.replicas.version is absent): both lists are empty.
var describeTopicPartitionsAPI = api{key: 75, min: 0, max: 0, serve: describeTopicPartitions}

func describeTopicPartitions(a *admin, _ context.Context, c *call, r kmsg.Request) kmsg.Response {
	req := r.(*kmsg.DescribeTopicPartitionsRequest)
	resp := req.ResponseKind().(*kmsg.DescribeTopicPartitionsResponse)
	img := a.meta.Image()
	names, ok := pagedTopics(img, req)
	if !ok {
		for i := range req.Topics {
			t := kmsg.NewDescribeTopicPartitionsResponseTopic()
			t.Topic, t.ErrorCode = &req.Topics[i].Topic, kerr.InvalidRequest.Code
			t.AuthorizedOperations = operationsOmitted
			resp.Topics = append(resp.Topics, t)
		}
		return resp
	}
	left := int(max(1, min(req.ResponsePartitionLimit, a.cfg.MaxRequestPartitions)))
	for _, name := range names {
		if left == 0 {
			resp.NextCursor = cursorAt(name, 0)
			break
		}
		t := img.Topic(name)
		out := kmsg.NewDescribeTopicPartitionsResponseTopic()
		out.Topic, out.IsInternal, out.AuthorizedOperations = &name, isInternalTopic(name), allTopicOperations
		if t == nil {
			out.ErrorCode = kerr.UnknownTopicOrPartition.Code
			if bad := checkTopicName(name); bad != nil {
				out.ErrorCode = bad.code
			}
			resp.Topics = append(resp.Topics, out)
			continue
		}
		from := 0
		if req.Cursor != nil && req.Cursor.Topic == name {
			from = min(int(req.Cursor.Partition), len(t.Partitions))
		}
		to := min(len(t.Partitions), from+left)
		out.TopicID = t.ID
		for i := from; i < to; i++ {
			out.Partitions = append(out.Partitions, describedPartition(img, &t.Partitions[i], int32(i), c.listener))
		}
		resp.Topics = append(resp.Topics, out)
		left -= to - from
		if to < len(t.Partitions) {
			resp.NextCursor = cursorAt(name, int32(to))
			break
		}
	}
	return resp
}

// pagedTopics gives the names to describe from the cursor on, sorted. ok is
// false if the cursor does not fit the request.
func pagedTopics(img *metadata.Image, req *kmsg.DescribeTopicPartitionsRequest) (names []string, ok bool) {
	if req.Cursor != nil && req.Cursor.Partition < 0 {
		return nil, false
	}
	all := len(req.Topics) == 0
	if all {
		names = img.TopicNames()
	} else {
		names = make([]string, len(req.Topics))
		for i := range req.Topics {
			names[i] = req.Topics[i].Topic
		}
		slices.Sort(names)
		names = slices.Compact(names)
	}
	if req.Cursor == nil {
		return names, true
	}
	at := sort.SearchStrings(names, req.Cursor.Topic)
	if !all && (at == len(names) || names[at] != req.Cursor.Topic) {
		return nil, false
	}
	return names[at:], true
}

func cursorAt(topic string, partition int32) *kmsg.DescribeTopicPartitionsResponseNextCursor {
	c := kmsg.NewDescribeTopicPartitionsResponseNextCursor()
	c.Topic, c.Partition = topic, partition
	return &c
}

func describedPartition(img *metadata.Image, p *metadata.Partition, index int32, listener string) kmsg.DescribeTopicPartitionsResponseTopicPartition {
	out := kmsg.NewDescribeTopicPartitionsResponseTopicPartition()
	out.Partition, out.LeaderID, out.LeaderEpoch = index, p.Leader, p.LeaderEpoch
	out.Replicas, out.ISR, out.OfflineReplicas = p.Replicas, p.ISR, offlineReplicas(img, p, listener)
	out.EligibleLeaderReplicas, out.LastKnownELR = []int32{}, []int32{}
	out.ErrorCode = leaderError(img, p, listener, true)
	if out.ErrorCode == kerr.LeaderNotAvailable.Code {
		out.LeaderID = model.NoBroker
	}
	return out
}
