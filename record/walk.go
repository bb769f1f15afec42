package record

import (
	"fmt"
	"math"
)

// fault is how a walk ended. It is a number, not an error, so that the walk
// itself allocates nothing; describe puts it into words.
type fault uint8

const (
	walked         fault = iota // all announced records were met
	short                       // the bytes end inside the next record
	found                       // the walk was looking for a timestamp and is there
	badLength                   // record length is no varint, or below the smallest record
	badStructure                // the fields do not fill the record exactly
	badOffsetDelta              // not the next one
	leftOver                    // bytes behind the last record
	badSkip                     // a negative length where only -1 or more can be
)

// minRecord is the smallest record body: attributes, timestamp delta, offset
// delta, key length, value length, header count.
const minRecord = 6

// maxRecordErrors bounds how many refused records one answer names. A batch of
// some MB can hold a million of them; Kafka names them all.
const maxRecordErrors = 10_000

// walk is one pass over a batch's records, in one or several pieces. It reads
// no field it does not judge, and judges all it reads.
type walk struct {
	count         int32 // records announced by the header
	next          int32 // index of the next record
	baseTimestamp int64

	consecutive   bool  // offset deltas must be 0, 1, 2...: true of all that a client sends
	needKey       bool  // compacted topic
	now           int64 // for the two limits, ms
	before, after int64 // math.MaxInt64 where there is no limit

	// refuse is called for records that need a closer look: a key is missing,
	// or the timestamp is out of the limits.
	refuse func(index int32, timestamp int64, hasKey bool)

	stopAt    int64 // if stops: first timestamp >= stopAt ends the walk
	stops     bool
	lastDelta int32 // offset delta of the last record

	maxTimestamp int64 // largest so far; starts at what "none" shall be
	maxDelta     int32 // offset delta of the first record that has it
}

// span walks the records that lie whole in b and returns how many bytes they
// took. After short, the caller brings more bytes, beginning with those left.
//
// This is the produce path's inner loop. The shape that nearly all records have
// is passed here, by branches that a processor predicts: numbers of one or two
// bytes, three for a timestamp, no headers, nothing to object to. Any record
// that differs goes through one, which knows all shapes and all mistakes.
func (w *walk) span(b []byte) (int, fault) {
	pos := 0
	next, count := w.next, w.count
	latest := w.maxTimestamp
	for next < count {
		var td uint32
		var delta, ts int64
		var size, od, kl, vl uint32
		var body, p int
		var key bool
		if len(b)-pos < window {
			goto slow
		}
		{
			head := (*[window]byte)(b[pos:])
			size, body = shortVarint(head, 0)
			td, p = uint32(head[(body+1)&(window-1)]), body+2 // behind the attributes, none in use
			if td >= 0x80 {
				c := uint32(head[p&(window-1)])
				td, p = td&0x7f|c<<7, p+1
				if c >= 0x80 {
					c = uint32(head[p&(window-1)])
					td, p = td&0x3fff|c<<14, p+1
					if c >= 0x80 {
						goto slow
					}
				}
			}
			od, p = shortVarint(head, p)
			kl, p = shortVarint(head, p)
			if key = kl&1 == 0; !key && kl != 1 || p >= window {
				goto slow
			}
			if kl > 1 {
				p += int(kl >> 1)
				if len(b)-pos-p < window {
					goto slow
				}
				head = (*[window]byte)(b[pos+p:])
				var n int
				vl, n = shortVarint(head, 0)
				p += n
			} else {
				vl, p = shortVarint(head, p)
			}
			if vl&1 != 0 {
				if vl != 1 {
					goto slow
				}
				vl = 0
			}
			p += int(vl >> 1)
			// What is left is the header count, which must be 0 and the record's
			// last byte.
			if size&1 != 0 || p+1 != body+int(size>>1) || p >= len(b)-pos || b[pos+p] != 0 {
				goto slow
			}
			ts = w.baseTimestamp + int64(int32(td>>1)^-int32(td&1))
			if delta = int64(od >> 1); od&1 != 0 || delta != int64(next) || ts > latest && w.stops {
				goto slow
			}
			if age := w.now - ts; age > w.before || -age > w.after || !key && w.needKey {
				goto slow
			}
			if ts > latest {
				latest, w.maxDelta = ts, next
			}
			w.lastDelta = next
			next++
			pos += p + 1
			continue
		}
	slow:
		w.next, w.maxTimestamp = next, latest
		n, f := w.one(b[pos:])
		pos += n
		if f != walked {
			return pos, f
		}
		next, latest = w.next, w.maxTimestamp
	}
	w.next, w.maxTimestamp = next, latest
	return pos, walked
}

// window is how far the quick way looks ahead; numbers of five bytes would fit.
const window = 32

// shortVarint reads a number of one or two bytes. For a longer one it returns a
// position behind the window.
func shortVarint(head *[window]byte, p int) (uint32, int) {
	v := uint32(head[p&(window-1)])
	if v < 0x80 {
		return v, p + 1
	}
	w := uint32(head[(p+1)&(window-1)])
	if w >= 0x80 {
		return 0, 1 << 40
	}
	return v&0x7f | w<<7, p + 2
}

