package data

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// batchBytes is the size of a batch in the logs that byte limits are tried on.
const batchBytes = 200

// fill makes topics a, b (3 partitions) and c (1) with batches; equal says whether all
// have batchBytes bytes.
func (s *script) fill(equal bool) {
	s.topic("a", 3)
	s.topic("b", 3, "message.timestamp.type", pick(s, "LogAppendTime", "CreateTime"))
	s.topic("c", 1)
	for _, t := range []string{"a", "b", "c"} {
		for p := range int32(3) {
			if t == "c" && p > 0 {
				continue
			}
			for range s.n(6) {
				s.grow(t, p, equal)
			}
		}
	}
}

// grow appends a batch.
func (s *script) grow(topic string, p int32, equal bool) {
	b := s.batch(false)
	if equal {
		b = s.plainBatch(1)
		for b.Records[0].Value = nil; len(b.Encode()) < batchBytes; {
			b.Records[0].Value = append(b.Records[0].Value, 'x')
		}
	}
	s.ask(int16(9+s.n(5)), fmt.Sprintf("Produce %s-%d %d records", topic, p, len(b.Records)), s.produce(-1, part{topic, p, b.Encode()}))
}

// place is a random partition, sometimes one that does not exist.
func (s *script) place() (string, int32) {
	t := pick(s, "a", "a", "b", "b", "c")
	p := int32(s.n(3))
	if t == "c" {
		p = 0
	}
	if s.one(25) {
		p = pick[int32](s, 3, -1, 100)
	}
	if s.one(30) {
		t = "none"
	}
	return t, p
}

// position is a random partition with a random offset and limits.
func (s *script) position(equal bool) at {
	t, p := s.place()
	x := from(t, p, int64(s.n(12)))
	if s.one(15) {
		x.offset = pick[int64](s, -1, -2, 1000, 1<<40, -1<<63)
	}
	if s.one(4) {
		x.epoch = pick[int32](s, 0, 0, 0, 1, -2, 100, -1)
	}
	if s.one(4) {
		x.fetched = pick[int32](s, 0, 0, 0, 1, -2, 100, -1)
	}
	if equal && s.one(2) {
		x.max = batchBytes * int32(s.n(5))
	}
	return x
}

// tidy sorts by topic: Kafka joins the entries of a topic in its answers.
func (s *script) tidy(list []where) {
	slices.SortStableFunc(list, func(a, b where) int { return strings.Compare(a.topic, b.topic) })
}

func (s *script) limits(equal bool) limits {
	l := whole()
	if s.one(4) {
		l.isolation = 1
	}
	if s.one(5) {
		l.rack = pick(s, "r1", "")
	}
	if equal && s.one(2) {
		// Not between batches: Kafka would fill the answer with a part of one.
		l.max = pick[int32](s, 0, 1, batchBytes-1, batchBytes, batchBytes*2, batchBytes*3, batchBytes*6)
	}
	if s.one(6) {
		l.min = pick[int32](s, 0, 500, 100000, -1)
		l.wait = int32(s.n(30))
	}
	return l
}

// fetching asks for random partitions without sessions.
func fetching(s *script) {
	equal := s.one(2)
	s.fill(equal)
	for range 40 {
		switch s.n(8) {
		case 0:
			t, p := s.place()
			s.grow(t, p, equal)
		case 1:
			t, p := s.place()
			list := []where{{topic: t, index: p, offset: pick[int64](s, -1, 1, 3, int64(s.n(12)), 100, -2)}}
			for s.one(3) {
				t, p := s.place()
				list = append(list, where{topic: t, index: p, offset: pick[int64](s, -1, 1, 3, int64(s.n(12)), 100, -2, noPartitions)})
			}
			s.tidy(list)
			s.ask(int16(s.n(3)), fmt.Sprintf("DeleteRecords %+v", list), s.deletion(list...))
		case 2:
			t, p := s.place()
			list := []where{{t, p, 0, pick[int32](s, -1, -1, 0, 1, -2), pick[int32](s, 0, 0, 1, -1, -2, 100)}}
			for s.one(3) {
				t, p := s.place()
				list = append(list, where{t, p, pick[int64](s, 0, 0, noPartitions), -1, pick[int32](s, 0, 1)})
			}
			s.tidy(list)
			s.ask(int16(2+s.n(3)), fmt.Sprintf("OffsetForLeaderEpoch %+v", list), s.epochs(list...))
		default:
			var parts []at
			for range pick(s, 1, 1, 2, 3, 6, 0) {
				parts = append(parts, s.position(equal))
			}
			version := int16(4 + s.n(15))
			l := s.limits(equal)
			wait := false
			if s.one(25) {
				l.wait, l.min, wait = 1000, pick[int32](s, 1, 1, 0, 300, 100000), true
			}
			s.ask(version, fmt.Sprintf("Fetch %+v %+v", l, parts), s.fetch(l, parts...))
			if k, o := s.sides[0].waited(time.Second), s.sides[1].waited(time.Second); wait && k != o {
				s.differ("waited: kafka %v, ours %v", s.sides[0].took, s.sides[1].took)
			}
		}
		if s.failed {
			return
		}
	}
}

