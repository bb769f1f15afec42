package audit

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"time"
)

// The layout of a stamp, at the start of a record's value, big-endian:
//
//	 0  4  magic "rmS1"
//	 4  4  run: which run of the tool wrote it
//	 8  4  producer, from 0
//	12  4  partition, counted from 0 through all topics of the run
//	16  8  sequence in the stream (producer, partition), from 0
//	24  8  moment of the intended send, ns of the host's monotonic clock
//	32  4  CRC-32C of the 32 bytes before
//
// It has a checksum of its own although the batch has one: a broker that opens
// batches (to compress them anew) writes that one itself.
const (
	StampBytes = 36

	stampMagic    = 0x726d5331
	stampChecked  = StampBytes - 4
	sequenceStart = 16
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// ErrNoStamp means that a value does not begin with a stamp: somebody else's
// record.
var ErrNoStamp = errors.New("the value does not begin with a stamp")

// ErrDamaged means that a value begins like a stamp and fails its checksum.
var ErrDamaged = errors.New("the stamp's checksum is wrong")

// Stamp names one record of one run.
type Stamp struct {
	Run       uint32
	Producer  uint32
	Partition int32
	Sequence  uint64
	Sent      time.Duration // on the monotonic clock of this host
}

// Put writes the stamp into the first StampBytes of value.
func (s Stamp) Put(value []byte) {
	_ = value[StampBytes-1]
	binary.BigEndian.PutUint32(value, stampMagic)
	binary.BigEndian.PutUint32(value[4:], s.Run)
	binary.BigEndian.PutUint32(value[8:], s.Producer)
	binary.BigEndian.PutUint32(value[12:], uint32(s.Partition))
	Restamp(value, s.Sequence, s.Sent)
}

// Restamp changes what differs from one record of a stream to the next.
func Restamp(value []byte, sequence uint64, sent time.Duration) {
	binary.BigEndian.PutUint64(value[sequenceStart:], sequence)
	binary.BigEndian.PutUint64(value[sequenceStart+8:], uint64(sent))
	binary.BigEndian.PutUint32(value[stampChecked:], crc32.Checksum(value[:stampChecked], castagnoli))
}

// ReadStamp reads the stamp at the start of value.
func ReadStamp(value []byte) (Stamp, error) {
	if len(value) < StampBytes || binary.BigEndian.Uint32(value) != stampMagic {
		return Stamp{}, ErrNoStamp
	}
	if crc32.Checksum(value[:stampChecked], castagnoli) != binary.BigEndian.Uint32(value[stampChecked:]) {
		return Stamp{}, ErrDamaged
	}
	return Stamp{
		Run:       binary.BigEndian.Uint32(value[4:]),
		Producer:  binary.BigEndian.Uint32(value[8:]),
		Partition: int32(binary.BigEndian.Uint32(value[12:])),
		Sequence:  binary.BigEndian.Uint64(value[sequenceStart:]),
		Sent:      time.Duration(binary.BigEndian.Uint64(value[sequenceStart+8:])),
	}, nil
}

func (s Stamp) String() string {
	return fmt.Sprintf("record %d of producer %d in partition %d", s.Sequence, s.Producer, s.Partition)
}
