package segment

import (
	"errors"
	"io"
	"math/bits"

	"ringmain/record"
)

// damaged is a copy of the header of a batch, whatever it says; nil if there is none.
func (w *walk) damaged(pos int64) (record.Batch, error) {
	if pos+record.HeaderSize > w.size {
		return nil, nil
	}
	b := make(record.Batch, record.HeaderSize)
	n, err := w.read(b, pos)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if n < len(b) {
		return nil, nil
	}
	return b, nil
}

// trueLength finds out how long the batch at pos was, whose header b says another length:
// its checksum is right up to there, and one bit of the length differs, or the file ends
// there, or a sound batch begins with an offset of at least expect. It looks at reach bytes.
func (w *walk) trueLength(pos, expect, reach int64, b record.Batch) (size int64, found bool, err error) {
	const crcFrom = 21
	buf := warmPool.Get().(*[warmChunk]byte)
	defer warmPool.Put(buf)
	table, sum := castagnoli, ^uint32(0)
	for at := pos + crcFrom; at < w.size && at < pos+reach; {
		n, err := w.read(buf[:min(warmChunk, w.size-at)], at)
		if err != nil && !errors.Is(err, io.EOF) {
			return 0, false, err
		}
		if n == 0 {
			return 0, false, nil
		}
		for _, c := range buf[:n] {
			sum = table[byte(sum)^c] ^ sum>>8 // as crc32.Update, byte by byte
			at++
			if ^sum != b.CRC() {
				continue
			}
			size = at - pos
			if size < record.HeaderSize {
				continue
			}
			if at == w.size || bits.OnesCount32(uint32(size-record.Overhead)^uint32(b.Size()-record.Overhead)) == 1 {
				return size, true, nil
			}
			if found, err := w.soundAt(at, expect); found || err != nil {
				return size, found, err
			}
		}
	}
	return 0, false, nil
}

// lastWhole reports whether the batch at pos is whole, whatever its offset, and nothing is
// behind it. Its header is copied to head.
func (w *walk) lastWhole(pos int64, head record.Batch) (bool, error) {
	b, err := w.damaged(pos)
	if b == nil || err != nil {
		return false, err
	}
	copy(head, b)
	if b.Magic() != record.Magic || b.LastOffsetDelta() < 0 || pos+int64(b.Size()) != w.size {
		return false, nil
	}
	return w.matches(pos, b)
}

// matches reports whether the checksum of the batch at pos, whose header is b, is right.
func (w *walk) matches(pos int64, b record.Batch) (bool, error) {
	if size := int64(b.Size()); size < record.HeaderSize || pos+size > w.size {
		return false, nil
	}
	err := w.checksum(pos, b)
	if errors.Is(err, ErrCorrupt) {
		return false, nil
	}
	return err == nil, err
}
