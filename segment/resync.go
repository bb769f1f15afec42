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
// least expect: where its length leads to, which spares looking into what it holds, or else
// anywhere.
func (w *walk) behind(pos, expect int64) (next int64, found bool, err error) {
	if h, err := w.header(pos); err == nil {
		next = pos + int64(h.Size())
		if h, err = w.header(next); err == nil && h.BaseOffset() >= expect && h.BaseOffset()-w.file.base < 1<<31 {
			if err = w.checksum(next, h); err == nil || !errors.Is(err, ErrCorrupt) {
				return next, err == nil, err
			}
		}
	}
	return w.resync(pos+1, expect)
}

// plausible spares the checksum where it cannot be right.
func (w *walk) plausible(b []byte, pos, expect int64) bool {
	h := record.Batch(b[:record.HeaderSize])
	base, size := h.BaseOffset(), int64(h.Size())
	count := int32(binary.BigEndian.Uint32(b[record.HeaderSize-4:]))
	return base >= expect && base-w.file.base < 1<<31 && size >= record.HeaderSize && pos+size <= w.size &&
		h.LastOffsetDelta() >= 0 && count >= 0 && count <= h.LastOffsetDelta()+1
}

// goRound logs bytes of a segment that are no batch, and gives the place of the
// next batch, or the end of the walk.
func (l *Log) goRound(w *walk, pos, expect int64, why error) (next int64, err error) {
	next, found, err := w.resync(pos+1, expect)
	if err != nil {
		return pos, err
	}
	if !found {
		next = w.size
	}
	l.log.Error("bytes of a segment are no batch; reads of what was there are refused",
		"file", w.file.Path(), "position", pos, "bytes", next-pos, "offset", expect, "reason", why)
	return next, nil
}
