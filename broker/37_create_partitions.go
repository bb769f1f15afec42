package broker

import (
	"context"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"ringmain/metadata"
)

// CreatePartitions, versions 0 to 3.
//
//   - v2 flexible, v3 may be refused by the quota on changes of the metadata
//
// The count is the one that the topic shall have afterwards; topics only grow.
// New partitions may be assigned by hand. Internal topics do not grow: a group would be
// looked for in another partition than the one that has its offsets.
var createPartitionsAPI = api{key: 37, min: 0, max: 3, serve: createPartitions}

func createPartitions(a *admin, ctx context.Context, _ *call, r kmsg.Request) kmsg.Response {
	req := r.(*kmsg.CreatePartitionsRequest)
	resp := req.ResponseKind().(*kmsg.CreatePartitionsResponse)
	named := make(map[string]int, len(req.Topics))
	for i := range req.Topics {
		named[req.Topics[i].Topic]++
	}
	var growths []*growth
	open := false // a topic is asked for as it should be
	for i := range req.Topics {
		t := &req.Topics[i]
		n := named[t.Topic]
		if n == 0 {
			continue // answered already
		}
		g := &growth{ask: t}
		if n > 1 {
			g.bad = refuse(kerr.InvalidRequest, "topic %q is named more than once in the request", t.Topic)
			named[t.Topic] = 0
		}
		open = open || g.bad == nil
		growths = append(growths, g)
	}
	var whole *refusal
	switch {
	case req.TimeoutMillis <= 0 && open:
		whole = bare(kerr.RequestTimedOut)
	case open:
		whole = a.createPartitions(ctx, req, growths)
	}
	if whole != nil { // each entry as it stands, whatever else is wrong with it
		resp.Topics = make([]kmsg.CreatePartitionsResponseTopic, 0, len(req.Topics))
		for i := range req.Topics {
			out := kmsg.NewCreatePartitionsResponseTopic()
			out.Topic = req.Topics[i].Topic
			out.ErrorCode, out.ErrorMessage = whole.told(i)
			resp.Topics = append(resp.Topics, out)
		}
		return resp
	}
	for _, g := range growths {
		out := kmsg.NewCreatePartitionsResponseTopic()
		out.Topic = g.ask.Topic
		why := g.bad
		if why == nil {
			why = g.late
		}
		out.ErrorCode, out.ErrorMessage = why.wire()
		resp.Topics = append(resp.Topics, out)
	}
	return resp
}

// growth is one topic that shall get more partitions.
type growth struct {
	ask  *kmsg.CreatePartitionsRequestTopic
	bad  *refusal // what is wrong with the request itself
	late *refusal // what the metadata says against it
}

func (a *admin) createPartitions(ctx context.Context, req *kmsg.CreatePartitionsRequest, growths []*growth) (whole *refusal) {
	plan := func(img *metadata.Image) ([]metadata.Record, error) {
		total := int64(0)
		for _, g := range growths {
			if t := img.Topic(g.ask.Topic); t != nil && g.bad == nil {
				total += max(0, int64(g.ask.Count)-int64(len(t.Partitions)))
			}
		}
		if why := a.partitionLimit(total); why != nil {
			return nil, why
		}
		var records []metadata.Record
		for _, g := range growths {
			if g.bad != nil {
				continue
			}
			var added []metadata.Record
			added, g.late = planGrowth(img, g.ask)
			records = append(records, added...)
		}
		return records, nil
	}
	if req.ValidateOnly {
		_, err := plan(a.meta.Image())
		return adminRefusal(err)
	}
	return adminRefusal(a.change(ctx, req.TimeoutMillis, plan))
}

// planGrowth checks one topic's growth and gives its new partitions.
func planGrowth(img *metadata.Image, ask *kmsg.CreatePartitionsRequestTopic) ([]metadata.Record, *refusal) {
	t := img.Topic(ask.Topic)
	if t == nil {
		return nil, bare(kerr.UnknownTopicOrPartition)
	}
	if isInternalTopic(ask.Topic) {
		return nil, refuse(kerr.InvalidTopicException, "topic %q is internal and keeps its partitions: which one has a group depends on their number", ask.Topic)
	}
	had := len(t.Partitions)
	if int64(ask.Count) <= int64(had) {
		return nil, refuse(kerr.InvalidPartitions, "topic %q has %d partition(s), and %d would be no more", ask.Topic, had, ask.Count)
	}
	count := int(ask.Count) - had
	factor := len(t.Partitions[0].Replicas)
	var partitions []metadata.Partition
	if ask.Assignment == nil { // an empty assignment is one, and too short
		var bad *refusal
		if partitions, bad = placeReplicas(img, count, factor); bad != nil {
			return nil, bad
		}
	} else {
		if len(ask.Assignment) != count {
			return nil, refuse(kerr.InvalidReplicaAssignment, "topic %q shall get %d more partition(s), but %d are assigned", ask.Topic, count, len(ask.Assignment))
		}
		for i, m := range ask.Assignment {
			if bad := checkReplicas(img, m.Replicas, &factor); bad != nil {
				return nil, bad
			}
			p, bad := assigned(img, int32(had+i), m.Replicas)
			if bad != nil {
				return nil, bad
			}
			partitions = append(partitions, p)
		}
	}
	records := make([]metadata.Record, len(partitions))
	for i, p := range partitions {
		records[i] = metadata.PartitionRecord{TopicID: t.ID, Index: int32(had + i), Partition: p}
	}
	return records, nil
}
