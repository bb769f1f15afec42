package segment

import (
	"errors"
	"io"

	"ringmain/record"
)

// Found is a record found by its time.
type Found struct {
	Offset      int64
	Timestamp   int64 // ms since 1970
	LeaderEpoch int32
}

// OffsetForTimestamp finds the first record, in offset order, below limit and
// not below the log start whose own timestamp is at least ts; ok is false if
// there is none. It reads batches and waits for the disk. ErrCorrupt where a lost record
// might be the one. Any goroutine.
func (l *Log) OffsetForTimestamp(ts, limit int64) (f Found, ok bool, err error) {
	for {
		f, ok, err = l.search(ts, limit)
		if err != nil && l.closed.Load() {
			return Found{}, false, ErrClosed
		}
		if !errors.Is(err, errGone) {
			return f, ok, err
		}
	}
}

// MaxTimestamp finds the first record below limit that has the largest
// timestamp; ok is false in an empty log. ErrCorrupt where a lost record might be the one.
// Any goroutine; waits for the disk.
func (l *Log) MaxTimestamp(limit int64) (f Found, ok bool, err error) {
	for {
		f, ok, err = l.searchMax(limit)
		if err != nil && l.closed.Load() {
			return Found{}, false, ErrClosed
		}
		if !errors.Is(err, errGone) {
			return f, ok, err
		}
	}
}

func (l *Log) search(ts, limit int64) (Found, bool, error) {
	start := l.start.Load()
	limit = min(limit, l.end.Load())
	for _, seg := range l.segmentList() {
		if l.segmentEnd(seg) <= start {
			continue
		}
		if seg.base >= limit {
			break
		}
		newest, err := l.newest(seg)
		if err != nil {
			return Found{}, false, err
		}
		if newest < ts {
			continue
		}
		f, ok, err := l.searchSegment(seg, ts, start, limit)
		if ok {
			err = l.lostWithin(start, f.Offset)
		}
		if err != nil {
			return Found{}, false, err
		}
		if ok {
			return f, true, nil
		}
	}
	return Found{}, false, l.lostWithin(start, limit)
}

