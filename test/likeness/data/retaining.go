package data

import (
	"fmt"

	"ringmain/test/peer"
)

// retaining looks at what is left when retention has taken a whole log: offsets, epochs
// and what is known of producers.
func retaining(s *script) {
	s.topic("a", 2, "retention.ms", "1000", "message.timestamp.type", pick(s, "CreateTime", "LogAppendTime"))
	const id = 5_000_002
	next := map[int32]int32{}
	sent := map[int32][]peer.Batch{}
	put := func(p int32, b peer.Batch, what string) {
		s.ask(int16(3+s.n(11)), fmt.Sprintf("Produce a-%d epoch %d seq %d: %s", p, b.ProducerEpoch, b.Sequence, what), s.produce(-1, part{"a", p, b.Encode()}))
	}
	for range 6 {
		p := int32(s.n(2))
		b := s.plainBatch(1 + s.n(3))
		b.ProducerID, b.ProducerEpoch, b.Sequence = id, 1, next[p]
		put(p, b, "next")
		next[p] += int32(len(b.Records))
		sent[p] = append(sent[p], b)
	}
	s.both(func(d *side) {
		for p := range int32(2) {
			s.until(d, "retention to take all (log.initial.task.delay.ms=500?)", func() bool {
				return s.offset(d, "a", p, -2).Offset == s.offset(d, "a", p, -1).Offset
			})
		}
	})
	for range 12 {
		p := int32(s.n(2))
		switch s.n(7) {
		case 0:
			s.ask(0, "DescribeProducers", s.producers("a", p))
		case 1:
			s.times(11, "a", p, pick(s, -1, -2, -3, -4, 0, s.base))
		case 2:
			s.ask(4, "OffsetForLeaderEpoch", s.epochs(where{"a", p, 0, -1, pick[int32](s, 0, 1)}))
		case 3:
			x := from("a", p, int64(s.n(16)))
			x.fetched = pick[int32](s, -1, 0, 1)
			s.ask(int16(4+s.n(15)), fmt.Sprintf("Fetch %+v", x), s.fetch(whole(), x))
		case 4:
			if n := len(sent[p]); n > 0 {
				put(p, sent[p][s.n(n)], "again")
			}
		case 5:
			b := s.plainBatch(1)
			b.ProducerID, b.ProducerEpoch, b.Sequence = id, 1, next[p]+pick[int32](s, 1, 5)
			if next[p] > 0 {
				put(p, b, "gap")
			}
		case 6:
			s.ask(2, "DeleteRecords", s.deletion(where{topic: "a", index: p, offset: pick[int64](s, -1, 0, 1, 20)}))
		}
		if s.failed {
			return
		}
	}
}
