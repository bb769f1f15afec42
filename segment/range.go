package segment

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"sync"

	"ringmain/record"
)

// Range is whole batches in one file. It holds a reference to the file until
// Release; the zero Range is empty and needs none.
type Range struct {
	File *File
	Off  int64
	N    int // bytes
}

// Release gives the reference back.
func (r Range) Release() {
	if r.File != nil {
		r.File.Release()
	}
}

// Ready reports whether the range can be sent as it is: its bytes are known to
// be sound, and the page cache has them, so that reading does not wait for the
// disk. If not, Warm comes first.
func (r Range) Ready() bool {
	return r.N == 0 || r.File.sound.knows(r.Off, r.Off+int64(r.N)) && r.Hot()
}

// Hot reports whether the page cache has the whole range. On a system that
// cannot tell it says yes.
func (r Range) Hot() bool {
	if r.N == 0 || r.File.Fd() < 0 {
		return true
	}
	return cached(r.File.Fd(), r.Off, int64(r.N))
}

// warmChunk is how much Warm reads at once.
const warmChunk = 256 << 10

var warmPool = sync.Pool{New: func() any { return new([warmChunk]byte) }}

// Warm reads the range into the page cache and compares the checksum of each
// batch on the way; it waits for the disk. It gives what may be sent: the whole
// range, or the batches before the first that is damaged, with a DamageError.
// The reference stays with the caller's range, whichever of the two is used.
func (r Range) Warm() (Range, error) {
	if r.N == 0 {
		return r, nil
	}
	if !r.Hot() {
		r.File.sound.forget(r.Off, r.Off+int64(r.N))
	}
	willNeed(r.File.Fd(), r.Off, int64(r.N))
	s := sumPool.Get().(*summing)
	good, err := s.run(r)
	sumPool.Put(s)
	r.File.sound.learn(r.Off, r.Off+int64(good))
	r.N = good
	return r, err
}

var sumPool = sync.Pool{New: func() any { return new(summing) }}

// summing compares checksums of batches while they pass through a buffer. A
// batch may be larger than the buffer, and begin anywhere in it.
type summing struct {
	r        Range
	buf      *[warmChunk]byte
	have, at int   // bytes in buf, and how many of them are done with
	read     int   // bytes of the range read so far
	good     int   // bytes of the range that are sound batches
	last     int   // where the last of them begins
	next     int64 // lowest offset that the next batch may have
	epochs   epochHistory
}

// run returns how much of the range is sound batches, from its beginning on.
func (s *summing) run(r Range) (good int, err error) {
	*s = summing{r: r, buf: warmPool.Get().(*[warmChunk]byte), next: r.File.base, epochs: r.File.home.epochs()}
	for err == nil && s.good < r.N {
		err = s.batch()
	}
	if err == nil {
		err = s.behind()
	}
	good = s.good
	warmPool.Put(s.buf)
	*s = summing{}
	return good, err
}

// corrupt blames the batch at the end of what is sound.
func (s *summing) corrupt(offset int64, format string, args ...any) error {
	return corruptBatch(s.r.File.Path(), s.r.Off+int64(s.good), offset, format, args...)
}

// batch reads one batch and compares it with its checksum.
func (s *summing) batch() error {
	const crcFrom = 21 // attributes; what lies before is outside the CRC
	for s.have-s.at < record.HeaderSize {
		if s.read == s.r.N {
			return s.corrupt(-1, "%d bytes are less than a batch header", s.have-s.at)
		}
		s.have = copy(s.buf[:], s.buf[s.at:s.have])
		s.at = 0
		if err := s.fill(); err != nil {
			return err
		}
	}
	h := record.Batch(s.buf[s.at:][:record.HeaderSize])
	size, base, end, want := h.Size(), h.BaseOffset(), h.LastOffset()+1, h.CRC()
	switch {
	case h.Magic() != 2:
		return s.corrupt(-1, "batch magic %d, want 2", h.Magic())
	case size < record.HeaderSize || size > s.r.N-s.good:
		return s.corrupt(-1, "batch length of %d bytes with %d left", size, s.r.N-s.good)
	case h.LastOffsetDelta() < 0 || end-s.r.File.base > 1<<31:
		return s.corrupt(-1, "offsets %d to %d in the segment of %d", base, end-1, s.r.File.base)
	case s.r.Off+int64(s.good) < s.r.File.found && end > s.r.File.end:
		return s.corrupt(base, "offsets %d to %d in the segment of %d to %d; it may be another segment's file", base, end-1, s.r.File.base, s.r.File.end-1)
	case base < s.next:
		// Offsets lie outside the checksum: either batch may be the one that
		// lies, so the one before is not sent either.
		s.good = s.last
		return s.corrupt(base, "batch at offset %d where at least %d is expected", base, s.next)
	}
	wrong := s.epochs.refuse(s.r.File, s.r.Off+int64(s.good), h)
	sum := uint32(0)
	s.at += crcFrom
	for left := size - crcFrom; ; {
		n := min(left, s.have-s.at)
		sum = crc32.Update(sum, castagnoli, s.buf[s.at:][:n])
		s.at, left = s.at+n, left-n
		if left == 0 {
			break
		}
		s.have, s.at = 0, 0
		if err := s.fill(); err != nil {
			return err
		}
	}
	if sum != want {
		return s.corrupt(base, "checksum is %#08x, the batch says %#08x", sum, want)
	}
	if wrong != nil {
		return wrong
	}
	s.last, s.good, s.next = s.good, s.good+size, end
	return nil
}

// behind looks at the batch after the range, if there is one: the last one's
// offsets lie outside its checksum, and must fit.
func (s *summing) behind() error {
	n, err := s.r.File.ReadAt(s.buf[:record.HeaderSize], s.r.Off+int64(s.r.N))
	if n < record.HeaderSize || err != nil && !errors.Is(err, io.EOF) {
		return nil // the end, for now
	}
	h := record.Batch(s.buf[:record.HeaderSize])
	if h.Magic() == 2 && h.Size() >= record.HeaderSize && h.BaseOffset() >= s.r.File.base && h.BaseOffset() < s.next {
		s.good = s.last
		return s.corrupt(h.BaseOffset(), "the batch ends at offset %d, the one behind it begins at %d", s.next-1, h.BaseOffset())
	}
	return nil
}

// fill reads on behind what the buffer holds.
func (s *summing) fill() error {
	n, err := s.r.File.ReadAt(s.buf[s.have:s.have+min(warmChunk-s.have, s.r.N-s.read)], s.r.Off+int64(s.read))
	s.have, s.read = s.have+n, s.read+n
	if errors.Is(err, io.EOF) {
		if n > 0 {
			return nil // and again without a byte, if more is wanted
		}
		at := s.r.Off + int64(s.read)
		return s.corrupt(-1, "the file ends at byte %d, before byte %d", at, s.r.Off+int64(s.r.N))
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrStorage, err)
	}
	return nil
}
