package segment

import (
	"encoding/binary"
	"errors"
	"io"

	"ringmain/record"
)

// torn reports whether the bytes at pos are the beginning of a write that was cut short:
// a batch that continues the log, of which nothing but the end is missing. What its records
// hold is its producer's and no part of the log, so nothing is looked for in it. Where the
// checksum says that a bit of the length was flipped, the batch is damaged, not torn.
func (w *walk) torn(pos, expect int64) (bool, error) {
	b, err := w.damaged(pos)
	if b == nil || b.Magic() != 2 || b.BaseOffset() != expect || b.LastOffsetDelta() < 0 || pos+int64(b.Size()) <= w.size {
		return false, err
	}
	_, flipped, err := w.flippedLength(pos, b)
	return err == nil && !flipped, err
}

// endsTorn reports whether the batch at pos is torn, or damaged and followed by nothing
// but such batches and a torn one.
func (w *walk) endsTorn(pos, expect int64) (bool, error) {
	for at := pos; ; {
		if torn, err := w.torn(at, expect); torn || err != nil {
			return torn, err
		}
		b, err := w.damaged(at)
		if b == nil || b.Magic() != 2 || b.BaseOffset() != expect || b.LastOffsetDelta() < 0 || b.Size() < record.HeaderSize {
			return false, err
		}
		if at > pos {
			if sound, err := w.matches(at, b); sound || err != nil {
				return false, err
			}
		}
		at, expect = at+int64(b.Size()), b.LastOffset()+1
	}
}

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

// flippedLength finds out how long the batch at pos was if one bit of the length in its
// header b was flipped: with which other one its checksum is right. It changes b.
func (w *walk) flippedLength(pos int64, b record.Batch) (size int64, found bool, err error) {
	length := binary.BigEndian.Uint32(b[8:])
	for bit := range 32 {
		binary.BigEndian.PutUint32(b[8:], length^1<<bit)
		if found, err = w.matches(pos, b); found || err != nil {
			return int64(b.Size()), found, err
		}
	}
	return 0, false, nil
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
