package broker

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"ringmain/metadata"
)

// ListPartitionReassignments, version 0: the partitions that are being moved
// (KIP-455), of the named topics or, with null, of all. Partitions that do not
// exist, or stay where they are, are left out.
var listPartitionReassignmentsAPI = api{key: 46, min: 0, max: 0, serve: listPartitionReassignments}

func listPartitionReassignments(a *admin, _ context.Context, _ *call, r kmsg.Request) kmsg.Response {
	req := r.(*kmsg.ListPartitionReassignmentsRequest)
	resp := req.ResponseKind().(*kmsg.ListPartitionReassignmentsResponse)
	img := a.meta.Image()
	add := func(name string, moving []kmsg.ListPartitionReassignmentsResponseTopicPartition) {
		if len(moving) == 0 {
			return
		}
		t := kmsg.NewListPartitionReassignmentsResponseTopic()
		t.Topic, t.Partitions = name, moving
		resp.Topics = append(resp.Topics, t)
	}
	if req.Topics == nil {
		for _, name := range img.TopicNames() {
			t := img.Topic(name)
			var moving []kmsg.ListPartitionReassignmentsResponseTopicPartition
			for i := range t.Partitions {
				moving = appendMoving(moving, t, int32(i))
			}
			add(name, moving)
		}
		return resp
	}
	for i := range req.Topics {
		ask := &req.Topics[i]
		t := img.Topic(ask.Topic)
		if t == nil {
			continue
		}
		var moving []kmsg.ListPartitionReassignmentsResponseTopicPartition
		for _, index := range ask.Partitions {
			moving = appendMoving(moving, t, index)
		}
		add(ask.Topic, moving)
	}
	return resp
}

func appendMoving(dst []kmsg.ListPartitionReassignmentsResponseTopicPartition, t *metadata.Topic, index int32) []kmsg.ListPartitionReassignmentsResponseTopicPartition {
	p := t.Partition(index)
	if p == nil || len(p.Adding) == 0 && len(p.Removing) == 0 {
		return dst
	}
	out := kmsg.NewListPartitionReassignmentsResponseTopicPartition()
	out.Partition, out.Replicas, out.AddingReplicas, out.RemovingReplicas = index, p.Replicas, p.Adding, p.Removing
	return append(dst, out)
}