// one walks the record that b begins with.
func (w *walk) one(b []byte) (int, fault) {
	n, p := uvarint(b, 0)
	if p < 0 {
		if len(b) < maxVarint {
			return 0, short
		}
		return 0, badLength
	}
	size := int(zigzag(n))
	if size < minRecord {
		return 0, badLength
	}
	if size > len(b)-p {
		return 0, short
	}
	end := p + size
	rec := b[p:end]
	td, p := uvarlong(rec, 1) // rec[0] are the attributes
	od, p := uvarint(rec, p)
	kl, p := uvarint(rec, p)
	key := int(zigzag(kl))
	if key > 0 {
		p += key
	}
	vl, p := uvarint(rec, p)
	value := int(zigzag(vl))
	if value > 0 {
		p += value
	}
	hc, p := uvarint(rec, p)
	if hc != 0 && p > 0 {
		p = headers(rec, p, int(zigzag(hc)))
	}
	if p != len(rec) {
		return 0, badStructure
	}
	if key < -1 || value < -1 {
		return 0, badSkip
	}
	return end, w.judge(zigzag(od), zigzagLong(td), key >= 0)
}

// judge is what follows for a record whose structure is right.
func (w *walk) judge(delta int32, timestampDelta int64, hasKey bool) fault {
	if delta != w.next && w.consecutive {
		return badOffsetDelta
	}
	w.lastDelta = delta
	ts := w.baseTimestamp + timestampDelta
	if ts > w.maxTimestamp {
		w.maxTimestamp, w.maxDelta = ts, delta
		if w.stops && ts >= w.stopAt {
			return found
		}
	}
	if age := w.now - ts; age > w.before || -age > w.after || (w.needKey && !hasKey) {
		w.refuse(w.next, ts, hasKey)
	}
	w.next++
	return walked
}

// headers walks n headers of a record and returns the position behind them, or
// a negative one.
func headers(rec []byte, p, n int) int {
	if n < 0 || n > len(rec)-p { // a header takes two bytes at least
		return bad
	}
	for ; n > 0; n-- {
		var v uint32
		v, p = uvarint(rec, p)
		size := int(zigzag(v))
		if p < 0 || size < 0 { // a header's key is never null
			return bad
		}
		v, p = uvarint(rec, p+size)
		if size = int(zigzag(v)); size > 0 {
			p += size
		} else if size < -1 {
			return bad
		}
	}
	return p
}

const (
	maxVarint  = 5
	maxVarlong = 10
	// bad is a position that no later length brings back into the record: each
	// of a record's fields adds less than 2^32 to it.
	bad = math.MinInt / 2
)

// uvarint reads an unsigned varint of 32 bits at p. If there is none it returns
// a negative position, and so it does when given one.
func uvarint(b []byte, p int) (uint32, int) {
	if uint(p) < uint(len(b)) && b[p] < 0x80 {
		return uint32(b[p]), p + 1
	}
	return uvarintLong(b, p)
}

func uvarlong(b []byte, p int) (uint64, int) {
	if uint(p) < uint(len(b)) && b[p] < 0x80 {
		return uint64(b[p]), p + 1
	}
	return uvarlongLong(b, p)
}

//go:noinline
func uvarintLong(b []byte, p int) (uint32, int) {
	if uint(p) > uint(len(b)) {
		return 0, bad
	}
	var v uint32
	for i, c := range b[p:] {
		if i == maxVarint-1 && c > 0x0f {
			return 0, bad // bits beyond the 32nd, or a sixth byte
		}
		v |= uint32(c&0x7f) << (7 * i)
		if c < 0x80 {
			return v, p + i + 1
		}
	}
	return 0, bad
}

//go:noinline
func uvarlongLong(b []byte, p int) (uint64, int) {
	if uint(p) > uint(len(b)) {
		return 0, bad
	}
	var v uint64
	for i, c := range b[p:] {
		if i == maxVarlong-1 && c > 1 {
			return 0, bad
		}
		v |= uint64(c&0x7f) << (7 * i)
		if c < 0x80 {
			return v, p + i + 1
		}
	}
	return 0, bad
}

func zigzag(v uint32) int32     { return int32(v>>1) ^ -int32(v&1) }
func zigzagLong(v uint64) int64 { return int64(v>>1) ^ -int64(v&1) }

// describe says what fault f of the record at w.next means.
func (w *walk) describe(f fault) *Error {
	switch f {
	case short:
		return failf(ErrInvalid, "the batch ends inside record %d of the %d it announces", w.next, w.count)
	case leftOver:
		return failf(ErrInvalid, "bytes are left behind the %d records that the batch announces", w.count)
	case badLength:
		return failf(ErrInvalid, "record %d has an impossible length", w.next)
	case badStructure:
		return failf(ErrInvalid, "the fields of record %d do not fill it exactly", w.next)
	case badSkip:
		return failf(ErrInvalid, "record %d has a key or value length below -1", w.next)
	case badOffsetDelta:
		return failf(ErrInvalid, "record %d does not have offset delta %d: deltas must count up from 0", w.next, w.next)
	}
	panic(fmt.Sprintf("record: fault %d is none", f))
}
