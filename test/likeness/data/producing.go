package data

import (
	"fmt"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"ringmain/test/peer"
)

const hour = 3_600_000

// damages are changes to a good batch that both brokers must judge alike. Those that
// Kafka stores though nobody can read them are in docs/deviations.md and not here.
func (s *script) damage(b *peer.Batch) string {
	put := func(name string, at, size int, value int64) string {
		b.Edit = append(b.Edit, peer.Put(at, size, value))
		return fmt.Sprintf("%s=%d", name, value)
	}
	n := int64(len(b.Records))
	switch s.n(17) {
	case 0:
		return put("baseOffset", 0, 8, pick[int64](s, 1, -1, 5, 1<<40))
	case 1:
		return put("length", 8, 4, pick[int64](s, 0, -1, 13, 14, 48, 49, 50, 1000000))
	case 2:
		return put("leaderEpoch", 12, 4, pick[int64](s, 0, 7, -2, 1<<30))
	case 3:
		return put("magic", 16, 1, pick[int64](s, 0, 1, 3, -1, 127))
	case 4:
		return put("lastDelta", 23, 4, pick[int64](s, n, n-2, -1, 1<<31-1, 0))
	case 5:
		return put("count", 57, 4, pick[int64](s, 0, n-1, n+1, -1, 1<<31-1))
	case 6:
		return put("maxTimestamp", 35, 8, pick(s, s.base, -1, s.base+77, s.base-9*hour, 0, 1<<62))
	case 7:
		if s.packed { // Kafka encodes the records of a LogAppendTime batch with its one time
			return put("attributes", 21, 2, pick[int64](s, 0x20, 0x40, 0x80, 0x7f80)|int64(b.Codec))
		}
		return put("attributes", 21, 2, pick[int64](s, 0x20, 0x40, 0x80, 0x7f80, 8, 8|0x40)|int64(b.Codec))
	case 8:
		b.Lie = append(b.Lie, peer.Put(17, 4, int64(s.n(1<<30))))
		return "crc"
	case 9:
		at := 17 + s.n(30)
		b.Lie = append(b.Lie, func(b []byte) []byte { b[at] ^= 1 << s.n(8); return b })
		return fmt.Sprint("flip after crc at ", at)
	case 10:
		cut := 1 + s.n(70)
		b.Lie = append(b.Lie, func(b []byte) []byte { return b[:max(0, len(b)-cut)] })
		return fmt.Sprint("cut ", cut)
	case 11:
		extra := 1 + s.n(80)
		b.Lie = append(b.Lie, func(b []byte) []byte { return append(b, make([]byte, extra)...) })
		return fmt.Sprint("zeros behind ", extra)
	case 12:
		b.Lie = append(b.Lie, func(b []byte) []byte { return append(b, b...) })
		return "twice"
	case 13:
		return put("sequence", 53, 4, pick[int64](s, 5, -2, 0))
	case 14:
		return put("producerEpoch", 51, 2, pick[int64](s, 5, -2, 0))
	case 15:
		if s.packed {
			return "as it is" // Kafka cannot encode a negative producer id anew
		}
		return put("producer", 43, 8, pick[int64](s, 5, -2, 0))
	default:
		b.Records = nil
		return "no records"
	}
}

// timed sets the batch's time to something that may be refused.
func (s *script) timed(b *peer.Batch) string {
	by := pick[int64](s, 0, 0, 0, 4*hour, 2*hour+1800_000, -3*hour, -1000*hour, 1000*hour)
	b.Base = s.base + by
	switch s.n(12) {
	case 0:
		b.Base = -1
	case 1:
		b.Base = -5
	case 2:
		b.Base = 0
	case 3:
		b.Records[s.n(len(b.Records))].Delta = pick[int64](s, 9*hour, -3*hour, -s.base, -s.base-1, -s.base-2)
	}
	for i := range b.Records {
		// Named in docs/deviations.md: Kafka cannot encode such times anew.
		if t := b.Base + b.Records[i].Delta; s.packed && t < -1 {
			b.Base, b.Records[i].Delta = s.base, 0
		}
	}
	return fmt.Sprintf("time %d", b.Base-s.base)
}

