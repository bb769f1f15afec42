package record

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"
)

// Where the fields of a batch lie, in bytes from its start. All numbers are
// big-endian. Source: Kafka's documentation, "Record Batch" (KIP-98).
const (
	posBaseOffset      = 0
	posLength          = 8 // counts the bytes after itself
	posLeaderEpoch     = 12
	posMagic           = 16
	posCRC             = 17 // CRC-32C of everything from posAttributes on
	posAttributes      = 21
	posLastOffsetDelta = 23
	posBaseTimestamp   = 27
	posMaxTimestamp    = 35
	posProducerID      = 43
	posProducerEpoch   = 51
	posBaseSequence    = 53
	posCount           = 57
)

const (
	// HeaderSize is the size of a batch without its records, in bytes.
	HeaderSize = 61
	// Overhead is what batchLength does not count: the base offset and itself.
	Overhead = 12
	// minLength is the batchLength of a batch with no bytes of records.
	minLength = HeaderSize - Overhead
	// Magic is the only batch format there is since Kafka 4.0 (KIP-724).
	Magic = 2
	// NoTimestamp is the timestamp of a record that has none.
	NoTimestamp int64 = -1
	// NoProducerID marks a batch of a producer that is not idempotent.
	NoProducerID int64 = -1
	// NoSequence is the base sequence of such a batch.
	NoSequence int32 = -1
)

const (
	attrCodec         = 0x07
	attrLogAppendTime = 0x08
	attrTransactional = 0x10
	attrControl       = 0x20
	attrDeleteHorizon = 0x40
)

// CRC-32C, for which the processor has an instruction.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Batch is exactly one record batch of format 2, header and records. The
// getters need HeaderSize bytes, which First guarantees.
type Batch []byte

// First frames the first batch in b: the result is exactly that batch, aliasing
// b. ErrIncomplete: b ends before the batch does (a caller that reads pieces
// reads on, a log's end is cut there). ErrCorrupt: these bytes are no batch.
// The checksum is not computed.
func First(b []byte) (Batch, error) {
	if len(b) < posLength+4 {
		return nil, ErrIncomplete
	}
	length := int32(binary.BigEndian.Uint32(b[posLength:]))
	if length < minLength {
		return nil, failf(ErrCorrupt, "batch length %d is below the minimum of %d", length, minLength)
	}
	if len(b) <= posMagic {
		return nil, ErrIncomplete
	}
	if m := int8(b[posMagic]); m != Magic {
		return nil, failf(ErrCorrupt, "batch magic is %d, only %d is stored", m, Magic)
	}
	size := int64(length) + Overhead
	if size > int64(len(b)) {
		return nil, ErrIncomplete
	}
	return Batch(b[:size:size]), nil
}

// BaseOffset is the offset of the batch's first record.
func (b Batch) BaseOffset() int64 { return int64(binary.BigEndian.Uint64(b[posBaseOffset:])) }

// Size is the whole batch in bytes, as its length field has it.
func (b Batch) Size() int { return int(int32(binary.BigEndian.Uint32(b[posLength:]))) + Overhead }

// LeaderEpoch is the epoch of the leader that appended the batch.
func (b Batch) LeaderEpoch() int32 { return int32(binary.BigEndian.Uint32(b[posLeaderEpoch:])) }

// Magic is the batch's format.
func (b Batch) Magic() int8 { return int8(b[posMagic]) }

// CRC is the stored checksum.
func (b Batch) CRC() uint32 { return binary.BigEndian.Uint32(b[posCRC:]) }

// Attributes are the batch's flag bits.
func (b Batch) Attributes() int16 { return int16(binary.BigEndian.Uint16(b[posAttributes:])) }

// Codec is how the records are compressed; it may be one that does not exist
// (Codec.Known tells).
func (b Batch) Codec() Codec { return Codec(b[posAttributes+1] & attrCodec) }

// LogAppendTime reports whether MaxTimestamp is every record's timestamp, set
// by the broker.
func (b Batch) LogAppendTime() bool { return b[posAttributes+1]&attrLogAppendTime != 0 }

// Transactional reports whether the batch belongs to a transaction.
func (b Batch) Transactional() bool { return b[posAttributes+1]&attrTransactional != 0 }

// Control reports whether the batch holds a transaction marker.
func (b Batch) Control() bool { return b[posAttributes+1]&attrControl != 0 }

