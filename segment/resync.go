package segment

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"

	"ringmain/record"
)

// resync looks for the next sound batch behind damage: the first place at or
// after from where a header begins that fits the segment and whose checksum is
// right. Its offset is at least expect. It reads byte by byte, because a damaged
// length says nothing about where the next batch begins.
func (w *walk) resync(from, expect int64) (pos int64, found bool, err error) {
	const magicAt = 16
	buf := warmPool.Get().(*[warmChunk]byte)
	defer warmPool.Put(buf)
	for from+record.HeaderSize <= w.size {
		n, err := w.read(buf[:min(warmChunk, w.size-from)], from)
		if err != nil && !errors.Is(err, io.EOF) {
			return 0, false, err
		}
		if n < record.HeaderSize {
			return 0, false, nil
		}
		last := n - record.HeaderSize // where a whole header may begin
		for i := 0; i <= last; i++ {
			k := bytes.IndexByte(buf[i+magicAt:last+magicAt+1], 2)
			if k < 0 {
				break
			}
			i += k
			if !w.plausible(buf[i:], from+int64(i), expect) {
				continue
			}
			h, err := w.header(from + int64(i))
			if err != nil {
				continue
			}
			switch err := w.checksum(from+int64(i), h); {
			case err == nil:
				return from + int64(i), true, nil
			case !errors.Is(err, ErrCorrupt):
				return 0, false, err
			}
		}
		from += int64(last) + 1
	}
	return 0, false, nil
}

// behind looks for the next sound batch behind a damaged one at pos, with an offset of at
// least expect: from its end on where its checksum says that its length is right, or which
// bit of it is not; else where its length leads to; else in the next reach bytes. What a
// batch holds is its producer's, and may itself be a batch.
func (w *walk) behind(pos, expect, reach int64) (next int64, found bool, err error) {
	from := pos + 1
	if b, err := w.damaged(pos); err != nil {
		return 0, false, err
	} else if b != nil {
		next = pos + int64(b.Size())
		if found, err = w.matches(pos, b); err != nil {
			return 0, false, err
		}
		if found {
			from = next
		} else {
			if b.Size() >= record.HeaderSize {
				if found, err = w.soundAt(next, expect); found || err != nil {
					return next, found, err
				}
			}
			size, found, err := w.flippedLength(pos, b)
			if err != nil {
				return 0, false, err
			}
			if found {
				from = pos + size
			}
		}
	}
	w.size = min(w.size, from+reach)
	return w.resync(from, expect)
}

// soundAt reports whether a sound batch is at pos, with an offset of at least expect.
func (w *walk) soundAt(pos, expect int64) (bool, error) {
	h, err := w.header(pos)
	if err == nil && (h.BaseOffset() < expect || h.BaseOffset()-w.file.base >= 1<<31) {
		return false, nil
	}
	if err == nil {
		err = w.checksum(pos, h)
	}
	if errors.Is(err, ErrCorrupt) || errors.Is(err, errEnd) {
		return false, nil
	}
	return err == nil, err
}

// blamed tells which batch is damaged where the one at pos does not continue the one
// before it: that one, if its checksum is wrong, since nobody has compared it yet.
func (w *walk) blamed(before, pos int64) (int64, error) {
	if before == pos {
		return pos, nil
	}
	h, err := w.header(before)
	if err == nil {
		err = w.checksum(before, h)
	}
	if errors.Is(err, ErrCorrupt) || errors.Is(err, errEnd) {
		return before, nil
	}
	return pos, err
}

// follows says what is wrong with the offsets of the batch at pos, whose header is h, behind
// the batch before it, that began at low or above and would end before expect. It may begin
// lower where that batch is damaged itself. h is gone afterwards.
func (w *walk) follows(before, pos int64, h record.Batch, low, expect int64) (doubt int64, err error) {
	if base := h.BaseOffset(); base < expect {
		bad, err := w.blamed(before, pos)
		if err != nil || bad != pos && base >= low {
			return pos, err
		}
		return pos, corrupt(w.file.Path(), pos, "batch at offset %d where at least %d is expected", base, expect)
	}
	if h.LastOffset()-w.file.base > 1<<31-1 {
		return pos, corrupt(w.file.Path(), pos, "offsets %d to %d in the segment of %d", h.BaseOffset(), h.LastOffset(), w.file.base)
	}
	return w.passesOver(pos, h, expect)
}

// plausible spares the checksum where it cannot be right.
func (w *walk) plausible(b []byte, pos, expect int64) bool {
	h := record.Batch(b[:record.HeaderSize])
	base, size := h.BaseOffset(), int64(h.Size())
	count := int32(binary.BigEndian.Uint32(b[record.HeaderSize-4:]))
	return base >= expect && base-w.file.base < 1<<31 && size >= record.HeaderSize && pos+size <= w.size &&
		h.LastOffsetDelta() >= 0 && count >= 0 && count <= h.LastOffsetDelta()+1
}

// goRound logs bytes of a segment that are no batch, from pos to the end of the one at
// doubt (passesOver), and gives the place of the next batch, or the end of the walk.
func (l *Log) goRound(w *walk, pos, doubt, expect int64, why error) (next int64, err error) {
	size := w.size
	next, found, err := w.behind(doubt, expect, size)
	if err != nil {
		return pos, err
	}
	if !found {
		next = size
	}
	l.log.Error("bytes of a segment are no batch; reads of what was there are refused",
		"file", w.file.Path(), "position", pos, "bytes", next-pos, "offset", expect, "reason", why)
	return next, nil
}
