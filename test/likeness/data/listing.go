package data

import "fmt"

// listing looks records up by time.
func listing(s *script) {
	ts := pick(s, "LogAppendTime", "CreateTime", "CreateTime")
	s.topic("a", 2, "message.timestamp.type", ts, "cleanup.policy", pick(s, "delete", "compact,delete"))
	most := 60
	start := map[int32]int64{}
	end := map[int32]int64{}
	for range 60 {
		p := int32(s.n(2))
		switch s.n(6) {
		case 0, 1:
			b := s.batch(true)
			b.Base = s.base + int64(s.n(40))
			if s.one(10) {
				b.Base = pick(s, -1, 0, s.base-1000*hour)
			}
			n := int64(len(b.Records))
			s.ask(int16(3+s.n(11)), fmt.Sprintf("Produce a-%d %d records base%+d codec %d", p, n, b.Base-s.base, b.Codec), s.produce(-1, part{"a", p, b.Encode()}))
			end[p] += n
		case 2:
			if s.one(3) {
				off := start[p] + int64(s.n(int(end[p]-start[p])+1))
				start[p] = off
				s.ask(int16(s.n(3)), fmt.Sprintf("DeleteRecords a-%d %d", p, off), s.deletion(where{topic: "a", index: p, offset: off}))
			}
		case 3:
			s.ask(int16(2+s.n(3)), "OffsetForLeaderEpoch", s.epochs(where{"a", p, 0, pick[int32](s, -1, -1, 0, 1, -2), pick[int32](s, 0, 0, 1, -1, -2, 100)}))
		default:
			version := int16(1 + s.n(11))
			isolation := int8(s.n(2))
			var list []where
			for range pick(s, 1, 1, 2, 3) {
				w := where{"a", int32(s.n(2)), s.base + int64(s.n(most)) + int64(s.n(40)), -1, 0}
				switch s.n(5) {
				case 0, 1:
					w.offset = pick[int64](s, -1, -2, -3, -4, -5, -6, -7, -100)
				case 2:
					w.offset = pick(s, 0, 1, 1<<62, s.base-1000*hour, s.base+1000*hour, s.begun-60000)
				}
				if s.one(5) {
					w.current = pick[int32](s, 0, 0, 1, -2)
				}
				if s.one(20) {
					w.index = pick[int32](s, 2, -1)
				}
				if s.one(20) {
					w.topic = pick(s, "none", "a/b", "")
				}
				if s.one(30) {
					w.offset = noPartitions
				}
				// Named in docs/deviations.md: the largest timestamp where the log start has moved.
				// Two batches may have the same stamp, or not.
				if w.offset == -3 && (start[w.index] > 0 || ts == "LogAppendTime") {
					continue
				}
				list = append(list, w)
			}
			s.tidy(list)
			s.ask(version, fmt.Sprintf("ListOffsets isolation %d %+v", isolation, list), s.lookups(isolation, list...))
		}
		if s.failed {
			return
		}
	}
	s.stored("a", 0)
	s.stored("a", 1)
}