// DeleteHorizon is the time in ms from which tombstones and markers of this
// batch may go (KIP-534); ok is false if no cleaning has set it.
func (b Batch) DeleteHorizon() (ms int64, ok bool) {
	return b.BaseTimestamp(), b[posAttributes+1]&attrDeleteHorizon != 0
}

// LastOffsetDelta is LastOffset - BaseOffset.
func (b Batch) LastOffsetDelta() int32 {
	return int32(binary.BigEndian.Uint32(b[posLastOffsetDelta:]))
}

// LastOffset is the offset of the last record the batch was written with.
func (b Batch) LastOffset() int64 { return b.BaseOffset() + int64(b.LastOffsetDelta()) }

// BaseTimestamp is what the records' timestamps count from, ms since 1970.
func (b Batch) BaseTimestamp() int64 { return int64(binary.BigEndian.Uint64(b[posBaseTimestamp:])) }

// MaxTimestamp is the largest timestamp of the records, ms since 1970.
func (b Batch) MaxTimestamp() int64 { return int64(binary.BigEndian.Uint64(b[posMaxTimestamp:])) }

// ProducerID is the idempotent producer's id, or NoProducerID.
func (b Batch) ProducerID() int64 { return int64(binary.BigEndian.Uint64(b[posProducerID:])) }

// ProducerEpoch is that producer's epoch.
func (b Batch) ProducerEpoch() int16 { return int16(binary.BigEndian.Uint16(b[posProducerEpoch:])) }

// BaseSequence is the first record's sequence number, or NoSequence.
func (b Batch) BaseSequence() int32 { return int32(binary.BigEndian.Uint32(b[posBaseSequence:])) }

// LastSequence is the last record's sequence number. Sequences count in 31
// bits: after 2147483647 comes 0.
func (b Batch) LastSequence() int32 {
	base := b.BaseSequence()
	if base == NoSequence {
		return NoSequence
	}
	return int32((int64(base) + int64(b.LastOffsetDelta())) & math.MaxInt32)
}

// Count is the number of records that the batch says it holds.
func (b Batch) Count() int32 { return int32(binary.BigEndian.Uint32(b[posCount:])) }

// Records are the bytes after the header, compressed if Codec says so.
func (b Batch) Records() []byte { return b[HeaderSize:] }

// ChecksumOK reports whether the stored checksum is that of the bytes.
func (b Batch) ChecksumOK() bool { return crc32.Checksum(b[posAttributes:], castagnoli) == b.CRC() }

// Stamp writes what the leader decides. Both fields lie before the part that
// the checksum covers, so appending needs no second pass over the bytes.
func (b Batch) Stamp(baseOffset int64, leaderEpoch int32) {
	binary.BigEndian.PutUint64(b[posBaseOffset:], uint64(baseOffset))
	binary.BigEndian.PutUint32(b[posLeaderEpoch:], uint32(leaderEpoch))
}

// setTimes writes timestamp type and largest timestamp and reports whether that
// changed anything; the checksum is then wrong until sign. As in Kafka, the
// attribute bits that have no meaning are cleared by a change.
func (b Batch) setTimes(logAppendTime bool, maxTimestamp int64) bool {
	if b.LogAppendTime() == logAppendTime && b.MaxTimestamp() == maxTimestamp {
		return false
	}
	attrs := b.Attributes() & (attrCodec | attrTransactional | attrControl | attrDeleteHorizon)
	if logAppendTime {
		attrs |= attrLogAppendTime
	}
	binary.BigEndian.PutUint16(b[posAttributes:], uint16(attrs))
	binary.BigEndian.PutUint64(b[posMaxTimestamp:], uint64(maxTimestamp))
	return true
}

// sign writes the checksum.
func (b Batch) sign() {
	binary.BigEndian.PutUint32(b[posCRC:], crc32.Checksum(b[posAttributes:], castagnoli))
}

// String says what a log line needs to name the batch.
func (b Batch) String() string {
	if len(b) < HeaderSize {
		return fmt.Sprintf("batch of %d bytes, less than a header", len(b))
	}
	return fmt.Sprintf("batch offsets %d-%d, %d bytes, codec %s, producer %d/%d sequence %d",
		b.BaseOffset(), b.LastOffset(), b.Size(), b.Codec(), b.ProducerID(), b.ProducerEpoch(), b.BaseSequence())
}
