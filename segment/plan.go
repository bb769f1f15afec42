package segment

import (
	"errors"
	"fmt"
	"math"
)

// Plan finds whole batches of one segment to send: from the batch that holds
// offset (or the next one, if that offset has no record) as many as fit into
// maxBytes, none that reaches limit or beyond. firstWhole: the first batch is
// given whatever its size. An empty Range if there is nothing. The caller
// releases the Range. ErrOffsetOutOfRange below the log start or above the
// log end. Any goroutine; allocates nothing.
func (l *Log) Plan(offset, limit int64, maxBytes int, firstWhole bool) (Range, error) {
	for {
		r, err := l.plan(offset, limit, maxBytes, firstWhole)
		if err == nil {
			return r, nil
		}
		if l.closed.Load() {
			return Range{}, ErrClosed
		}
		// Retention took the segment between the look and the reference: the
		// log start has risen, so this ends.
		if !errors.Is(err, errGone) {
			return Range{}, err
		}
	}
}

func (l *Log) plan(offset, limit int64, maxBytes int, firstWhole bool) (Range, error) {
	l.mu.Lock()
	start, end := l.start.Load(), l.end.Load()
	if offset < start || offset > end {
		l.mu.Unlock()
		return Range{}, fmt.Errorf("%w: %d is not between %d and %d", ErrOffsetOutOfRange, offset, start, end)
	}
	limit = min(limit, end)
	if offset >= limit {
		l.mu.Unlock()
		return Range{}, nil
	}
	if len(l.lost) > 0 {
		if err := l.lostAt(offset); err != nil {
			l.mu.Unlock()
			return Range{}, err
		}
	}
	segs := l.segs
	i := max(segmentOf(segs, offset), 0)
	if i == len(segs)-1 {
		if from, to, ok := l.planRecent(segs[i], offset, limit, end, int64(maxBytes), firstWhole); ok {
			l.mu.Unlock()
			return segs[i].rangeOf(from, to)
		}
	}
	l.mu.Unlock()

	for ; i < len(segs); i++ {
		seg := segs[i]
		if seg.base >= limit {
			break
		}
		r, found, err := l.planSegment(seg, offset, limit, maxBytes, firstWhole)
		if found || err != nil {
			return r, err
		}
	}
	return Range{}, nil
}

// rangeOf takes the reference for a range.
func (s *segment) rangeOf(from, to int64) (Range, error) {
	if to <= from {
		return Range{}, nil
	}
	if err := s.file.acquire(); err != nil {
		return Range{}, err
	}
	return Range{File: s.file, Off: from, N: int(to - from)}, nil
}

// planRecent answers from memory when the offset lies in the newest batches of
// the active segment. mu is held.
func (l *Log) planRecent(seg *segment, offset, limit, end, maxBytes int64, firstWhole bool) (from, to int64, ok bool) {
	k := l.recent.upTo(offset - seg.base)
	if k < 0 {
		return 0, 0, false
	}
	n := l.recent.count()
	from, to = int64(l.recent.at(k).pos), seg.size
	last := n // first batch that is not sent
	if limit < end {
		// The batch that holds limit is the first one not to send.
		last = l.recent.upTo(limit - seg.base)
		to = int64(l.recent.at(last).pos)
	}
	if to-from <= maxBytes {
		return from, to, true
	}
	j := min(l.recent.upToPos(from+maxBytes), last)
	if j <= k { // not even one batch fits
		if !firstWhole || last <= k {
			return from, from, true
		}
		j = k + 1
	}
	if j < n {
		to = min(to, int64(l.recent.at(j).pos))
	}
	return from, to, true
}

// planSegment does the same by index and batch headers. found: the answer is
// final (it may be empty); otherwise the next segment is to be asked.
func (l *Log) planSegment(seg *segment, offset, limit int64, maxBytes int, firstWhole bool) (Range, bool, error) {
	if err := l.load(seg); err != nil { // the first read of a segment asks whether it is the one it was
		return Range{}, false, err
	}
	l.mu.Lock()
	size, first := seg.size, seg.hint
	err := l.lostAt(offset) // that may just have been found
	l.mu.Unlock()
	if err != nil {
		return Range{}, false, err
	}
	if first.size == 0 || first.offset != offset {
		from, found, err := l.locate(seg, size, offset)
		if err != nil || !found {
			return Range{}, false, err
		}
		first = hint{pos: uint32(from)}
	}
	from := int64(first.pos)
	to, next, err := l.boundary(seg, size, first, limit, int64(maxBytes), firstWhole)
	if err != nil {
		return Range{}, false, err
	}
	if next.size > 0 && to > from { // a sequential reader comes back for it
		l.mu.Lock()
		seg.hint = next
		l.mu.Unlock()
	}
	r, err := seg.rangeOf(from, to)
	return r, true, err
}

func (l *Log) publishedSize(seg *segment) int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return seg.size
}

