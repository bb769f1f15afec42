package peer

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"sync"

	"github.com/twmb/franz-go/pkg/kgo"
)

// HeaderSize is the size of a record batch before its records.
const HeaderSize = 61

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Record is one record of a batch. A nil key or value is null.
type Record struct {
	Key, Value []byte
	Delta      int64 // timestamp, milliseconds from the batch's base
	Headers    []Header

	// OffsetDelta is where the record of a batch that was read stands. Batches that are
	// written have their records one after another.
	OffsetDelta int64
}

// Header is one header of a record.
type Header struct {
	Key   string
	Value []byte
}

// Batch is a record batch (magic 2) as a producer would send it. The functions of
// Edit change the encoded bytes before the CRC is computed; Lie changes them after.
type Batch struct {
	Base          int64 // timestamp of the batch, milliseconds
	Records       []Record
	Codec         int8 // 0 none, 1 gzip, 2 snappy, 3 lz4, 4 zstd
	ProducerID    int64
	ProducerEpoch int16
	Sequence      int32
	Edit          []func(b []byte) []byte // before the CRC
	Lie           []func(b []byte) []byte // after the CRC
	Payload       []byte                  // in place of the encoded records, when not nil
}

// NewBatch returns a batch of records without a producer id.
func NewBatch(base int64, records ...Record) Batch {
	return Batch{Base: base, Records: records, ProducerID: -1, ProducerEpoch: -1, Sequence: -1}
}

// Values returns one keyless record for each value, a millisecond apart.
func Values(values ...string) []Record {
	var rs []Record
	for i, v := range values {
		rs = append(rs, Record{Value: []byte(v), Delta: int64(i)})
	}
	return rs
}

// EncodeRecords returns records in their uncompressed form.
func EncodeRecords(records []Record) []byte {
	var out []byte
	for i, r := range records {
		b := []byte{0}
		b = binary.AppendVarint(b, r.Delta)
		b = binary.AppendVarint(b, int64(i))
		b = appendBytes(b, r.Key)
		b = appendBytes(b, r.Value)
		b = binary.AppendVarint(b, int64(len(r.Headers)))
		for _, h := range r.Headers {
			b = appendBytes(b, []byte(h.Key))
			b = appendBytes(b, h.Value)
		}
		out = binary.AppendVarint(out, int64(len(b)))
		out = append(out, b...)
	}
	return out
}

func appendBytes(dst, b []byte) []byte {
	if b == nil {
		return binary.AppendVarint(dst, -1)
	}
	dst = binary.AppendVarint(dst, int64(len(b)))
	return append(dst, b...)
}

// Encode returns the bytes of the batch, its edits and lies carried out.
func (b Batch) Encode() []byte {
	payload := b.Payload
	if payload == nil {
		payload = EncodeRecords(b.Records)
		if b.Codec != 0 {
			payload = Compress(b.Codec, payload)
		}
	}
	var most int64
	for i, r := range b.Records {
		if i == 0 || r.Delta > most {
			most = r.Delta
		}
	}
	out := make([]byte, HeaderSize, HeaderSize+len(payload))
	binary.BigEndian.PutUint32(out[12:], 0xffffffff)
	out[16] = 2
	binary.BigEndian.PutUint16(out[21:], uint16(b.Codec))
	binary.BigEndian.PutUint32(out[23:], uint32(len(b.Records)-1))
	binary.BigEndian.PutUint64(out[27:], uint64(b.Base))
	binary.BigEndian.PutUint64(out[35:], uint64(b.Base+most))
	binary.BigEndian.PutUint64(out[43:], uint64(b.ProducerID))
	binary.BigEndian.PutUint16(out[51:], uint16(b.ProducerEpoch))
	binary.BigEndian.PutUint32(out[53:], uint32(b.Sequence))
	binary.BigEndian.PutUint32(out[57:], uint32(len(b.Records)))
	out = append(out, payload...)
	binary.BigEndian.PutUint32(out[8:], uint32(len(out)-12))
	for _, edit := range b.Edit {
		out = edit(out)
	}
	binary.BigEndian.PutUint32(out[17:], crc32.Checksum(out[21:], castagnoli))
	for _, lie := range b.Lie {
		out = lie(out)
	}
	return out
}

// Put returns an edit that writes a number of size bytes at a position.
func Put(at, size int, value int64) func([]byte) []byte {
	return func(b []byte) []byte {
		for i := range size {
			b[at+i] = byte(value >> (8 * (size - 1 - i)))
		}
		return b
	}
}

// Compress encodes bytes with one of Kafka's codecs.
func Compress(codec int8, plain []byte) []byte {
	kinds := map[int8]kgo.CompressionCodec{1: kgo.GzipCompression(), 2: kgo.SnappyCompression(), 3: kgo.Lz4Compression(), 4: kgo.ZstdCompression()}
	c, err := kgo.DefaultCompressor(kinds[codec])
	if err != nil {
		panic(err) // a codec that the test names wrongly
	}
	var buf bytes.Buffer
	out, used := c.Compress(&buf, plain)
	if int8(used) != codec {
		panic(fmt.Sprintf("codec %d was asked for and %d used", codec, used))
	}
	return bytes.Clone(out)
}

