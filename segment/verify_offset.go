package segment

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"os"
	"slices"

	"ringmain/record"
)

// misplaced finds the last batch of a segment with a wrong offset, which no checksum covers
// and no batch behind it contradicts. The others tell what it was, so it can be written again.
func (x *examined) misplaced() error {
	for i, s := range x.segs {
		pos, head, err := s.last()
		if err != nil {
			return err
		}
		if head == nil {
			continue
		}
		expect, claimed := s.end, head.BaseOffset()
		if n := len(s.batches); n > 0 && s.batches[n-1].pos == pos {
			expect = s.before
		}
		end := expect + int64(head.LastOffsetDelta()) + 1
		if claimed == expect || s.repeated(pos, head) || !x.contradicted(i, pos, claimed, expect, end) {
			continue
		}
		x.v.fix(Finding{File: s.file.Path(), Position: pos, Reason: fmt.Sprintf("the batch says offset %d, where offset %d is the next", claimed, expect),
			Repair: fmt.Sprintf("write offset %d into it", expect)}, func() error { return x.writeOffset(s, pos, expect) })
		head.Stamp(expect, head.LeaderEpoch())
		if n := len(s.batches); n > 0 && s.batches[n-1].pos == pos {
			s.batches[n-1].base, s.end = expect, end
		} else {
			s.bad = s.bad[:len(s.bad)-1]
			s.take(pos, head)
		}
	}
	return nil
}

// last is the header of the batch that ends where the segment does and whose checksum is
// right, nil if there is none.
func (s *scanned) last() (pos int64, head record.Batch, err error) {
	switch n := len(s.bad); {
	case len(s.batches) > 0 && s.soundTo == s.size:
		pos = s.batches[len(s.batches)-1].pos
	case n > 0 && s.bad[n-1].to == s.size:
		pos = s.bad[n-1].from
	default:
		return 0, nil, nil
	}
	if err := s.file.acquireFlag(0); err != nil {
		return 0, nil, err
	}
	defer s.file.Release()
	w := newWalk(s.file, s.size)
	defer w.done()
	head = make(record.Batch, record.HeaderSize)
	if whole, err := w.lastWhole(pos, head); !whole || err != nil {
		return 0, nil, err
	}
	return pos, head, nil
}

// repeated is segment.repeats for a verifier.
func (s *scanned) repeated(pos int64, head record.Batch) bool {
	return slices.ContainsFunc(s.batches, func(b scannedBatch) bool {
		return b.pos < pos && b.base == head.BaseOffset() && b.sum == head.CRC()
	})
}

// contradicted tells whether something says that the last batch of the i-th segment, at pos,
// ends at end and not where its own offset has it: the name of the segment behind it, the
// recovery point, and after a kill the batches before it (recovery.misplaced).
func (x *examined) contradicted(i int, pos, claimed, expect, end int64) bool {
	s := x.segs[i]
	rp, known := x.v.points[x.key()]
	behindDamage := len(s.bad) > 0 && s.bad[len(s.bad)-1].to == pos
	switch {
	case i+1 < len(x.segs) && x.segs[i+1].size > 0:
		return end == x.segs[i+1].base
	case known && rp.segBase == s.base && rp.pos == s.size:
		return end == rp.offset
	case !x.v.killed || behindDamage || s.base < x.v.cleaned[x.key()].offset:
		return false
	case known && (rp.segBase < s.base || rp.segBase == s.base && rp.pos <= pos):
		return true
	}
	return bits.OnesCount64(uint64(claimed^expect)) == 1
}

// writeOffset puts a base offset into the batch at a position.
func (x *examined) writeOffset(s *scanned, pos, base int64) error {
	f, err := x.v.fs.OpenFile(s.file.Path(), os.O_RDWR)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(binary.BigEndian.AppendUint64(nil, uint64(base)), pos)
	return errors.Join(err, f.SyncData(), f.Close())
}
