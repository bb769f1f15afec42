package record

import (
	"encoding/binary"
	"errors"
	"io"
)

// Retain builds a stored batch again with the records that keep chooses by
// their index, as compaction does. Everything that others rely on stays: base
// offset, last offset delta, leader epoch, producer, sequence, codec, offsets
// and timestamps of the records. horizonMs sets the delete horizon; with 0 it
// stays as it is. At least one record must be kept, see Emptied. The largest
// timestamp becomes that of the records that are left.
func Retain(b Batch, keep func(index int) bool, horizonMs int64) (Batch, error) {
	r, err := NewReader(b)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	w := NewBuilder()
	w.BaseOffset, w.LeaderEpoch, w.Codec = b.BaseOffset(), b.LeaderEpoch(), b.Codec()
	w.ProducerID, w.ProducerEpoch, w.BaseSequence = b.ProducerID(), b.ProducerEpoch(), b.BaseSequence()
	w.Transactional, w.Control = b.Transactional(), b.Control()
	w.LogAppendTime, w.AppendTimeMs = b.LogAppendTime(), b.MaxTimestamp()
	w.LastOffsetDelta, w.DeleteHorizonMs = b.LastOffsetDelta(), horizonMs
	if old, ok := b.DeleteHorizon(); ok && horizonMs == 0 {
		w.DeleteHorizonMs = old
	}
	for i := 0; ; i++ {
		rec, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		if keep(i) {
			w.AddAt(int32(rec.Offset-b.BaseOffset()), rec.Timestamp, rec.Key, rec.Value, rec.Headers...)
		}
	}
	if w.Count() == 0 {
		return nil, failf(ErrInvalid, "no record of the batch at offset %d is kept: an emptied batch is a header alone", b.BaseOffset())
	}
	return w.Build(), nil
}

// Emptied is a batch's header without its records: what compaction leaves of a
// batch whose offsets, epoch or sequence are still needed.
func Emptied(b Batch) Batch {
	out := Batch(append(make([]byte, 0, HeaderSize), b[:HeaderSize]...))
	put := binary.BigEndian
	put.PutUint32(out[posLength:], HeaderSize-Overhead)
	put.PutUint16(out[posAttributes:], uint16(b.Attributes()&(attrLogAppendTime|attrTransactional|attrControl)))
	put.PutUint64(out[posBaseTimestamp:], uint64(b.MaxTimestamp()))
	put.PutUint32(out[posCount:], 0)
	out.sign()
	return out
}
