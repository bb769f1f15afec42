package broker

import (
	"context"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"ringmain/metadata"
	"ringmain/model"
)

// DescribeProducers, version 0: the idempotent producers that the leaders of
// partitions remember (KIP-664). There are no transactions here, so no
// producer has one open.
var describeProducersAPI = api{key: 61, min: 0, max: 0, serve: describeProducers}

func describeProducers(a *admin, _ context.Context, _ *call, r kmsg.Request) kmsg.Response {
	req := r.(*kmsg.DescribeProducersRequest)
	resp := req.ResponseKind().(*kmsg.DescribeProducersResponse)
	img, left := a.meta.Image(), maxDescribedProducers
	for i := range req.Topics {
		ask := &req.Topics[i]
		t := kmsg.NewDescribeProducersResponseTopic()
		t.Topic = ask.Topic
		why := checkTopicName(ask.Topic)
		if why == nil && img.Topic(ask.Topic) == nil {
			why = refuse(kerr.UnknownTopicOrPartition, "there is no topic %q", ask.Topic)
		}
		for _, index := range ask.Partitions {
			p := kmsg.NewDescribeProducersResponseTopicPartition()
			p.Partition = index
			switch {
			case why != nil:
				p.ErrorCode, p.ErrorMessage = why.wire()
			case left <= 0:
				p.ErrorCode, p.ErrorMessage = tooManyProducers.wire()
			default:
				a.partitionProducers(img, model.TopicPartition{Topic: ask.Topic, Partition: index}, &p)
				left -= len(p.ActiveProducers)
			}
			t.Partitions = append(t.Partitions, p)
		}
		resp.Topics = append(resp.Topics, t)
	}
	return resp
}

// maxDescribedProducers bounds one answer: the same partition may be asked for
// any number of times, and have any number of producers.
const maxDescribedProducers = 500_000

var tooManyProducers = refuse(kerr.InvalidRequest, "the answer would hold more than %d producers; ask for fewer partitions at a time", maxDescribedProducers)

func (a *admin) partitionProducers(img *metadata.Image, tp model.TopicPartition, out *kmsg.DescribeProducersResponseTopicPartition) {
	if img.Partition(tp) == nil {
		out.ErrorCode = kerr.UnknownTopicOrPartition.Code
		return
	}
	producers, err := a.logs.Producers(tp)
	if err != nil {
		out.ErrorCode = partitionCode(err)
		return
	}
	for _, p := range producers {
		active := kmsg.NewDescribeProducersResponseTopicPartitionActiveProducer()
		active.ProducerID, active.ProducerEpoch = p.ProducerID, p.ProducerEpoch
		active.LastSequence, active.LastTimestamp = p.LastSequence, p.LastTimestamp
		active.CoordinatorEpoch, active.CurrentTxnStartOffset = p.CoordinatorEpoch, p.CurrentTxnStartOff
		out.ActiveProducers = append(out.ActiveProducers, active)
	}
}
