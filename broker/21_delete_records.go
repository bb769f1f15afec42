package broker

import (
	"context"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"ringmain/model"
	"ringmain/partition"
)

// DeleteRecords, versions 0 to 2 (v2 flexible).
//
//   - offset -1 is the high watermark; beyond it, or another negative one:
//     OFFSET_OUT_OF_RANGE
//   - an internal topic: INVALID_TOPIC_EXCEPTION; its coordinator would not know
//   - a topic without "delete" in cleanup.policy: POLICY_VIOLATION
//   - the new log start offset is on disk before the answer
//   - a partition named twice is answered once, for the offset that came last; a
//     topic without partitions is left out
var deleteRecordsAPI = api{key: keyDeleteRecords, min: 0, max: 2, serve: deleteRecords}

func deleteRecords(a *admin, _ context.Context, _ *call, r kmsg.Request) kmsg.Response {
	req := r.(*kmsg.DeleteRecordsRequest)
	resp := kmsg.NewPtrDeleteRecordsResponse()
	offsets := map[model.TopicPartition]int64{} // of what is not answered yet
	for i := range req.Topics {
		for _, p := range req.Topics[i].Partitions {
			offsets[model.TopicPartition{Topic: req.Topics[i].Topic, Partition: p.Partition}] = p.Offset
		}
	}
	for i := range req.Topics {
		rt := kmsg.NewDeleteRecordsResponseTopic()
		rt.Topic = req.Topics[i].Topic
		for _, p := range req.Topics[i].Partitions {
			tp := model.TopicPartition{Topic: rt.Topic, Partition: p.Partition}
			if offset, open := offsets[tp]; open {
				delete(offsets, tp)
				rt.Partitions = append(rt.Partitions, a.deleteRecordsOf(tp, offset))
			}
		}
		if len(rt.Partitions) > 0 {
			resp.Topics = append(resp.Topics, rt)
		}
	}
	return resp
}

// deleteRecordsOf deletes the records of one partition that lie below an offset.
func (a *admin) deleteRecordsOf(tp model.TopicPartition, offset int64) kmsg.DeleteRecordsResponseTopicPartition {
	out := kmsg.NewDeleteRecordsResponseTopicPartition()
	out.Partition, out.LowWatermark = tp.Partition, -1
	topic := a.replicas.topic(tp.Topic)
	replica := topic.at(tp.Partition)
	switch {
	case isInternalTopic(tp.Topic):
		out.ErrorCode = kerr.InvalidTopicException.Code
	case replica == nil:
		out.ErrorCode = missingCode(topic, tp.Partition, false)
	case compactedOnly(replica.Settings()):
		out.ErrorCode = kerr.PolicyViolation.Code
	default:
		low, err := replica.DeleteRecords(offset)
		if out.ErrorCode = partitionCode(err); err == nil {
			out.LowWatermark = low
		}
	}
	return out
}

// compactedOnly tells whether a topic's records go by compaction alone. An empty
// cleanup.policy keeps everything and lets records be deleted.
func compactedOnly(s *partition.Settings) bool { return s.Rules.Compacted && !s.Log.DeletePolicy }
