package broker

import (
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"ringmain/model"
	"ringmain/segment"
)

func TestDescribeProducers(t *testing.T) {
	a, meta, logs := newAdmin(t)
	addTopic(t, meta, "x", 2)
	logs.producers = map[model.TopicPartition][]segment.ProducerInfo{{Topic: "x", Partition: 1}: {
		{ProducerID: 9, ProducerEpoch: 2, LastSequence: 41, LastTimestamp: 1700000000000, CoordinatorEpoch: -1, CurrentTxnStartOff: -1}}}
	req := kmsg.NewPtrDescribeProducersRequest()
	long := strings.Repeat("x", 300)
	req.Topics = []kmsg.DescribeProducersRequestTopic{
		{Topic: "x", Partitions: []int32{0, 1, 9, 1}}, {Topic: "nope", Partitions: []int32{0}}, {Topic: "a!", Partitions: []int32{3}}, {Topic: long, Partitions: []int32{0}}, {Topic: "x"}}
	resp := serve[*kmsg.DescribeProducersResponse](t, a, 0, req)
	want := []struct {
		topic     string
		partition int32
		code      int16
		message   bool
		producers int
	}{{"x", 0, 0, false, 0}, {"x", 1, 0, false, 1}, {"x", 9, 3, false, 0}, {"x", 1, 0, false, 1}, {"nope", 0, 3, true, 0}, {"a!", 3, 17, true, 0}, {long, 0, 17, true, 0}}
	i := 0
	for _, topic := range resp.Topics {
		for _, p := range topic.Partitions {
			w := want[i]
			if topic.Topic != w.topic || p.Partition != w.partition || p.ErrorCode != w.code || (p.ErrorMessage != nil) != w.message || len(p.ActiveProducers) != w.producers {
				t.Errorf("%s: %+v, want %+v", topic.Topic, p, w)
			}
			i++
		}
	}
	if len(resp.Topics) != 5 || i != len(want) {
		t.Fatalf("%d topics, %d partitions", len(resp.Topics), i)
	}
	got := resp.Topics[0].Partitions[1].ActiveProducers[0]
	if got.ProducerID != 9 || got.ProducerEpoch != 2 || got.LastSequence != 41 || got.LastTimestamp != 1700000000000 || got.CoordinatorEpoch != -1 || got.CurrentTxnStartOffset != -1 {
		t.Errorf("%+v", got)
	}
}

func TestDescribeProducersIsBounded(t *testing.T) {
	a, meta, logs := newAdmin(t)
	addTopic(t, meta, "x", 1)
	logs.producers = map[model.TopicPartition][]segment.ProducerInfo{{Topic: "x", Partition: 0}: make([]segment.ProducerInfo, 1000)}
	req := kmsg.NewPtrDescribeProducersRequest()
	req.Topics = []kmsg.DescribeProducersRequestTopic{{Topic: "x", Partitions: make([]int32, 2000)}}
	parts := serve[*kmsg.DescribeProducersResponse](t, a, 0, req).Topics[0].Partitions
	if parts[0].ErrorCode != 0 || parts[499].ErrorCode != 0 || parts[500].ErrorCode != 42 || len(parts[500].ActiveProducers) != 0 {
		t.Errorf("codes %d, %d, %d", parts[0].ErrorCode, parts[499].ErrorCode, parts[500].ErrorCode)
	}
}
