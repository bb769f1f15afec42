package data

import (
	"fmt"
	"strings"

	"ringmain/test/peer"
)

// records gives 1 to most random records; keyed says whether all have keys.
func (s *script) records(most int, keyed bool) []peer.Record {
	var rs []peer.Record
	for range 1 + s.n(most) {
		r := peer.Record{Delta: int64(s.n(50))}
		switch {
		case keyed, s.one(3):
			r.Key = []byte(fmt.Sprint("k", s.n(6)))
		case s.one(8):
			r.Key = []byte{}
		}
		switch s.n(8) {
		case 0:
		case 1:
			r.Value = []byte{}
		case 2:
			r.Value = []byte(strings.Repeat(fmt.Sprint(s.n(10)), s.n(600)))
		default:
			r.Value = []byte(fmt.Sprint("v", s.n(1000)))
		}
		for s.one(4) {
			h := peer.Header{Key: pick(s, "h", "", "trace")}
			if s.one(2) {
				h.Value = []byte(pick(s, "", "x", "yy"))
			}
			r.Headers = append(r.Headers, h)
		}
		rs = append(rs, r)
	}
	if s.one(3) {
		rs[0].Delta = 0
	}
	return rs
}

// batch is a good random batch.
func (s *script) batch(keyed bool) peer.Batch {
	b := peer.NewBatch(s.base+int64(s.n(1000)), s.records(pick(s, 1, 3, 8), keyed)...)
	if s.one(2) {
		b.Codec = int8(s.n(5))
	}
	return b
}

// plainBatch is a batch of n records of the same size.
func (s *script) plainBatch(n int) peer.Batch {
	var rs []peer.Record
	for i := range n {
		rs = append(rs, peer.Record{Value: []byte("value"), Delta: int64(i)})
	}
	return peer.NewBatch(s.base+int64(s.n(1000)), rs...)
}