// producing sends random batches to topics of random settings.
func producing(s *script) {
	topics := []string{"a", "b", "c"}
	compacted, stamped := map[string]bool{}, map[string]bool{}
	for _, t := range topics {
		var cfg []string
		if s.one(3) {
			cfg = append(cfg, "message.timestamp.type", "LogAppendTime")
			stamped[t] = true
		}
		if s.one(3) {
			cfg = append(cfg, "message.timestamp.before.max.ms", pick(s, "10000000", "0", "9223372036854775807", "3600000"))
		}
		if s.one(3) {
			cfg = append(cfg, "message.timestamp.after.max.ms", pick(s, "1000", "0", "9223372036854775807", "36000000"))
		}
		if s.one(3) {
			cfg = append(cfg, "cleanup.policy", pick(s, "compact", "compact,delete", "delete", ""))
			compacted[t] = strings.Contains(cfg[len(cfg)-1], "compact")
		}
		if s.one(3) {
			cfg = append(cfg, "compression.type", pick(s, "gzip", "snappy", "lz4", "zstd", "uncompressed", "producer"))
			s.packed = true
		}
		if s.one(3) {
			cfg = append(cfg, "max.message.bytes", pick(s, "300", "1000", "100", "70", "0"))
			if s.packed { // how small a batch becomes is the compressor's
				cfg = cfg[:len(cfg)-2]
			}
		}
		s.topic(t, 2, cfg...)
	}
	next := map[string]int32{}
	for range 25 {
		version := int16(3 + s.n(11))
		var parts []part
		var what []string
		used := map[string]bool{}
		for range pick(s, 1, 1, 2, 4) {
			topic, index := pick(s, topics...), int32(s.n(2))
			if s.one(15) {
				topic = pick(s, "none", "")
			} else if s.one(20) {
				index = pick[int32](s, 2, -1)
			}
			k := fmt.Sprint(topic, index)
			if used[k] {
				continue
			}
			used[k] = true
			b := s.batch(compacted[topic] && !s.one(4))
			w := fmt.Sprintf("%s-%d %d records codec %d", topic, index, len(b.Records), b.Codec)
			if s.one(3) {
				w += " " + s.timed(&b)
			}
			if s.one(4) && b.ProducerID < 0 {
				b.ProducerID, b.ProducerEpoch, b.Sequence = 5_000_000, 0, next[k]
				next[k] += int32(len(b.Records))
				w += fmt.Sprintf(" seq %d", b.Sequence)
			}
			if s.one(3) {
				w += " " + s.damage(&b)
			}
			raw := b.Encode()
			if s.one(60) {
				raw = []byte{}
				w += " empty"
			}
			parts = append(parts, part{topic, index, raw})
			what = append(what, w)
		}
		slices.SortStableFunc(parts, func(a, b part) int { return strings.Compare(a.topic, b.topic) }) // Kafka joins the entries of a topic
		acks := pick[int16](s, -1, -1, -1, 1, 1)
		if s.one(50) {
			acks = pick[int16](s, 2, -2)
		}
		s.ask(version, fmt.Sprintf("Produce acks %d %s", acks, strings.Join(what, " + ")), s.produce(acks, parts...))
		if s.failed {
			return
		}
		if s.one(4) {
			s.stored(pick(s, topics...), int32(s.n(2)))
		}
	}
	for _, t := range topics {
		for p := range int32(2) {
			s.stored(t, p)
			s.ask(0, "DescribeProducers "+t, s.producers(t, p))
			for _, ts := range []int64{-1, -2, -3, s.base, s.base + int64(s.n(1000)), s.base + 3*hour} {
				if ts != -3 || !stamped[t] { // two batches may have the same stamp, or not
					s.times(11, t, p, ts)
				}
			}
		}
	}
}

// stored compares what a partition holds.
func (s *script) stored(topic string, partition int32) {
	s.ask(12, fmt.Sprintf("Fetch all of %s-%d", topic, partition), s.fetch(whole(), from(topic, partition, 0)))
}

// times compares a ListOffsets.
func (s *script) times(version int16, topic string, partition int32, ts int64) {
	s.ask(version, fmt.Sprintf("ListOffsets %s-%d %s", topic, partition, s.time(ts)), func(*side) kmsg.Request { return s.listOffsets(topic, partition, ts) })
}
