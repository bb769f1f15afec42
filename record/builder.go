package record

import (
	"encoding/binary"
	"fmt"
)

// Builder builds batches, for tests, tools and what the broker itself writes.
// Fields may be set until Build; NewBuilder gives those of a plain producer.
type Builder struct {
	BaseOffset    int64
	LeaderEpoch   int32
	Codec         Codec
	Level         int // of the codec; 0 is its default
	ProducerID    int64
	ProducerEpoch int16
	BaseSequence  int32
	Transactional bool
	Control       bool
	LogAppendTime bool
	AppendTimeMs  int64 // the largest timestamp, if LogAppendTime
	// LastOffsetDelta counts where it is above that of the last record, as in a
	// batch whose last records compaction removed.
	LastOffsetDelta int32
	// DeleteHorizonMs is when tombstones of the batch may go (KIP-534); 0 sets
	// none.
	DeleteHorizonMs int64

	records       []byte
	count         int32
	lastDelta     int32
	baseTimestamp int64
	maxTimestamp  int64
}

// NewBuilder returns a builder for an uncompressed batch of a producer that is
// not idempotent.
func NewBuilder() *Builder {
	return &Builder{LeaderEpoch: -1, ProducerID: NoProducerID, ProducerEpoch: -1, BaseSequence: NoSequence}
}

// Add appends a record at the next offset. Timestamp in ms; nil is null.
func (b *Builder) Add(timestamp int64, key, value []byte, headers ...Header) *Builder {
	delta := int32(0)
	if b.count > 0 {
		delta = b.lastDelta + 1
	}
	return b.AddAt(delta, timestamp, key, value, headers...)
}

// AddAt appends a record with an offset delta, which may leave a gap as
// compaction does.
func (b *Builder) AddAt(delta int32, timestamp int64, key, value []byte, headers ...Header) *Builder {
	if b.count == 0 {
		b.baseTimestamp, b.maxTimestamp = timestamp, timestamp
		if b.DeleteHorizonMs != 0 { // has no field of its own
			b.baseTimestamp = b.DeleteHorizonMs
		}
	}
	b.maxTimestamp = max(b.maxTimestamp, timestamp)
	b.lastDelta = delta
	b.count++
	body := make([]byte, 1, 32+len(key)+len(value)) // the attributes, none in use
	body = binary.AppendVarint(body, timestamp-b.baseTimestamp)
	body = binary.AppendVarint(body, int64(delta))
	body = appendField(body, key)
	body = appendField(body, value)
	body = binary.AppendVarint(body, int64(len(headers)))
	for _, h := range headers {
		body = binary.AppendVarint(body, int64(len(h.Key)))
		body = append(body, h.Key...)
		body = appendField(body, h.Value)
	}
	b.records = binary.AppendVarint(b.records, int64(len(body)))
	b.records = append(b.records, body...)
	return b
}

func appendField(dst, field []byte) []byte {
	if field == nil {
		return binary.AppendVarint(dst, -1)
	}
	dst = binary.AppendVarint(dst, int64(len(field)))
	return append(dst, field...)
}

// Count is the number of records added.
func (b *Builder) Count() int { return int(b.count) }

// Size is the number of bytes of the records added, before compression.
func (b *Builder) Size() int { return len(b.records) }

// Build returns the batch, in memory of its own. The builder can be used on,
// or begun anew with Reset. A codec or level that does not exist is the
// caller's mistake and panics.
func (b *Builder) Build() Batch {
	out := &room{b: make([]byte, HeaderSize, HeaderSize+len(b.records)), limit: 1<<31 - 1}
	sink, err := newSink(b.Codec, b.Level)
	if err == nil {
		sink.Reset(out)
		_, err = sink.Write(b.records)
	}
	if err == nil {
		err = sink.Close()
	}
	if err != nil {
		panic(fmt.Sprintf("record: build a batch: %v", err))
	}
	return b.seal(out.b)
}

// seal fills in the header of a batch whose records are in place.
func (b *Builder) seal(out Batch) Batch {
	attrs := int16(b.Codec)
	maxTimestamp := b.maxTimestamp
	if b.count == 0 {
		maxTimestamp = NoTimestamp
	}
	if b.LogAppendTime {
		attrs |= attrLogAppendTime
		maxTimestamp = b.AppendTimeMs
	}
	if b.Transactional {
		attrs |= attrTransactional
	}
	if b.Control {
		attrs |= attrControl
	}
	if b.DeleteHorizonMs != 0 {
		attrs |= attrDeleteHorizon
	}
	put := binary.BigEndian
	put.PutUint32(out[posLength:], uint32(len(out)-Overhead))
	out[posMagic] = Magic
	put.PutUint16(out[posAttributes:], uint16(attrs))
	put.PutUint32(out[posLastOffsetDelta:], uint32(max(b.lastDelta, b.LastOffsetDelta)))
	put.PutUint64(out[posBaseTimestamp:], uint64(b.baseTimestamp))
	put.PutUint64(out[posMaxTimestamp:], uint64(maxTimestamp))
	put.PutUint64(out[posProducerID:], uint64(b.ProducerID))
	put.PutUint16(out[posProducerEpoch:], uint16(b.ProducerEpoch))
	put.PutUint32(out[posBaseSequence:], uint32(b.BaseSequence))
	put.PutUint32(out[posCount:], uint32(b.count))
	out.Stamp(b.BaseOffset, b.LeaderEpoch)
	out.sign()
	return out
}

// Reset drops the records; the other fields stay.
func (b *Builder) Reset() {
	b.records = b.records[:0]
	b.count, b.lastDelta, b.baseTimestamp, b.maxTimestamp = 0, 0, 0, 0
}