// locate finds the position of the first batch whose last offset is at least
// offset.
func (l *Log) locate(seg *segment, size, offset int64) (pos int64, found bool, err error) {
	if offset <= seg.base {
		return 0, size > 0, nil
	}
	for try := 0; ; try++ {
		e, x, err := l.floor(seg, byOffset, offset-seg.base)
		if err != nil {
			return 0, false, err
		}
		pos, found, err = l.scanTo(seg, size, e, offset)
		if !errors.Is(err, errIndexLies) || try > 0 || x == nil {
			return pos, found, err
		}
		if err := l.rebuild(seg, x, err.Error()); err != nil {
			return 0, false, err
		}
	}
}

// floor is the index entry at or before a key; the zero entry (the segment's
// first batch) if there is none. x is the index file that was asked, nil if
// memory knew. Damage in it is repaired on the way.
func (l *Log) floor(seg *segment, k indexKey, key int64) (e indexEntry, x *indexFile, err error) {
	if err := l.load(seg); err != nil {
		return e, nil, err
	}
	for try := 0; ; try++ {
		l.mu.Lock()
		if i := floorOf(seg.tail, k, key); i >= 0 {
			e = seg.tail[i]
			l.mu.Unlock()
			return e, nil, nil
		}
		x = seg.idx
		l.mu.Unlock()
		e, ok, err := x.floor(seg.base, k, key)
		switch {
		case err == nil && ok:
			return e, x, nil
		case err == nil:
			return indexEntry{maxTs: noIndexTimestamp}, x, nil
		case (errors.Is(err, errDamaged) || isNotExist(err) || errors.Is(err, errGone)) && try < 2:
			if errors.Is(err, errGone) && seg.file.gone.Load() {
				return e, nil, errGone
			}
			if err := l.rebuild(seg, x, err.Error()); err != nil {
				return e, nil, err
			}
		default:
			return e, nil, err
		}
	}
}

// errIndexLies: an entry does not point to its batch. Whether the index or the
// batch is damaged shows when the index is built again.
var errIndexLies = errors.New("the index points to no batch")

// scanTo walks from an index entry to the batch whose last offset is at least
// offset, round damage that lies before it. An entry that does not point to its batch is
// errIndexLies, too.
func (l *Log) scanTo(seg *segment, size int64, e indexEntry, offset int64) (pos int64, found bool, err error) {
	if err := seg.file.acquire(); err != nil {
		return 0, false, err
	}
	defer seg.file.Release()
	w := newWalk(seg.file, size)
	defer w.done()
	pos = int64(e.pos)
	expect, end := seg.base, l.segmentEnd(seg)
	var damage error           // which offset may lie in
	before, low := pos, expect // the batch that led to pos, and the offset expected there
	for first := true; ; first = false {
		h, err := w.header(pos)
		if errors.Is(err, errEnd) {
			if pos == size {
				return 0, false, damage
			}
			err = corrupt(seg.file.Path(), pos, "%d bytes are less than a batch header", size-pos)
		}
		if first && pos > 0 && (err != nil || h.BaseOffset() != seg.base+int64(e.rel)) {
			if err == nil {
				err = corrupt(seg.file.Path(), pos, "the index says offset %d, the batch %d", seg.base+int64(e.rel), h.BaseOffset())
			}
			return 0, false, fmt.Errorf("%w: %w", errIndexLies, err)
		}
		if first && pos > 0 { // the index says the same offset: what lies behind it is no witness against it
			expect = h.BaseOffset()
		}
		if err == nil && (h.BaseOffset() < expect || h.LastOffset() >= end) { // offsets have no checksum
			err = corruptBatch(seg.file.Path(), pos, expect, "offsets %d to %d between %d and %d", h.BaseOffset(), h.LastOffset(), expect, end)
		}
		var base, last, next int64
		doubt := pos
		if err == nil {
			base, last, next = h.BaseOffset(), h.LastOffset(), pos+int64(h.Size())
			doubt, err = w.passesOver(pos, h, expect)
		}
		switch {
		case err == nil && damage != nil && base > offset:
			return 0, false, damage
		case err == nil && last >= offset:
			return pos, true, nil
		case err == nil:
			before, low, pos, expect, damage = pos, expect, next, last+1, nil
			continue
		case !errors.Is(err, ErrCorrupt):
			return 0, false, err
		}
		if damage == nil {
			damage = err
		}
		// A wrong length leads anywhere, a wrong offset delta makes what follows look wrong.
		bad, err := w.blamed(before, pos)
		if err != nil {
			return 0, false, err
		}
		if bad == pos {
			bad = doubt
		} else {
			expect = low
		}
		if pos, found, err = soundBehind(seg.file, size, bad, expect); err != nil {
			return 0, false, err
		} else if !found {
			return 0, false, damage
		}
		before, low = pos, expect
	}
}

