package replay

import (
	"encoding/binary"
	"hash/crc32"
	"math/rand/v2"
	"time"

	"ringmain/bench/audit"
	"ringmain/bench/workload"
	"ringmain/record"
)

const (
	// maxPatterns is how many different batches a loop sends in turn, so that nothing
	// behind it sees the same bytes all the time.
	maxPatterns = 16
	// maxPatternBytes bounds them where batches are large.
	maxPatternBytes = 8 << 20
)

// pattern is a batch that is sent over and over, and where in it that lies which
// differs each time.
type pattern struct {
	batch  record.Batch
	values []int         // where records' values begin; nil unless they carry stamps
	dated  time.Duration // when its timestamps were set, on the clock of pace.Now
}

// dateEvery is how old the timestamps of a batch may get: retention by time must not
// take records for older than they are.
const dateEvery = time.Second

// newPatterns builds the batches of one loop. stamped: their values are to take
// stamps, so they must not be compressed.
func newPatterns(s *workload.Spec, seed uint64, stamped bool) []pattern {
	random := rand.New(rand.NewPCG(uint64(s.Seed), seed))
	keys, payload := s.Key.Source(random), s.NewPayload(seed)
	codec, _ := record.ParseCodec(s.Codec) // Validate has seen it
	var (
		patterns []pattern
		value    []byte
		key      []byte
		bytes    int
	)
	now := time.Now().UnixMilli()
	for len(patterns) < maxPatterns && (len(patterns) == 0 || bytes < maxPatternBytes) {
		b := record.NewBuilder()
		b.Codec, b.Level = codec, s.Level
		for {
			n := s.Record.Next(random)
			if b.Count() > 0 && record.HeaderSize+b.Size()+n+recordOverhead(s, n) > s.BatchBytes {
				break
			}
			value = append(value[:0], make([]byte, n)...)
			payload.Fill(value)
			key = keys.Next(key[:0])
			b.Add(now, key, value)
		}
		p := pattern{batch: b.Build()}
		if stamped {
			p.values = valuePositions(p.batch)
		}
		patterns = append(patterns, p)
		bytes += len(p.batch)
	}
	return patterns
}

// recordOverhead is about what a record takes beside its value: its key, and
// lengths and deltas, most of which have one or two bytes.
func recordOverhead(s *workload.Spec, value int) int {
	n := 7
	if value >= 64 {
		n += 2
	}
	if s.Key.Form != workload.NoKeys {
		n += s.Key.Bytes
	}
	return n
}

// meanRecords is how many records a batch has.
func meanRecords(patterns []pattern) float64 {
	n := 0
	for i := range patterns {
		n += int(patterns[i].batch.Count())
	}
	return float64(n) / float64(len(patterns))
}

// valuePositions finds where the values in an uncompressed batch begin.
func valuePositions(b record.Batch) []int {
	positions := make([]int, 0, b.Count())
	at := record.HeaderSize
	number := func() int {
		n, k := binary.Varint(b[at:])
		at += k
		return int(n)
	}
	for range b.Count() {
		size := number()
		end := at + size
		at++     // attributes
		number() // timestamp delta
		number() // offset delta
		if key := number(); key > 0 {
			at += key
		}
		number() // length of the value
		positions = append(positions, at)
		at = end
	}
	return positions
}

// stamp marks the records of the batch as those from sequence on.
func (p *pattern) stamp(s audit.Stamp) {
	for _, at := range p.values {
		s.Put(p.batch[at:])
		s.Sequence++
	}
}

// Where in a batch lies what differs from one sending to the next.
const (
	crcAt           = 17
	crcFrom         = 21
	baseTimestampAt = 27
	maxTimestampAt  = 35
	producerIDAt    = 43
	producerEpochAt = 51
	baseSequenceAt  = 53
)

// date gives all records the time of now; there are no differences between them.
func (p *pattern) date(now time.Duration) {
	p.dated = now
	ms := uint64(time.Now().UnixMilli())
	binary.BigEndian.PutUint64(p.batch[baseTimestampAt:], ms)
	binary.BigEndian.PutUint64(p.batch[maxTimestampAt:], ms)
}

// number makes the batch one of an idempotent producer.
func (p *pattern) number(id int64, epoch int16, sequence int32) {
	binary.BigEndian.PutUint64(p.batch[producerIDAt:], uint64(id))
	binary.BigEndian.PutUint16(p.batch[producerEpochAt:], uint16(epoch))
	binary.BigEndian.PutUint32(p.batch[baseSequenceAt:], uint32(sequence))
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// seal computes the checksum anew.
func (p *pattern) seal() {
	binary.BigEndian.PutUint32(p.batch[crcAt:], crc32.Checksum(p.batch[crcFrom:], castagnoli))
}
