package segment

import (
	"errors"
	"hash/crc32"
	"io"
	"sync"

	"ringmain/record"
)

// walkWindow is how much a walk reads at once: several index intervals of
// small batches, or one header of a large batch without much waste.
const walkWindow = 16 << 10

// headerWindow is how much is read when it is known that batches are large.
const headerWindow = 128

// walk reads batch headers of a .log file one after the other. A reference to
// the file must be held. Walks are pooled.
type walk struct {
	file   *File
	size   int64 // read nothing at or beyond
	window int64 // bytes to read at once, up to walkWindow
	at     int64 // file position of buf[0]
	n      int
	buf    [walkWindow]byte
}

var walkPool = sync.Pool{New: func() any { return new(walk) }}

func newWalk(f *File, size int64) *walk {
	w := walkPool.Get().(*walk)
	w.file, w.size, w.window, w.at, w.n = f, size, walkWindow, 0, 0
	return w
}

func (w *walk) done() {
	w.file = nil
	walkPool.Put(w)
}

// read reads bytes of the file. If they come from the disk, what is known of
// them is not known any more: they are in the cache afterwards, and look as if
// they had always been there.
func (w *walk) read(p []byte, pos int64) (int, error) {
	if fd := w.file.Fd(); fd >= 0 {
		n, cold := readCached(fd, p, pos)
		if n == len(p) {
			return n, nil
		}
		if cold {
			w.file.sound.forget(pos, pos+int64(len(p)))
		}
	}
	return w.file.ReadAt(p, pos)
}

// errEnd: fewer bytes than a batch header are left.
var errEnd = errors.New("end of segment")

// header returns the header of the batch at pos, valid until the next call.
// Its length field is checked against the end: a batch that would reach
// beyond it is torn. A wrong one is ErrCorrupt.
func (w *walk) header(pos int64) (record.Batch, error) {
	if pos+record.HeaderSize > w.size {
		return nil, errEnd
	}
	if pos < w.at || pos+record.HeaderSize > w.at+int64(w.n) {
		n, err := w.read(w.buf[:min(w.window, w.size-pos)], pos)
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		w.at, w.n = pos, n
		if n < record.HeaderSize {
			return nil, errEnd
		}
	}
	h := record.Batch(w.buf[pos-w.at:][:record.HeaderSize])
	size := int64(h.Size())
	switch {
	case size < record.HeaderSize:
		return nil, corrupt(w.file.Path(), pos, "batch length of %d bytes", size)
	case h.Magic() != 2:
		return nil, corrupt(w.file.Path(), pos, "batch magic %d, want 2", h.Magic())
	case h.LastOffsetDelta() < 0:
		return nil, corrupt(w.file.Path(), pos, "last offset delta %d", h.LastOffsetDelta())
	case h.BaseOffset() < w.file.base:
		return nil, corrupt(w.file.Path(), pos, "base offset %d in the segment of %d", h.BaseOffset(), w.file.base)
	case pos+size > w.size:
		return nil, corrupt(w.file.Path(), pos, "batch of %d bytes with %d left", size, w.size-pos)
	}
	return h, nil
}

// checksum verifies the batch at pos, whose header is h, piece by piece: a
// batch may be larger than any buffer we want to hold.
func (w *walk) checksum(pos int64, h record.Batch) error {
	const crcFrom = 21                                             // attributes; what lies before is outside the CRC
	want, size, offset := h.CRC(), int64(h.Size()), h.BaseOffset() // h dies with the first read
	sum := uint32(0)
	for at := int64(crcFrom); at < size; {
		n := min(size-at, w.at+int64(w.n)-(pos+at))
		if n <= 0 || pos+at < w.at { // the window may have gone on since the header was read
			k, err := w.read(w.buf[:min(walkWindow, w.size-pos-at)], pos+at)
			if err != nil && !errors.Is(err, io.EOF) {
				return err
			}
			if k == 0 {
				return corrupt(w.file.Path(), pos, "batch ends early")
			}
			w.at, w.n = pos+at, k
			continue
		}
		sum = crc32.Update(sum, castagnoli, w.buf[pos+at-w.at:][:n])
		at += n
	}
	if sum != want {
		return corruptBatch(w.file.Path(), pos, offset, "checksum is %#08x, the batch says %#08x", sum, want)
	}
	return nil
}

// passesOver looks at a batch that begins above the offset that is expected, as batches of
// cleaned logs do. No checksum covers that offset: where a sound batch behind it begins
// within what it passes over or holds, one of the two is ErrCorrupt. It is this one if it has room
// before the other; doubt is then the last batch that must not be believed: where the other
// does not go on right where this one would have ended, it may as well be that one. Without
// room it is the other, which is not for this batch to answer for.
func (w *walk) passesOver(pos int64, b record.Batch, expect int64) (doubt int64, err error) {
	base, last, next := b.BaseOffset(), b.LastOffset(), pos+int64(b.Size()) // b dies with the next header
	if base <= expect {
		return pos, nil
	}
	room := expect + last - base + 1 // where the batch behind begins if this one were moved down
	h, err := w.header(next)
	if err == nil {
		offset := h.BaseOffset()
		if offset < room || offset > last {
			return pos, nil
		}
		if err = w.checksum(next, h); err == nil {
			if doubt = pos; offset > room {
				doubt = next
			}
			return doubt, corruptBatch(w.file.Path(), pos, expect, "batch at offset %d where %d is expected, and behind it one at %d", base, expect, offset)
		}
	}
	if errors.Is(err, ErrCorrupt) || errors.Is(err, errEnd) {
		return pos, nil
	}
	return pos, err
}