// sessions makes incremental fetches, with appends and deletions between them.
func sessions(s *script) {
	equal := s.one(2)
	s.fill(equal)
	byID := s.one(2)
	var chosen int16
	choose := func() {
		chosen = int16(7 + s.n(6))
		if byID {
			chosen = int16(13 + s.n(6))
		}
	}
	choose()
	version := func() int16 { return chosen }
	epoch := int32(0) // 0: none
	var in []at
	for range 50 {
		l := s.limits(equal)
		var parts []at
		what := ""
		switch s.n(16) {
		case 0, 1:
			t, p := s.place()
			s.grow(t, p, equal)
			continue
		case 2:
			t, p := s.place()
			s.ask(2, fmt.Sprintf("DeleteRecords %s-%d", t, p), s.deletion(where{topic: t, index: p, offset: pick[int64](s, -1, 1, 3, int64(s.n(12)))}))
			continue
		case 3:
			what, l.session, l.epoch = "full", s.n(2), 0
		case 4:
			if s.one(3) {
				what, l.session, l.epoch = "close", 1, -1
			}
		case 5:
			what, l.session, l.epoch = "bad epoch", 1, pick(s, epoch+1, epoch-1, 1000, -2, -1<<31, 1<<31-1)
			if l.epoch == 0 || l.epoch == -1 || l.epoch == epoch {
				continue
			}
		case 6:
			if s.one(3) {
				what, l.session, l.epoch = "strange id", 2, pick[int32](s, 1, 0, -1, 2)
			}
		case 7:
			if s.one(10) {
				t := pick(s, "a", "b", "c")
				n := int32(3)
				if t == "c" {
					n = 1
				}
				s.remove(t)
				if s.one(3) {
					s.askSession(version(), "after the deletion", l, epoch, &epoch)
				}
				s.topic(t, n)
				continue
			}
		case 8:
			if s.one(6) && epoch > 0 { // the other kind of session
				l.session, l.epoch = 1, epoch
				v := int16(12)
				if !byID {
					v = 13
				}
				s.ask(v, "Fetch of the other kind", s.fetch(l))
				if s.failed {
					return
				}
				continue
			}
		}
		if what == "" && epoch == 0 {
			what, l.session, l.epoch = "full", 0, 0
		}
		if what == "" {
			what, l.session, l.epoch = "incremental", 1, epoch
		}
		for range pick(s, 0, 1, 2, 3) {
			x := s.position(equal)
			x.fetched = pick[int32](s, -1, -1, x.fetched)
			parts = append(parts, x)
		}
		if what == "full" {
			for range 4 {
				parts = append(parts, s.position(equal))
			}
		}
		if what != "full" && s.one(4) {
			if len(in) > 0 && !s.one(4) {
				l.forget = append(l.forget, pick(s, in...))
			} else {
				l.forget = append(l.forget, s.position(equal))
			}
		}
		out := s.ask(version(), fmt.Sprintf("Fetch %s %+v %+v", what, l, parts), s.fetch(l, parts...))
		if s.failed {
			return
		}
		r, ok := out[0].(*kmsg.FetchResponse)
		switch {
		case !ok:
			return
		case r.ErrorCode != 0:
		case what == "incremental":
			epoch++
			in = append(in, parts...)
		case what == "full":
			epoch = 1
			in = parts
			for i, d := range s.sides {
				d.session = out[i].(*kmsg.FetchResponse).SessionID
			}
			if s.sides[0].session == 0 {
				s.t.Fatal("no session")
			}
		case what == "close":
			epoch = 0
			if s.one(2) {
				byID = s.one(2)
				choose()
			}
		case what == "strange id" && l.epoch == 0:
			epoch = 1
			in = parts
			for i, d := range s.sides {
				d.session = out[i].(*kmsg.FetchResponse).SessionID
			}
		}
	}
	if epoch > 0 {
		l := whole()
		l.session, l.epoch = 1, -1
		s.ask(version(), "Fetch close", s.fetch(l))
	}
}

// askSession makes an empty incremental fetch.
func (s *script) askSession(version int16, what string, l limits, epoch int32, next *int32) {
	if epoch == 0 {
		return
	}
	l.session, l.epoch = 1, epoch
	out := s.ask(version, "Fetch incremental "+what, s.fetch(l))
	if r, ok := out[0].(*kmsg.FetchResponse); ok && r.ErrorCode == 0 {
		*next++
	}
}
