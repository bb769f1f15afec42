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
// least expect. What a batch holds is its producer's, and may itself be a batch: so nothing
// is looked for before the end of a damaged one where that can be told, which is where its
// length leads to the end of the file or to a batch that is sound or goes on with the
// offsets, or where its checksum says what the length was. One that continues the log and
// passes the end of the file was cut short, and nothing is behind it. Else the next reach
// bytes are searched.
func (w *walk) behind(pos, expect, reach int64) (next int64, found bool, err error) {
	from, continues := pos, expect
	for {
		b, err := w.damaged(from)
		if b == nil {
			return 0, false, err
		}
		next = from + int64(b.Size())
		whole, err := w.matches(from, b)
		if err != nil {
			return 0, false, err
		}
		if whole {
			from = next
			break
		}
		led := b.Size() >= record.HeaderSize
		if led && next < w.size {
			if found, err := w.soundAt(next, expect); found || err != nil {
				return next, found, err
			}
			h, err := w.damaged(next)
			if err != nil {
				return 0, false, err
			}
			if h != nil && h.Magic() == record.Magic && h.BaseOffset() == b.LastOffset()+1 {
				from, continues = next, h.BaseOffset()
				continue
			}
		}
		size, found, err := w.trueLength(from, expect, reach, b)
		if err != nil {
			return 0, false, err
		}
		cutShort := next > w.size && b.Magic() == record.Magic && b.LastOffsetDelta() >= 0 && b.BaseOffset() == continues
		if !found && (led && next == w.size || cutShort) {
			return 0, false, nil
		}
		from += max(size, 1)
		break
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

// check copies the header of the batch at pos to head, and compares its checksum and its
// offset. bad says why it does not continue a log that ends at expect, doubt which batch is
// the last not to be believed then (passesOver).
func (w *walk) check(pos, expect int64, head record.Batch) (doubt int64, bad, err error) {
	h, err := w.header(pos)
	switch {
	case errors.Is(err, errEnd):
		return pos, corrupt(w.file.Path(), pos, "%d bytes are less than a batch header", w.size-pos), nil
	case errors.Is(err, ErrCorrupt):
		return pos, err, nil
	case err != nil:
		return pos, nil, err
	}
	copy(head, h) // the checksum moves the window
	if head.BaseOffset() < expect || head.LastOffset()-w.file.base > 1<<31-1 {
		return pos, corrupt(w.file.Path(), pos, "offsets %d to %d where at least %d is expected", head.BaseOffset(), head.LastOffset(), expect), nil
	}
	if err = w.checksum(pos, h); err == nil {
		doubt, err = w.passesOver(pos, head, expect)
	} else {
		doubt = pos
	}
	if errors.Is(err, ErrCorrupt) {
		return doubt, err, nil
	}
	return doubt, nil, err
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
