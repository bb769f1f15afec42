package segment

import (
	"fmt"

	"ringmain/record"
)

// stranger tells whether a .log file is another one than its index was made
// from, as after a mix-up of files: the index is sound and of this topic and
// base offset, and does not know the batches. It is asked where the sizes differ. next
// is the offset at which the segment should end: where its batches do, from its first
// offset on, it is the index that is another one's, such as of a segment that was cut
// away once. Indexes are not synced, so a power cut can bring one back.
func (l *Log) stranger(seg *segment, next int64, was stats, x *indexFile) *DamageError {
	if seg.size == 0 || was.size == 0 {
		return nil
	}
	d := l.strangeness(seg, was, x)
	if d != nil && l.leadsTo(seg, next) {
		return nil
	}
	return d
}

// leadsTo tells whether the batches of a segment go, one behind the other, from its
// base offset to next.
func (l *Log) leadsTo(seg *segment, next int64) bool {
	if seg.file.acquire() != nil {
		return false
	}
	defer seg.file.Release()
	w := newWalk(seg.file, seg.size)
	defer w.done()
	end := seg.base
	for pos := int64(0); pos < seg.size; {
		h, err := w.header(pos)
		if err != nil || h.BaseOffset() < end {
			return false
		}
		pos, end = pos+int64(h.Size()), h.LastOffset()+1
	}
	return end == next
}

func (l *Log) strangeness(seg *segment, was stats, x *indexFile) *DamageError {
	d := &DamageError{File: seg.file.Path(), Offset: seg.base}
	if first := l.firstTimestamp(seg); first != noIndexTimestamp && first != was.firstTs {
		if seg.soundAt(0) == nil {
			return nil // it says nothing
		}
		d.Reason = fmt.Sprintf("the file is not the one its index was made from: the first batch is of time %d, the index says %d; it may be another partition's", first, was.firstTs)
		return d
	}
	e, ok, err := x.floor(seg.base, byPosition, min(seg.size, was.size)-record.HeaderSize)
	if err != nil || !ok || seg.beginsAt(e) {
		return nil
	}
	if e0, ok, err := x.floor(seg.base, byPosition, int64(e.pos)-1); err != nil || ok && seg.beginsAt(e0) {
		return nil // one entry may point to a batch that is damaged
	}
	d.Position = int64(e.pos)
	d.Reason = fmt.Sprintf("the file is not the one its index was made from: no batch of offset %d begins here; it may be another partition's", seg.base+int64(e.rel))
	return d
}

// beginsAt tells whether the header of the batch that an index entry names is there, whole
// or cut off behind it.
func (s *segment) beginsAt(e indexEntry) bool {
	if s.file.acquire() != nil {
		return false
	}
	defer s.file.Release()
	w := newWalk(s.file, s.size)
	defer w.done()
	h, err := w.damaged(int64(e.pos))
	return err == nil && h != nil && h.BaseOffset() == s.base+int64(e.rel)
}

// refuseStranger keeps readers away from a closed segment that is another
// file. loadMu is held.
func (l *Log) refuseStranger(seg *segment, d *DamageError) {
	l.log.Error("a segment is another file than it was; reads of its offsets are refused",
		"file", d.File, "position", d.Position, "offset", seg.base, "reason", d.Reason)
	l.mu.Lock()
	next := seg.next
	l.mu.Unlock()
	l.lose(seg.base, next, d)
}
