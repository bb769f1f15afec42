package broker

import (
	"context"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"ringmain/metadata"
	"ringmain/model"
)

// ElectLeaders, versions 0 to 2.
//
//   - v1 the type of the election (KIP-460): 0 preferred, 1 unclean
//   - v2 flexible
//
// With one broker nothing is ever elected: every partition is led by its
// preferred replica as long as the broker is there, so the answers are that no
// election is needed, or that there is nobody to elect. For null topics Kafka
// lists every topic, with the partitions that an election was held for.
var electLeadersAPI = api{key: 43, min: 0, max: 2, serve: electLeaders}

func electLeaders(a *admin, _ context.Context, _ *call, r kmsg.Request) kmsg.Response {
	req := r.(*kmsg.ElectLeadersRequest)
	resp := req.ResponseKind().(*kmsg.ElectLeadersResponse)
	if req.Topics != nil && len(req.Topics) == 0 {
		return resp // Kafka looks at nothing else then
	}
	img := a.meta.Image()
	whole := electionsRefusal(req)
	if whole != nil {
		resp.ErrorCode = whole.code
	}
	if whole == nil && req.Topics == nil {
		for _, name := range img.TopicNames() {
			t := kmsg.NewElectLeadersResponseTopic()
			t.Topic = name
			resp.Topics = append(resp.Topics, t)
		}
		return resp
	}
	for i := range req.Topics {
		ask := &req.Topics[i]
		t := kmsg.NewElectLeadersResponseTopic()
		t.Topic = ask.Topic
		for _, index := range ask.Partitions {
			why := whole
			if why == nil {
				why = electionRefusal(img, ask.Topic, index, req.ElectionType == 1)
			}
			p := kmsg.NewElectLeadersResponseTopicPartition()
			p.Partition = index
			p.ErrorCode, p.ErrorMessage = why.wire()
			t.Partitions = append(t.Partitions, p)
		}
		resp.Topics = append(resp.Topics, t)
	}
	return resp
}

// electionsRefusal says why no election of a request is even thought of.
func electionsRefusal(req *kmsg.ElectLeadersRequest) *refusal {
	switch {
	case req.TimeoutMillis <= 0:
		return bare(kerr.RequestTimedOut)
	case req.ElectionType != 0 && req.ElectionType != 1:
		return refuse(kerr.InvalidRequest, "there is no election type %d: 0 is preferred, 1 is unclean", req.ElectionType)
	}
	return nil
}

var electionNotNeeded = refuse(kerr.ElectionNotNeeded, "the partition has the leader that an election could give it")

func electionRefusal(img *metadata.Image, topic string, index int32, unclean bool) *refusal {
	t := img.Topic(topic)
	if t == nil {
		return refuse(kerr.UnknownTopicOrPartition, "there is no topic %q", topic)
	}
	p := t.Partition(index)
	switch {
	case p == nil:
		return refuse(kerr.UnknownTopicOrPartition, "topic %q has %d partition(s) and no partition %d", topic, len(t.Partitions), index)
	case unclean && p.Leader != model.NoBroker, !unclean && p.Leader == p.Replicas[0]:
		return electionNotNeeded
	case unclean:
		return refuse(kerr.EligibleLeadersNotAvailable, "none of the replicas %v of partition %d of topic %q is serving", p.Replicas, index, topic)
	}
	return refuse(kerr.PreferredLeaderNotAvailable, "broker %d, the preferred leader of partition %d of topic %q, is not serving", p.Replicas[0], index, topic)
}