var decompressor = sync.OnceValue(func() kgo.Decompressor { return kgo.DefaultDecompressor() })

// Stored is a batch as a broker returned it.
type Stored struct {
	BaseOffset, BaseTimestamp, MaxTimestamp, ProducerID int64
	LeaderEpoch, LastOffsetDelta, Sequence, Count       int32
	Attributes, ProducerEpoch                           int16
	Size                                                int // of the whole batch
	ChecksumOK                                          bool
	Records                                             []Record // decompressed
	Err                                                 error    // why Records could not be read
}

// Codec is the number of the compression codec.
func (s Stored) Codec() int8 { return int8(s.Attributes & 7) }

// Parse reads the whole batches in b; rest counts the bytes of a cut one behind them.
func Parse(b []byte) (batches []Stored, rest int) {
	for len(b) >= 12 {
		size := 12 + int(int32(binary.BigEndian.Uint32(b[8:])))
		if size < HeaderSize || size > len(b) {
			break
		}
		batches = append(batches, parseOne(b[:size]))
		b = b[size:]
	}
	return batches, len(b)
}

func parseOne(b []byte) Stored {
	s := Stored{
		BaseOffset:      int64(binary.BigEndian.Uint64(b)),
		LeaderEpoch:     int32(binary.BigEndian.Uint32(b[12:])),
		Attributes:      int16(binary.BigEndian.Uint16(b[21:])),
		LastOffsetDelta: int32(binary.BigEndian.Uint32(b[23:])),
		BaseTimestamp:   int64(binary.BigEndian.Uint64(b[27:])),
		MaxTimestamp:    int64(binary.BigEndian.Uint64(b[35:])),
		ProducerID:      int64(binary.BigEndian.Uint64(b[43:])),
		ProducerEpoch:   int16(binary.BigEndian.Uint16(b[51:])),
		Sequence:        int32(binary.BigEndian.Uint32(b[53:])),
		Count:           int32(binary.BigEndian.Uint32(b[57:])),
		Size:            len(b),
		ChecksumOK:      crc32.Checksum(b[21:], castagnoli) == binary.BigEndian.Uint32(b[17:]),
	}
	payload := b[HeaderSize:]
	if codec := s.Codec(); codec != 0 {
		if payload, s.Err = decompressor().Decompress(payload, kgo.CompressionCodecType(codec)); s.Err != nil {
			return s
		}
	}
	s.Records, s.Err = decodeRecords(payload, int(s.Count), int64(s.LastOffsetDelta))
	return s
}

// decodeRecords reads count records of a batch whose last offset delta is last: those of a
// batch that was cleaned have gaps.
func decodeRecords(b []byte, count int, last int64) (records []Record, err error) {
	r, next := reader{b: b}, int64(0)
	for i := range count {
		size := r.varint()
		end := len(r.b) - int(size)
		if r.bad || size < 0 || end < 0 {
			return records, fmt.Errorf("record %d does not fit", i)
		}
		r.take(1)
		rec := Record{Delta: r.varint(), OffsetDelta: r.varint()}
		if d := rec.OffsetDelta; d < next || d > last || last == int64(count)-1 && d != int64(i) {
			return records, fmt.Errorf("record %d has offset delta %d", i, d)
		}
		next = rec.OffsetDelta + 1
		rec.Key, rec.Value = r.bytes(), r.bytes()
		for n := r.varint(); n > 0 && !r.bad; n-- {
			rec.Headers = append(rec.Headers, Header{Key: string(r.bytes()), Value: r.bytes()})
		}
		if r.bad || len(r.b) != end {
			return records, fmt.Errorf("record %d is not as long as it says", i)
		}
		records = append(records, rec)
	}
	if len(r.b) != 0 {
		return records, fmt.Errorf("%d bytes behind the last record", len(r.b))
	}
	return records, nil
}

type reader struct {
	b   []byte
	bad bool
}

func (r *reader) varint() int64 {
	v, n := binary.Varint(r.b)
	if n <= 0 {
		r.bad = true
		return 0
	}
	r.b = r.b[n:]
	return v
}

func (r *reader) take(n int64) []byte {
	if n < 0 || n > int64(len(r.b)) {
		r.bad = true
		return nil
	}
	b := r.b[:n:n]
	r.b = r.b[n:]
	return b
}

func (r *reader) bytes() []byte {
	n := r.varint()
	if n < 0 {
		r.bad = r.bad || n < -1
		return nil
	}
	b := r.take(n)
	if b == nil {
		return []byte{}
	}
	return b
}