// newest is the largest timestamp in a segment.
func (l *Log) newest(seg *segment) (int64, error) {
	if err := l.load(seg); err != nil {
		return 0, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return seg.maxTs, nil
}

// searchSegment walks from the index's floor: all batches before it are older.
func (l *Log) searchSegment(seg *segment, ts, start, limit int64) (f Found, ok bool, err error) {
	e, err := l.trustedFloor(seg, byTime, ts)
	if err != nil {
		return Found{}, false, err
	}
	err = l.batches(seg, int64(e.pos), limit, func(w *walk, pos int64, h record.Batch) (bool, error) {
		if h.MaxTimestamp() < ts || h.LastOffset() < start {
			return true, nil
		}
		b, err := w.whole(pos, h)
		if err != nil {
			return false, err
		}
		f.LeaderEpoch = b.LeaderEpoch()
		f.Offset, f.Timestamp, ok, err = firstAtOrAfter(b, ts, start)
		if ok && f.Offset >= limit {
			ok = false
		}
		return !ok, err
	})
	return f, ok, err
}

// firstAtOrAfter is record.FindTimestamp for records not below start.
func firstAtOrAfter(b record.Batch, ts, start int64) (offset, timestamp int64, ok bool, err error) {
	if b.BaseOffset() >= start {
		return record.FindTimestamp(b, ts)
	}
	err = record.Each(b, func(rec record.Record) (bool, error) {
		if rec.Offset >= start && rec.Timestamp >= ts {
			offset, timestamp, ok = rec.Offset, rec.Timestamp, true
		}
		return !ok, nil
	})
	return offset, timestamp, ok, err
}

func (l *Log) searchMax(limit int64) (best Found, ok bool, err error) {
	start := l.start.Load()
	limit = min(limit, l.end.Load())
	for _, seg := range l.segmentList() {
		end := l.segmentEnd(seg)
		if end <= start || seg.base >= limit {
			continue
		}
		newest, err := l.newest(seg)
		if err != nil {
			return Found{}, false, err
		}
		if newest == noIndexTimestamp || ok && newest <= best.Timestamp {
			continue
		}
		var f Found
		var got bool
		if seg.base >= start && end <= limit {
			f, got, err = l.firstWithMax(seg, newest)
		} else {
			f, got, err = l.maxWithin(seg, start, limit)
		}
		if err != nil {
			return Found{}, false, err
		}
		if got && (!ok || f.Timestamp > best.Timestamp) {
			best, ok = f, true
		}
	}
	if err := l.lostWithin(start, limit); err != nil {
		return Found{}, false, err
	}
	return best, ok, nil
}

// firstWithMax finds the record with a whole segment's largest timestamp.
func (l *Log) firstWithMax(seg *segment, newest int64) (f Found, ok bool, err error) {
	e, err := l.trustedFloor(seg, byTime, newest)
	if err != nil {
		return f, false, err
	}
	err = l.batches(seg, int64(e.pos), 1<<62, func(w *walk, pos int64, h record.Batch) (bool, error) {
		if h.MaxTimestamp() < newest {
			return true, nil
		}
		b, err := w.whole(pos, h)
		if err != nil {
			return false, err
		}
		f.LeaderEpoch = b.LeaderEpoch()
		f.Offset, f.Timestamp, err = record.FindMaxTimestamp(b)
		ok = err == nil && f.Offset >= 0
		return !ok, err
	})
	return f, ok, err
}

// maxWithin does it for a segment of which only the offsets from start up to
// limit count: by the batch headers, and by records where start or limit fall
// into a batch.
func (l *Log) maxWithin(seg *segment, start, limit int64) (best Found, ok bool, err error) {
	e, err := l.trustedFloor(seg, byOffset, max(start-seg.base, 0))
	if err != nil {
		return best, false, err
	}
	err = l.batches(seg, int64(e.pos), limit, func(w *walk, pos int64, h record.Batch) (bool, error) {
		if h.LastOffset() < start || ok && h.MaxTimestamp() <= best.Timestamp {
			return true, nil
		}
		b, err := w.whole(pos, h)
		if err != nil {
			return false, err
		}
		return true, record.Each(b, func(rec record.Record) (bool, error) {
			if rec.Offset >= start && rec.Offset < limit && (!ok || rec.Timestamp > best.Timestamp) {
				best, ok = Found{rec.Offset, rec.Timestamp, b.LeaderEpoch()}, true
			}
			return true, nil
		})
	})
	return best, ok, err
}

// trustedFloor is floor, compared with the log: an entry that does not point
// to its batch has the index built again.
func (l *Log) trustedFloor(seg *segment, k indexKey, key int64) (indexEntry, error) {
	for try := 0; ; try++ {
		e, x, err := l.floor(seg, k, key)
		if err != nil || x == nil || e.pos == 0 || l.pointsAtBatch(seg, e) {
			return e, err
		}
		if try > 0 {
			return indexEntry{}, nil // from the beginning is always right
		}
		if err := l.rebuild(seg, x, "an entry points to no batch"); err != nil {
			return e, err
		}
	}
}

// batches calls fn for the batches of a segment from pos on, as long as they
// begin below limit and fn wants more. Offsets lie outside of checksums: one that the
// segment or the batch behind contradicts is ErrCorrupt, as it is to who reads there.
func (l *Log) batches(seg *segment, pos, limit int64, fn func(w *walk, pos int64, h record.Batch) (more bool, err error)) error {
	size := l.publishedSize(seg)
	if err := seg.file.acquire(); err != nil {
		return err
	}
	defer seg.file.Release()
	w := newWalk(seg.file, size)
	defer w.done()
	expect, end := seg.base, l.segmentEnd(seg)
	for first := true; ; first = false {
		h, err := w.header(pos)
		if errors.Is(err, errEnd) {
			return nil
		}
		if err != nil {
			return err
		}
		if first && pos > 0 { // who gives a position knows the batch there
			expect = h.BaseOffset()
		}
		if h.BaseOffset() < expect || h.LastOffset() >= end {
			return corruptBatch(seg.file.Path(), pos, expect, "offsets %d to %d between %d and %d", h.BaseOffset(), h.LastOffset(), expect, end)
		}
		if h.BaseOffset() > expect {
			if _, err := w.passesOver(pos, h, expect); err != nil {
				return err
			}
			if h, err = w.header(pos); err != nil {
				return err
			}
		}
		if h.BaseOffset() >= limit {
			return nil
		}
		next := pos + int64(h.Size())
		expect = h.LastOffset() + 1
		if more, err := fn(w, pos, h); err != nil || !more {
			return err
		}
		pos = next
	}
}

// whole reads the batch at pos into memory of its own.
func (w *walk) whole(pos int64, h record.Batch) (record.Batch, error) {
	b := make([]byte, h.Size())
	if n, err := w.read(b, pos); n < len(b) {
		if err == nil || errors.Is(err, io.EOF) {
			err = corrupt(w.file.Path(), pos, "batch ends early")
		}
		return nil, err
	}
	if !record.Batch(b).ChecksumOK() {
		return nil, corruptBatch(w.file.Path(), pos, record.Batch(b).BaseOffset(), "checksum of the batch")
	}
	if err := w.file.home.epochs().refuse(w.file, pos, b); err != nil {
		return nil, err
	}
	return b, nil
}
