package broker

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"ringmain/model"
)

// OffsetForLeaderEpoch, versions 2 to 4 (v3 replica id, v4 flexible): where
// did this leader epoch end (KIP-320)? Answered from the log's own history of
// epochs (segment.Log.EpochEnd).
var offsetForLeaderEpochAPI = api{key: keyOffsetForLeaderEpoch, min: 2, max: 4, serve: offsetForLeaderEpoch, quick: true}

func offsetForLeaderEpoch(a *admin, _ context.Context, _ *call, r kmsg.Request) kmsg.Response {
	req := r.(*kmsg.OffsetForLeaderEpochRequest)
	resp := kmsg.NewPtrOffsetForLeaderEpochResponse()
	for i := range req.Topics {
		t := &req.Topics[i]
		rt := kmsg.NewOffsetForLeaderEpochResponseTopic()
		rt.Topic = t.Topic
		topic := a.replicas.topic(t.Topic)
		for _, p := range t.Partitions {
			rp := kmsg.NewOffsetForLeaderEpochResponseTopicPartition()
			rp.Partition, rp.LeaderEpoch, rp.EndOffset = p.Partition, model.NoEpoch, -1
			replica := topic.at(p.Partition)
			if replica == nil {
				rp.ErrorCode = missingCode(topic, p.Partition, false)
			} else if err := replica.CheckLeader(p.CurrentLeaderEpoch); err != nil {
				rp.ErrorCode = partitionCode(err)
			} else {
				rp.LeaderEpoch, rp.EndOffset = replica.Log().EpochEnd(p.LeaderEpoch)
			}
			rt.Partitions = append(rt.Partitions, rp)
		}
		resp.Topics = append(resp.Topics, rt)
	}
	return resp
}
