package data

import (
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// parked is how long fetches wait in waking.
const parked = 1500 * time.Millisecond

// waking parks fetches, with and without a session, and lets something happen that may
// bring them an answer before their time.
func waking(s *script) {
	s.topic("a", 3)
	s.topic("b", 1)
	version := int16(4 + s.n(15))
	session := version >= 7 && s.one(2)
	epoch := int32(0)
	end := map[string]int64{}
	for range 6 {
		l := whole()
		l.wait, l.min = int32(parked/time.Millisecond), pick[int32](s, 1, 1, 1, 150, 10000)
		l.isolation = int8(s.n(2))
		var parts []at
		for range 1 + s.n(3) {
			x := from("a", int32(s.n(3)), 0)
			x.offset = end[fmt.Sprint(x.topic, x.index)]
			if s.one(4) {
				x.epoch = 0
			}
			parts = append(parts, x)
		}
		if s.one(6) {
			parts = append(parts, from("none", 0, 0))
		}
		if s.one(6) {
			parts[0].offset += 3
		}
		if session {
			l.session, l.epoch = 1, epoch
		}
		var what string
		var meanwhile func(d *side)
		p := int32(s.n(3))
		switch s.n(8) {
		case 0:
			what, meanwhile = "nothing", func(*side) {}
		case 1:
			what = fmt.Sprintf("DeleteRecords a-%d", p)
			req := s.deletion(where{topic: "a", index: p, offset: -1})
			meanwhile = func(d *side) { s.calm(d, 2, req(d)) }
		case 2:
			what = "Produce b-0"
			req := s.produce(1, part{"b", 0, s.plainBatch(1).Encode()})
			meanwhile = func(d *side) { s.calm(d, 11, req(d)) }
		default:
			n := 1 + s.n(4)
			what = fmt.Sprintf("Produce a-%d %d records", p, n)
			req := s.produce(-1, part{"a", p, s.plainBatch(n).Encode()})
			meanwhile = func(d *side) { s.calm(d, 11, req(d)) }
			end[fmt.Sprint("a", p)] += int64(n)
		}
		s.meanwhile = meanwhile
		out := s.ask(version, fmt.Sprintf("Fetch %+v %+v, meanwhile %s", l, parts, what), s.fetch(l, parts...))
		s.meanwhile = nil
		if s.failed {
			return
		}
		if k, o := s.sides[0].waited(parked), s.sides[1].waited(parked); k != o {
			s.differ("waited: kafka %v, ours %v", s.sides[0].took, s.sides[1].took)
			return
		}
		r, ok := out[0].(*kmsg.FetchResponse)
		if !ok {
			return
		}
		if session && r.ErrorCode == 0 {
			epoch++
			if r.SessionID != 0 {
				for i, d := range s.sides {
					d.session = out[i].(*kmsg.FetchResponse).SessionID
				}
			}
		}
	}
}
