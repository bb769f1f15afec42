package broker

import (
	"context"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"ringmain/model"
	"ringmain/partition"
	"ringmain/segment"
)

// ListOffsets, versions 1 to 11.
//
//   - v2 isolation level, v4 leader epochs, v7 -3 (largest timestamp), v8 -4
//     (earliest local), v9 -5 (latest tiered), v10 timeout, v11 -6 (earliest
//     pending upload)
//   - a time is looked up record by record, inside compressed batches too
//   - a special timestamp below its version is UNSUPPORTED_VERSION on that
//     partition; nothing found is success with offset -1
//   - a partition named twice is INVALID_REQUEST, once
var listOffsetsAPI = api{key: keyListOffsets, min: 1, max: 11, serve: listOffsets}

// Special timestamps of ListOffsets.
const (
	timestampLatest          = -1
	timestampEarliest        = -2
	timestampMax             = -3
	timestampEarliestLocal   = -4
	timestampLatestTiered    = -5
	timestampEarliestPending = -6
)

// specialSince gives the version that brought a special timestamp, by its
// negation.
var specialSince = [...]int16{1: 1, 2: 1, 3: 7, 4: 8, 5: 9, 6: 11}

// unknownTimestamp tells whether a timestamp is a special one that this version
// does not have.
func unknownTimestamp(ts int64, version int16) bool {
	return ts < 0 && (ts <= -int64(len(specialSince)) || version < specialSince[-ts])
}

func listOffsets(a *admin, _ context.Context, c *call, r kmsg.Request) kmsg.Response {
	req := r.(*kmsg.ListOffsetsRequest)
	resp := kmsg.NewPtrListOffsetsResponse()
	resp.Topics = make([]kmsg.ListOffsetsResponseTopic, 0, len(req.Topics))
	times := map[model.TopicPartition]int{}
	for i := range req.Topics {
		for j := range req.Topics[i].Partitions {
			times[model.TopicPartition{Topic: req.Topics[i].Topic, Partition: req.Topics[i].Partitions[j].Partition}]++
		}
	}
	for i := range req.Topics {
		t := &req.Topics[i]
		rt := kmsg.NewListOffsetsResponseTopic()
		rt.Topic = t.Topic
		rt.Partitions = make([]kmsg.ListOffsetsResponseTopicPartition, 0, len(t.Partitions))
		topic := a.replicas.topic(t.Topic)
		for j := range t.Partitions {
			p := &t.Partitions[j]
			rp := kmsg.NewListOffsetsResponseTopicPartition()
			key := model.TopicPartition{Topic: t.Topic, Partition: p.Partition}
			if times[key] == 0 {
				continue // named before, and refused there
			}
			rp.Partition = p.Partition
			rp.Timestamp, rp.Offset, rp.LeaderEpoch = -1, -1, model.NoEpoch
			replica := topic.at(p.Partition)
			switch {
			case times[key] > 1:
				times[key] = 0
				rp.ErrorCode = kerr.InvalidRequest.Code
			case unknownTimestamp(p.Timestamp, c.header.Version):
				rp.ErrorCode = kerr.UnsupportedVersion.Code
			case req.IsolationLevel < 0 || req.IsolationLevel > 1:
				rp.ErrorCode = kerr.InvalidRequest.Code
			case replica == nil:
				rp.ErrorCode = missingCode(topic, p.Partition, false)
			default:
				epoch := p.CurrentLeaderEpoch
				if c.header.Version < 4 {
					epoch = model.NoEpoch
				}
				rp.ErrorCode = a.listOffset(replica, &rp, p.Timestamp, epoch, req.IsolationLevel == 1 && c.header.Version >= 2)
			}
			rt.Partitions = append(rt.Partitions, rp)
		}
		if len(rt.Partitions) > 0 { // a topic of no partitions is not answered
			resp.Topics = append(resp.Topics, rt)
		}
	}
	return resp
}

// listOffset answers for one partition. Only the leader answers.
func (a *admin) listOffset(r *partition.Replica, out *kmsg.ListOffsetsResponseTopicPartition, ts int64, epoch int32, committed bool) int16 {
	if err := r.CheckLeader(epoch); err != nil {
		return partitionCode(err)
	}
	log := r.Log()
	limit := r.HighWatermark()
	if committed {
		limit = r.LastStableOffset()
	}
	switch ts {
	case timestampLatest:
		out.Offset, out.LeaderEpoch = limit, r.Role().LeaderEpoch
		if e := log.LatestEpoch(); e != model.NoEpoch {
			out.LeaderEpoch = e
		}
		return 0
	case timestampEarliest, timestampEarliestLocal:
		out.Offset = log.StartOffset()
		out.LeaderEpoch = log.EpochAt(out.Offset)
		return 0
	case timestampLatestTiered, timestampEarliestPending:
		return 0 // no tier: nothing is there, nothing is pending
	}
	find := log.OffsetForTimestamp
	if ts == timestampMax {
		find = func(_, limit int64) (segment.Found, bool, error) { return log.MaxTimestamp(limit) }
	}
	found, ok, err := find(ts, limit)
	if err != nil {
		a.damage.report(r.TP, log.StartOffset(), err)
		return partitionCode(err)
	}
	if ok {
		out.Offset, out.Timestamp, out.LeaderEpoch = found.Offset, found.Timestamp, found.LeaderEpoch
	}
	return 0
}
