package segment

import (
	"fmt"

	"ringmain/record"
)

// sums tell a .log file from others of its name, topic, size and offsets: the checksum of
// its first batch, and that of the last batch with an index entry, which is the first
// again where no batch has one. Both are of sound batches; 0 says that it is not known.
type sums struct{ first, last uint32 }

// noPartition: an index header or producer snapshot of version 1 names none.
const noPartition = int32(-1)

// otherIndex is why an index is made again whose header names another file.
const otherIndex = "the index is another partition's, or of another time"

// mark is a checksum in the 16 bits that an entry of the checkpoint has for it, 0 if the
// checksum is not known.
func mark(sum uint32) uint16 {
	if sum == 0 {
		return 0
	}
	return max(uint16(sum>>16)^uint16(sum), 1)
}

// sumAt is the checksum that the batch at pos says it has, 0 if none begins there.
func (s *segment) sumAt(pos int64) uint32 {
	if s.file.acquire() != nil {
		return 0
	}
	defer s.file.Release()
	w := newWalk(s.file, s.size)
	defer w.done()
	h, err := w.header(pos)
	if err != nil {
		return 0
	}
	return h.CRC()
}

// sumsWith reads the sums of a file whose last index entry points to lastEntry.
func (s *segment) sumsWith(lastEntry int64) (v sums) {
	if b := s.soundAt(0); b != nil {
		v.first = b.CRC()
	}
	if v.last = v.first; lastEntry > 0 {
		v.last = 0
		if b := s.soundAt(lastEntry); b != nil {
			v.last = b.CRC()
		}
	}
	return v
}

// unlike is where a sound batch lies that is not the one of which somebody noted the
// checksum, nil if nowhere. What is damaged, and what is not noted, says nothing.
func (s *segment) unlike(pos int64, noted uint32) *DamageError {
	if sum := s.sumAt(pos); noted == 0 || sum == 0 || sum == noted {
		return nil
	}
	b := s.soundAt(pos)
	if b == nil || b.CRC() == noted {
		return nil
	}
	return &DamageError{File: s.file.Path(), Position: pos, Offset: b.BaseOffset(),
		Reason: fmt.Sprintf("the file is not the one its index was made from: the batch here is sound and has checksum %#08x, the index says %#08x; it may be another partition's", b.CRC(), noted)}
}

// identify compares a .log file with a sound index header of its name. d says that the file
// is another partition's: the header is ours and knows other batches, or it names the other
// partition and knows these. Without d, ours is false where the header is not this file's and
// says nothing against it.
func (l *Log) identify(seg *segment, was stats) (d *DamageError, ours bool) {
	if was.partition == noPartition {
		return nil, true
	}
	if d = seg.unlike(0, was.sums.first); d == nil {
		d = seg.unlike(was.lastEntry, was.sums.last)
	}
	if was.partition != l.tp.Partition {
		if d != nil || seg.sumAt(0) != was.sums.first && seg.sumAt(was.lastEntry) != was.sums.last {
			return nil, false
		}
		return &DamageError{File: seg.file.Path(), Offset: seg.base,
			Reason: fmt.Sprintf("the file and its index are those of partition %d", was.partition)}, true
	}
	if was.size > seg.size && l.dir.powerCut() {
		return nil, true // after a power cut it may be of what was lost
	}
	return d, true
}

// prove compares the .log of a segment with the header that its stats were taken from, once,
// at the first read or append after the open. Any goroutine.
func (l *Log) prove(seg *segment) error {
	if seg.claim.Load() == nil {
		return nil
	}
	seg.loadMu.Lock()
	defer seg.loadMu.Unlock()
	was := seg.claim.Load()
	if was == nil {
		return nil
	}
	if seg.file.gone.Load() {
		return errGone
	}
	if err := seg.file.acquire(); err != nil {
		return err // not for want of a descriptor
	}
	defer seg.file.Release()
	if d, _ := l.identify(seg, *was); d != nil {
		l.refuseStranger(seg, d)
		return d
	}
	seg.claim.Store(nil)
	return nil
}

// soundAt is the header of the batch at pos, nil if no sound one begins there.
func (s *segment) soundAt(pos int64) record.Batch {
	if s.file.acquire() != nil {
		return nil
	}
	defer s.file.Release()
	w := newWalk(s.file, s.size)
	defer w.done()
	h, err := w.header(pos)
	if err != nil {
		return nil
	}
	b := append(record.Batch(nil), h...) // the checksum moves the window
	if w.checksum(pos, b) != nil {
		return nil
	}
	return b
}

// sealed is what the header of an index says of a segment that is closed.
func (s *segment) sealed() stats {
	v := s.stats()
	if v.sums.first == 0 || v.sums.last == 0 { // opened with a header of version 1
		read := s.sumsWith(v.lastEntry)
		if v.sums.first == 0 {
			v.sums.first = read.first
		}
		if v.sums.last == 0 {
			v.sums.last = read.last
		}
	}
	return v
}