// maxGoRound is how much of a segment a reader looks through for a sound batch behind
// damage. One that lies farther away is found again from the next index entry on.
const maxGoRound = 4 << 20

// soundBehind finds the first sound batch behind the damaged one at pos that has offsets
// from expect on.
func soundBehind(f *File, size, pos, expect int64) (next int64, found bool, err error) {
	w := newWalk(f, size)
	defer w.done()
	return w.behind(pos, expect, maxGoRound)
}

// boundary finds where to stop: the end of the last batch that fits and does
// not reach limit. first is the batch to begin with, next the one at the end; of
// neither is more known than its position where size is 0.
func (l *Log) boundary(seg *segment, size int64, first hint, limit, maxBytes int64, firstWhole bool) (to int64, next hint, err error) {
	from := int64(first.pos)
	if from+maxBytes >= size && limit >= l.segmentEnd(seg) {
		return size, next, nil
	}
	if err := seg.file.acquire(); err != nil {
		return 0, next, err
	}
	defer seg.file.Release()
	w := newWalk(seg.file, size)
	defer w.done()
	stop := stopping{from: from, end: from + maxBytes, limit: limit, firstWhole: firstWhole}
	if first.size == 0 {
		w.window = headerWindow
		h, err := w.header(from)
		if errors.Is(err, errEnd) {
			return from, next, nil
		}
		if err != nil {
			return 0, next, err
		}
		if end := l.segmentEnd(seg); h.LastOffset() >= end {
			return 0, next, corruptBatch(seg.file.Path(), from, -1, "offsets %d to %d in a segment that ends at %d", h.BaseOffset(), h.LastOffset(), end)
		}
		first = hintOf(h, from)
	}
	if first.last >= limit || int64(first.size) > maxBytes && !firstWhole {
		return from, first, nil
	}
	if int64(first.size)*maxHops >= maxBytes {
		// A few large batches: to read their headers one by one is less than to
		// search the index.
		w.window = headerWindow
		to, next, found, err := stop.walk(w, from+int64(first.size), first.last+1, maxHops)
		if found || err != nil {
			return to, next, err
		}
	}
	w.window = walkWindow
	near, err := l.nearBoundary(seg, w, first, limit, maxBytes)
	if err != nil {
		return 0, next, err
	}
	to, next, _, err = stop.walk(w, int64(near.pos), near.offset, math.MaxInt)
	return to, next, err
}

// maxHops is how many batches beside the first are visited header by header
// before the index is asked.
const maxHops = 4

// stopping says which batch is the first that is not sent.
type stopping struct {
	from, end  int64 // positions: of the first batch, and where the room is used up
	limit      int64 // offset
	firstWhole bool
}

// walk goes from the batch at pos on to the one that is not sent, over at most
// steps batches. The offset of the first is at least expect. Where offsets fall one of two
// batches is damaged: what is sent ends there, and no reader comes back by a hint.
func (s *stopping) walk(w *walk, pos, expect int64, steps int) (to int64, next hint, found bool, err error) {
	for ; steps > 0; steps-- {
		h, err := w.header(pos)
		if errors.Is(err, errEnd) || errors.Is(err, ErrCorrupt) && pos > s.from {
			return pos, next, true, nil // what lies before damage can be sent
		}
		if err != nil {
			return 0, next, false, err
		}
		if h.BaseOffset() < expect && pos > s.from {
			return pos, next, true, nil
		}
		after := pos + int64(h.Size())
		if h.LastOffset() >= s.limit || after > s.end && (pos > s.from || !s.firstWhole) {
			return pos, hintOf(h, pos), true, nil
		}
		pos, expect = after, h.LastOffset()+1
	}
	return pos, next, false, nil
}

// nearBoundary is a batch at or before the boundary, as near to it as the index knows.
// Of the batch only offset and position are given.
func (l *Log) nearBoundary(seg *segment, w *walk, first hint, limit, maxBytes int64) (hint, error) {
	from := int64(first.pos)
	at := indexEntry{pos: first.pos}
	if e, _, err := l.floor(seg, byPosition, from+maxBytes); err != nil {
		return first, err
	} else if int64(e.pos) > from {
		at = e
	}
	if limit < l.segmentEnd(seg) {
		if e, _, err := l.floor(seg, byOffset, limit-seg.base); err != nil {
			return first, err
		} else if e.pos < at.pos {
			at = e
			if int64(e.pos) < from {
				at = indexEntry{pos: first.pos}
			}
		}
	}
	if pos := int64(at.pos); pos > from { // an entry that lies is no place to begin
		if h, err := w.header(pos); err == nil && h.BaseOffset() == seg.base+int64(at.rel) {
			return hint{offset: h.BaseOffset(), pos: at.pos}, nil
		}
	}
	return first, nil
}

func (l *Log) segmentEnd(seg *segment) int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return seg.next
}
