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
//   - of a partition that is named twice the last word counts, and a topic of no
//     partitions is not answered: as in Kafka
var deleteRecordsAPI = api{key: keyDeleteRecords, min: 0, max: 2, serve: deleteRecords}

func deleteRecords(a *admin, _ context.Context, _ *call, r kmsg.Request) kmsg.Response {
	req := r.(*kmsg.DeleteRecordsRequest)
	resp := kmsg.NewPtrDeleteRecordsResponse()
	times := map[model.TopicPartition]int{}
	for i := range req.Topics {
		for _, p := range req.Topics[i].Partitions {
			times[model.TopicPartition{Topic: req.Topics[i].Topic, Partition: p.Partition}]++
		}
	}
	for i := range req.Topics {
		t := &req.Topics[i]
		rt := kmsg.NewDeleteRecordsResponseTopic()
		rt.Topic = t.Topic
		topic := a.replicas.topic(t.Topic)
		for _, p := range t.Partitions {
			key := model.TopicPartition{Topic: t.Topic, Partition: p.Partition}
			if times[key]--; times[key] > 0 {
				continue
			}
			rp := kmsg.NewDeleteRecordsResponseTopicPartition()
			rp.Partition, rp.LowWatermark = p.Partition, -1
			replica := topic.at(p.Partition)
			switch {
			case isInternalTopic(t.Topic):
				rp.ErrorCode = kerr.InvalidTopicException.Code
			case replica == nil:
				rp.ErrorCode = missingCode(topic, p.Partition, false)
			case compactedOnly(replica.Settings()):
				rp.ErrorCode = kerr.PolicyViolation.Code
			default:
				low, err := replica.DeleteRecords(p.Offset)
				if rp.ErrorCode = partitionCode(err); err == nil {
					rp.LowWatermark = low
				}
			}
			rt.Partitions = append(rt.Partitions, rp)
		}
		if len(rt.Partitions) > 0 {
			resp.Topics = append(resp.Topics, rt)
		}
	}
	return resp
}

// compactedOnly tells whether a topic's records go by compaction alone. An empty
// cleanup.policy keeps everything and lets records be deleted.
func compactedOnly(s *partition.Settings) bool { return s.Rules.Compacted && !s.Log.DeletePolicy }
