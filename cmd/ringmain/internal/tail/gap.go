package tail

import (
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// probeBytes is enough for one batch to come back, since a broker returns the
// first batch whole.
const probeBytes = 64 << 10

// crossGaps looks at partitions that have an end and are quiet. Offsets up to
// the end may have no record: compaction takes records, and readers of
// committed records skip aborted ones. The consumer moves over them without a
// word, so the position here would never reach the end. One Fetch by hand
// tells: it returns no batch, or batches in which nothing is left to read.
func (r *run) crossGaps() error {
	for n, s := range r.plan.spans {
		if s.stop < 0 || s.done() {
			continue
		}
		next, err := r.probe(n, s)
		if err != nil {
			return err
		}
		if next > s.next {
			r.advance(n, min(next, s.stop))
		}
	}
	return nil
}

// probe returns the offset up to which the partition holds nothing to read
// from s.next on. A broker that is busy or gone is no news: s.next.
func (r *run) probe(partition int32, s span) (int64, error) {
	ctx, cancel := r.c.Request(r.ctx)
	defer cancel()
	isolation := kgo.ReadUncommitted()
	level := int8(0)
	if r.o.ReadCommitted {
		isolation, level = kgo.ReadCommitted(), 1
	}
	req := kmsg.NewPtrFetchRequest()
	req.MaxWaitMillis = 0
	req.MaxBytes = probeBytes
	req.IsolationLevel = level
	req.SessionEpoch = -1 // no fetch session for one request
	t := kmsg.NewFetchRequestTopic()
	t.Topic, t.TopicID = r.o.Topic, r.plan.topicID
	p := kmsg.NewFetchRequestTopicPartition()
	p.Partition, p.FetchOffset, p.PartitionMaxBytes = partition, s.next, probeBytes
	t.Partitions = append(t.Partitions, p)
	req.Topics = append(req.Topics, t)
	answer, err := r.c.Broker(int(s.leader)).RetriableRequest(ctx, req)
	if err != nil {
		return s.next, r.ctx.Err()
	}
	resp, ok := answer.(*kmsg.FetchResponse)
	if !ok || len(resp.Topics) != 1 || len(resp.Topics[0].Partitions) != 1 {
		return s.next, nil
	}
	rp := &resp.Topics[0].Partitions[0]
	switch {
	case rp.ErrorCode != 0:
		return s.next, nil // the consumer meets the same error and deals with it
	case len(rp.RecordBatches) == 0:
		return s.stop, nil
	}
	fetched, next := kgo.ProcessFetchPartition(kgo.ProcessFetchPartitionOpts{
		KeepControlRecords: true,
		Offset:             s.next,
		IsolationLevel:     isolation,
		Topic:              r.o.Topic,
		Partition:          partition,
	}, rp, kgo.DefaultDecompressor(), nil)
	if fetched.Err != nil || len(fetched.Records) > 0 {
		return s.next, nil // there is something to read: the consumer is on its way
	}
	return next, nil
}
