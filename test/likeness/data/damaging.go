package data

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"

	"ringmain/test/peer"
)

// damaging sends batches whose records are damaged in any place, with checksums that are
// right, each to a partition of its own. Where Kafka stores what no client can read, and we
// refuse it, that is a deviation of docs/deviations.md.
func damaging(s *script) {
	const n = 40
	s.topic("a", n)
	for p := range int32(n) {
		b := s.batch(false)
		if s.one(3) {
			b.Codec = int8(1 + s.n(4))
		}
		what := fmt.Sprintf("%d records codec %d", len(b.Records), b.Codec)
		payload := peer.EncodeRecords(b.Records)
		inside := b.Codec != 0 && s.one(2) // damage what is compressed, or its compressed form
		if b.Codec != 0 && !inside {
			payload = peer.Compress(b.Codec, payload)
		}
		for range 1 + s.n(2) {
			at := s.n(len(payload))
			switch s.n(6) {
			case 0:
				payload = append(payload[:at:at], payload[min(len(payload), at+1+s.n(4)):]...)
				what += fmt.Sprint(" cut at ", at)
			case 1:
				payload = append(payload[:at:at], append([]byte{byte(s.n(256))}, payload[at:]...)...)
				what += fmt.Sprint(" more at ", at)
			case 2:
				payload = payload[:at:at]
				what += fmt.Sprint(" ends at ", at)
			case 3:
				payload[at] = byte(s.n(256))
				what += fmt.Sprint(" other at ", at)
			default:
				payload[at] ^= 1 << s.n(8)
				what += fmt.Sprint(" flip at ", at)
			}
			if len(payload) == 0 {
				break
			}
		}
		if inside {
			payload = peer.Compress(b.Codec, payload)
		}
		b.Payload = append([]byte{}, payload...)
		raw := b.Encode()
		s.blind = true
		out := s.ask(int16(7+s.n(7)), fmt.Sprintf("Produce a-%d %s", p, what), s.produce(-1, part{"a", p, raw}))
		s.blind = false
		codes := [2]int16{}
		for i := range out {
			codes[i] = out[i].(*kmsg.ProduceResponse).Topics[0].Partitions[0].ErrorCode
		}
		switch {
		case codes == [2]int16{}:
			s.stored("a", p)
		case codes[0] == 0:
			if batches, _ := peer.Parse(raw); len(batches) == 1 && batches[0].Err == nil {
				s.differ("a-%d %s: readable, stored by Kafka, refused with %d", p, what, codes[1])
			}
		case codes[1] == 0:
			s.differ("a-%d %s: refused by Kafka with %d, stored by us", p, what, codes[0])
		case codes[0] != codes[1] && codes[0] != -1:
			s.differ("a-%d %s: Kafka %d, ours %d", p, what, codes[0], codes[1])
		}
	}
}
