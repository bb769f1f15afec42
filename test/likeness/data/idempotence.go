package data

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"

	"ringmain/test/peer"
)

// flow is what a script thinks of one producer on one partition.
type flow struct {
	epoch int16
	next  int32
	sent  []peer.Batch
}

// idempotence sends random sequences of two producers.
func idempotence(s *script) {
	var cfg []string
	if s.one(3) {
		cfg = append(cfg, "message.timestamp.type", "LogAppendTime")
	}
	if s.one(5) {
		cfg = append(cfg, "compression.type", "lz4")
		s.packed = true
	}
	s.topic("a", 2, cfg...)
	flows := map[string]*flow{}
	ids := []int64{7_000_000 + int64(s.n(100)), 8_000_000}
	for range 40 {
		p, id := int32(s.n(2)), pick(s, ids...)
		k := fmt.Sprint(p, id)
		f := flows[k]
		if f == nil {
			f = &flow{next: pick[int32](s, 0, 0, 0, 5, 1<<31-4)}
			flows[k] = f
		}
		version := int16(3 + s.n(11))
		b := s.batch(false)
		b.ProducerID, b.ProducerEpoch, b.Sequence = id, f.epoch, f.next
		kind := "next"
		switch s.n(14) {
		case 0, 1, 2:
			if len(f.sent) > 0 {
				n := 1 + s.n(min(len(f.sent), 7))
				b, kind = f.sent[len(f.sent)-n], fmt.Sprintf("%d back", n)
				if s.one(5) { // the same sequences, other records
					b.Records, b.Codec = append([]peer.Record(nil), b.Records...), 0
					b.Records[0].Value = []byte("other")
					kind += " with other bytes"
				}
			}
		case 3:
			b.Sequence, kind = (f.next+pick[int32](s, 1, 2, -1, -2, 1000))&0x7fffffff, "gap"
		case 4:
			b.ProducerEpoch, b.Sequence, kind = f.epoch+int16(1+s.n(2)), pick[int32](s, 0, 0, 1, f.next), "bump"
		case 5:
			if f.epoch > 0 || !s.packed {
				b.ProducerEpoch, kind = f.epoch-1, "old epoch"
			}
		case 6:
			if len(f.sent) > 0 {
				last := f.sent[len(f.sent)-1]
				b.Sequence, kind = last.Sequence, "overlap"
			}
		case 7:
			if s.one(3) {
				b.Sequence, kind = pick[int32](s, -1, -2, -1<<31), "negative"
			} else if s.one(3) && !s.packed { // Kafka cannot encode a negative epoch anew
				b.ProducerEpoch, kind = pick[int16](s, -1, -2, 32767), "epoch at the edge"
			}
		case 8:
			s.ask(int16(s.n(3)), fmt.Sprintf("DeleteRecords %d", p), s.deletion(where{topic: "a", index: p, offset: pick[int64](s, -1, 1, 3, 1000, int64(s.n(30)))}))
			continue
		case 9:
			s.ask(0, "DescribeProducers", s.producers("a", 0, 1))
			continue
		case 10:
			s.stored("a", p)
			continue
		case 11:
			if s.one(3) {
				s.init()
			}
			continue
		}
		what := fmt.Sprintf("Produce a-%d producer %d epoch %d seq %d n %d codec %d: %s", p, id, b.ProducerEpoch, b.Sequence, len(b.Records), b.Codec, kind)
		out := s.ask(version, what, s.produce(pick[int16](s, -1, 1), part{"a", p, b.Encode()}))
		if s.failed {
			return
		}
		if r, ok := out[0].(*kmsg.ProduceResponse); ok && r.Topics[0].Partitions[0].ErrorCode == 0 && kind[0] != 'o' && (kind[0] < '0' || kind[0] > '9') {
			f.epoch, f.next = b.ProducerEpoch, int32((int64(b.Sequence)+int64(len(b.Records)))&0x7fffffff)
			f.sent = append(f.sent, b)
		}
	}
	for p := range int32(2) {
		s.stored("a", p)
	}
	s.ask(0, "DescribeProducers", s.producers("a", 0, 1))
}

// init compares an InitProducerId.
func (s *script) init() {
	version := int16(s.n(6))
	timeout, id, epoch := pick[int32](s, 60000, 0, -1, 1<<31-1), int64(-1), int16(-1)
	if s.one(2) {
		id, epoch = pick[int64](s, -1, 5, 0, -2, 8_000_000), pick[int16](s, -1, 0, 5, -2, 32767)
	}
	var tx *string
	if s.one(5) {
		tx = new(string)
	}
	s.ask(version, fmt.Sprintf("InitProducerId timeout %d id %d epoch %d tx %v", timeout, id, epoch, tx != nil), func(*side) kmsg.Request {
		req := kmsg.NewPtrInitProducerIDRequest()
		req.TransactionTimeoutMillis, req.ProducerID, req.ProducerEpoch, req.TransactionalID = timeout, id, epoch, tx
		return req
	})
}
