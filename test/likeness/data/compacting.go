package data

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"

	"ringmain/test/peer"
)

// compacting reads a log that both brokers have cleaned, at every offset and time.
func compacting(s *script) {
	s.topic("a", 1, "cleanup.policy", "compact", "min.cleanable.dirty.ratio", "0", "min.compaction.lag.ms", "0", "segment.ms", "1000")
	end, sequence := int64(0), int32(0)
	for i := range 12 {
		b := peer.NewBatch(s.base+int64(i)*5000, s.records(pick(s, 1, 3, 6), true)...) // each in a segment of its own
		b.Codec = int8(s.n(5))
		if s.one(3) {
			b.ProducerID, b.ProducerEpoch, b.Sequence = 5_000_001, 0, sequence
			sequence += int32(len(b.Records))
		}
		s.ask(11, fmt.Sprintf("Produce %d records codec %d", len(b.Records), b.Codec), s.produce(-1, part{"a", 0, b.Encode()}))
		end += int64(len(b.Records))
	}
	b := peer.NewBatch(s.base+hour, peer.Record{Key: []byte("last"), Value: []byte("v")})
	s.ask(11, "Produce the active segment", s.produce(-1, part{"a", 0, b.Encode()}))
	s.cleaned(end)
	s.packed, s.cleansed = true, true
	for offset := range end + 2 {
		s.ask(int16(4+s.n(15)), fmt.Sprintf("Fetch at %d", offset), s.fetch(whole(), from("a", 0, offset)))
		x := from("a", 0, offset)
		x.max = pick[int32](s, 1, 100, 300)
		s.loose = true
		s.ask(int16(4+s.n(15)), fmt.Sprintf("Fetch %d bytes at %d", x.max, offset), s.fetch(whole(), x))
		s.loose = false
	}
	for i := range 14 {
		s.times(11, "a", 0, s.base+int64(i)*5000+int64(s.n(60)))
	}
	for ts := int64(-1); ts >= -6; ts-- {
		s.times(11, "a", 0, ts)
	}
	s.ask(0, "DescribeProducers", s.producers("a", 0))
	again := b
	again.ProducerID, again.ProducerEpoch, again.Sequence = 5_000_001, 0, sequence
	s.ask(11, "Produce the next of the producer", s.produce(-1, part{"a", 0, again.Encode()}))
}

// cleaned waits until both sides have all below end in one segment (a fetch reads one),
// and each key once.
func (s *script) cleaned(end int64) {
	s.both(func(d *side) {
		s.until(d, "the cleaner", func() bool {
			resp := s.calm(d, 12, s.fetch(whole(), from("a", 0, 0))(d)).(*kmsg.FetchResponse)
			batches, _ := peer.Parse(resp.Topics[0].Partitions[0].RecordBatches)
			keys, twice := map[string]bool{}, false
			for _, b := range batches {
				for _, r := range b.Records {
					twice = twice || keys[string(r.Key)]
					keys[string(r.Key)] = true
				}
			}
			n := len(batches)
			return n > 0 && batches[n-1].BaseOffset+int64(batches[n-1].LastOffsetDelta)+1 >= end && !twice
		})
	})
}
