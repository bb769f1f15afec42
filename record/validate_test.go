package record

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"reflect"
	"testing"
)

const testNow int64 = 1_700_000_000_000

// defaultRules are those of a topic nobody configured.
func defaultRules() *Rules {
	return &Rules{
		MaxMessageBytes: 1048588, SegmentBytes: 1 << 30,
		TimestampBeforeMaxMs: math.MaxInt64, TimestampAfterMaxMs: 3_600_000, CompressionProducer: true,
	}
}

func twoRecords(codec Codec) Batch {
	b := NewBuilder()
	b.Codec = codec
	return b.Add(testNow, []byte("k"), []byte("v1")).Add(testNow+1, []byte("k"), []byte("v2"), Header{"h", nil}).Build()
}

// change returns a batch with something changed and its checksum right.
func change(b Batch, f func(Batch)) Batch {
	b = bytes.Clone(b)
	f(b)
	b.sign()
	return b
}

func set32(pos int, v int32) func(Batch) {
	return func(b Batch) { binary.BigEndian.PutUint32(b[pos:], uint32(v)) }
}

func set64(pos int, v int64) func(Batch) {
	return func(b Batch) { binary.BigEndian.PutUint64(b[pos:], uint64(v)) }
}

func setAttributes(bits byte) func(Batch) {
	return func(b Batch) { b[posAttributes+1] |= bits }
}

func both(f, g func(Batch)) func(Batch) { return func(b Batch) { f(b); g(b) } }

func join(parts ...[]byte) []byte { return bytes.Join(parts, nil) }

// What the header says, in Kafka's order. All answers are those of Kafka 4.4 to
// the same bytes, apart from unknown codecs, for which it has -1.
func TestValidateFraming(t *testing.T) {
	ok := twoRecords(None)
	crcWrong := bytes.Clone(ok)
	crcWrong[posCRC] ^= 1
	small := defaultRules()
	small.MaxMessageBytes = int32(len(ok)) - 1
	segment := defaultRules()
	segment.SegmentBytes = int32(len(ok)) - 1
	exact := defaultRules()
	exact.MaxMessageBytes, exact.SegmentBytes = int32(len(ok)), int32(len(ok))
	for _, c := range []struct {
		name    string
		records []byte
		rules   *Rules
		version int16
		want    Kind // 0: accepted
	}{
		{"valid", ok, nil, 3, 0},
		{"null", nil, nil, 11, ErrInvalid},
		{"empty", []byte{}, nil, 11, ErrInvalid},
		{"11 bytes", make([]byte, 11), nil, 11, ErrInvalid},
		{"20 zero bytes", make([]byte, 20), nil, 11, ErrCorrupt},
		{"cut", ok[:len(ok)-1], nil, 11, ErrInvalid},
		{"length one less", change(ok, set32(posLength, int32(len(ok)-13))), nil, 11, ErrCorrupt},
		{"length one more", change(ok, set32(posLength, int32(len(ok)-11))), nil, 11, ErrInvalid},
		{"length -1", change(ok, set32(posLength, -1)), nil, 11, ErrCorrupt},
		{"length 13", change(ok, set32(posLength, 13)), nil, 11, ErrCorrupt},
		{"length 48", change(ok, set32(posLength, 48)), nil, 11, ErrCorrupt},
		{"length 2^31-1", change(ok, set32(posLength, math.MaxInt32)), nil, 11, ErrInvalid},
		{"magic 0", change(ok, func(b Batch) { b[posMagic] = 0 }), nil, 11, ErrInvalid},
		{"magic 1", change(ok, func(b Batch) { b[posMagic] = 1 }), nil, 11, ErrInvalid},
		{"magic 3", change(ok, func(b Batch) { b[posMagic] = 3 }), nil, 11, ErrCorrupt},
		{"magic -1", change(ok, func(b Batch) { b[posMagic] = 255 }), nil, 11, ErrCorrupt},
		{"two batches", join(ok, ok), nil, 11, ErrInvalid},
		{"rest of 5 bytes", join(ok, []byte("12345")), nil, 11, 0},
		{"rest of half a batch", join(ok, ok[:50]), nil, 11, 0},
		{"rest of 12 zero bytes", join(ok, make([]byte, 12)), nil, 11, ErrCorrupt},
		{"zstd too early", twoRecords(Zstd), nil, 6, ErrUnsupportedCodec},
		{"zstd", twoRecords(Zstd), nil, 7, 0},
		{"base offset 1, wrong checksum", func() []byte { b := bytes.Clone(crcWrong); set64(0, 1)(b); return b }(), nil, 11, ErrInvalid},
		{"base offset -1", change(ok, set64(0, -1)), nil, 11, ErrInvalid},
		{"too large, wrong checksum", crcWrong, small, 11, ErrTooLarge},
		{"just small enough", ok, exact, 11, 0},
		{"wrong checksum", crcWrong, nil, 11, ErrCorrupt},
		{"codec 5", change(ok, setAttributes(5)), nil, 11, ErrUnsupportedCodec},
		{"codec 6", change(ok, setAttributes(6)), nil, 11, ErrUnsupportedCodec},
		{"codec 7, version 6", change(ok, setAttributes(7)), nil, 6, ErrUnsupportedCodec},
		{"count 0", change(ok, set32(posCount, 0)), nil, 11, ErrInvalid},
		{"count -1", change(ok, set32(posCount, -1)), nil, 11, ErrInvalid},
		{"count and last delta 0 and -1", change(ok, both(set32(posCount, 0), set32(posLastOffsetDelta, -1))), nil, 11, ErrInvalid},
		{"last delta 5", change(ok, set32(posLastOffsetDelta, 5)), nil, 11, ErrInvalid},
		{"last delta wraps", change(ok, both(set32(posLastOffsetDelta, math.MaxInt32), set32(posCount, math.MinInt32))), nil, 11, ErrInvalid},
		{"one record more than there is", change(ok, both(set32(posCount, 3), set32(posLastOffsetDelta, 2))), nil, 11, ErrInvalid},
		{"one record less than there is", change(ok, both(set32(posCount, 1), set32(posLastOffsetDelta, 0))), nil, 11, ErrInvalid},
		{"control", change(ok, setAttributes(attrControl)), nil, 11, ErrInvalid},
		{"producer without sequence", change(ok, set64(posProducerID, 7)), nil, 11, ErrInvalid},
		{"attributes without meaning", change(ok, func(b Batch) { b[posAttributes] = 0x7f; b[posAttributes+1] |= 0xc0 }), nil, 11, 0},
		{"larger than a segment", ok, segment, 11, ErrListTooLarge},
	} {
		rules := c.rules
		if rules == nil {
			rules = defaultRules()
		}
		var v Validator
		res, err := v.Validate(bytes.Clone(c.records), rules, testNow, c.version)
		if c.want == 0 {
			if err != nil {
				t.Errorf("%s: %v", c.name, err)
			} else if size := Batch(c.records).Size(); len(res.Batch) != size || res.MaxTimestamp != testNow+1 || res.AppendTimeMs != -1 {
				t.Errorf("%s: %d of %d bytes, %+v", c.name, len(res.Batch), size, res)
			}
			continue
		}
		var e *Error
		if !errors.Is(err, c.want) || !errors.As(err, &e) || e.Kind != c.want || e.Message == "" || e.Records != nil {
			t.Errorf("%s: got %v, want %v", c.name, err, c.want)
		}
	}
}

// rawBatch makes a batch of a codec around bytes that may be no records.
func rawBatch(codec Codec, count int32, records []byte) Batch {
	b := NewBuilder()
	b.Codec = codec
	b.records, b.count, b.lastDelta = records, count, count-1
	b.baseTimestamp, b.maxTimestamp = testNow, testNow
	return b.Build()
}

func varint(v int64) []byte { return binary.AppendVarint(nil, v) }

// rawRecord is a record's length and the bytes given.
func rawRecord(parts ...[]byte) []byte {
	body := join(parts...)
	return join(varint(int64(len(body))), body)
}

// What is wrong within records is found in every codec. Kafka 4.4 accepts those
// that are marked, of which some clients cannot read what follows.
func TestValidateRecords(t *testing.T) {
	zero, null, attrs := varint(0), varint(-1), []byte{0}
	plain := rawRecord(attrs, zero, zero, null, null, zero)
	big := make([]byte, 3*feedSize)
	cases := []struct {
		name    string
		count   int32
		records []byte
		ok      bool
	}{
		{"smallest", 1, plain, true},
		{"none", 1, nil, false},
		{"left over byte", 1, join(plain, []byte{7}), false},
		{"left over record", 1, join(plain, plain), false},
		{"cut", 1, plain[:len(plain)-1], false},
		{"only a length", 1, varint(6), false},
		{"length 0", 1, zero, false},
		{"length -5", 1, varint(-5), false},
		{"length of 11 bytes", 1, join(bytes.Repeat([]byte{0xff}, 10), zero), false},
		{"length 2^31-1", 1, join(varint(math.MaxInt32), make([]byte, 100)), false},
		{"a byte too much inside", 1, rawRecord(attrs, zero, zero, null, null, zero, zero), false},
		{"no header count", 1, rawRecord(attrs, zero, zero, null, null), false},
		{"key longer than record", 1, rawRecord(attrs, zero, zero, varint(100), null, zero), false},
		{"value longer than record", 1, rawRecord(attrs, zero, zero, null, varint(100), zero), false},
		{"value takes the header count", 1, rawRecord(attrs, zero, zero, null, varint(1), zero), false},
		{"key length -2 (Kafka takes it)", 1, rawRecord(attrs, zero, zero, varint(-2), null, zero), false},
		{"value length -2 (Kafka takes it)", 1, rawRecord(attrs, zero, zero, null, varint(-2), zero), false},
		{"header count -1", 1, rawRecord(attrs, zero, zero, null, null, null), false},
		{"header count 5", 1, rawRecord(attrs, zero, zero, null, null, varint(5)), false},
		{"header count 2^31-1", 1, rawRecord(attrs, zero, zero, null, null, varint(math.MaxInt32)), false},
		{"header key null", 1, rawRecord(attrs, zero, zero, null, null, varint(1), null, null), false},
		{"header value length -2 (Kafka takes it)", 1, rawRecord(attrs, zero, zero, null, null, varint(1), zero, varint(-2)), false},
		{"headers", 1, rawRecord(attrs, zero, zero, null, null, varint(2), zero, null, varint(1), []byte("h"), zero), true},
		{"attributes", 1, rawRecord([]byte{0xff}, zero, zero, null, null, zero), true},
		{"varints longer than need be", 1, rawRecord(attrs, []byte{0x80, 0}, []byte{0x80, 0x80, 0}, null, []byte{0x81, 0}, zero), true},
		{"offset delta of 35 bits (Kafka takes it)", 1, rawRecord(attrs, zero, []byte{0x80, 0x80, 0x80, 0x80, 0x70}, null, null, zero), false},
		{"first offset delta 1 (Kafka takes it, uncompressed)", 1, rawRecord(attrs, zero, varint(1), null, null, zero), false},
		{"offset delta twice (Kafka takes it, uncompressed)", 2, join(plain, plain), false},
		{"large record", 1, rawRecord(attrs, zero, zero, null, varint(int64(len(big))), big, zero), true},
		{"large key", 1, rawRecord(attrs, zero, zero, varint(int64(len(big))), big, null, zero), true},
		{"large header", 1, rawRecord(attrs, zero, zero, null, null, varint(1), zero, varint(int64(len(big))), big), true},
		{"large record, cut", 1, rawRecord(attrs, zero, zero, null, varint(int64(len(big))), big, zero)[:2*feedSize], false},
		{"large record, one byte too long", 1, rawRecord(attrs, zero, zero, null, varint(int64(len(big))), big, zero, zero), false},
		{"large record, value too long", 1, rawRecord(attrs, zero, zero, null, varint(int64(len(big))+2), big, zero), false},
		{"large record, key length -2", 1, rawRecord(attrs, zero, zero, varint(-2), varint(int64(len(big))), big, zero), false},
		{"large record, offset delta 1", 1, rawRecord(attrs, zero, varint(1), null, varint(int64(len(big))), big, zero), false},
		{"large record, header key null", 1, rawRecord(attrs, zero, zero, null, varint(int64(len(big))), big, varint(1), null, null), false},
		{"large record, header count -1", 1, rawRecord(attrs, zero, zero, null, varint(int64(len(big))), big, null), false},
	}
	var v Validator
	for codec := None; codec <= Zstd; codec++ {
		for _, c := range cases {
			_, err := v.Validate(rawBatch(codec, c.count, c.records), defaultRules(), testNow, 11)
			if c.ok && err != nil || !c.ok && !errors.Is(err, ErrInvalid) {
				t.Errorf("%s, %s: %v", codec, c.name, err)
			}
		}
	}
}

func indexes(err error) []int32 {
	var e *Error
	var out []int32
	if errors.As(err, &e) {
		for _, r := range e.Records {
			out = append(out, r.BatchIndex)
		}
	}
	return out
}

// Single records that a topic refuses, with their indexes.
func TestValidateRecordErrors(t *testing.T) {
	compacted := defaultRules()
	compacted.Compacted = true
	recent := defaultRules()
	recent.TimestampBeforeMaxMs = 3_600_000
	compactedRecent := *recent
	compactedRecent.Compacted = true
	stamping := defaultRules()
	stamping.LogAppendTime = true
	k := []byte("k")
	logAppendTime := func(maxTimestamp int64) func(b *Builder) {
		return func(b *Builder) {
			b.LogAppendTime, b.AppendTimeMs = true, maxTimestamp
			b.Add(testNow, k, nil).Add(testNow, k, nil)
		}
	}
	for _, c := range []struct {
		name  string
		rules *Rules
		build func(b *Builder)
		want  Kind
		at    []int32
	}{
		{"keys where they must be", compacted, func(b *Builder) { b.Add(testNow, k, nil).Add(testNow, []byte{}, nil) }, 0, nil},
		{"no keys", compacted, func(b *Builder) { b.Add(testNow, nil, nil).Add(testNow, k, nil).Add(testNow, nil, nil) }, ErrInvalid, []int32{0, 2}},
		{"no key in a large record", compacted, func(b *Builder) { b.Add(testNow, k, nil).Add(testNow, nil, make([]byte, 2*feedSize)) }, ErrInvalid, []int32{1}},
		{"no key and too old", &compactedRecent, func(b *Builder) { b.Add(testNow, nil, nil).Add(testNow-7_200_000, k, nil).Add(testNow, k, nil) }, ErrTimestamp, []int32{0, 1}},
		{"no key and offset delta wrong", compacted, func(b *Builder) {
			b.Add(testNow, nil, nil).AddAt(2, testNow, k, nil).AddAt(1, testNow, k, nil)
			b.lastDelta = 2
		}, ErrInvalid, nil},
		{"too old", recent, func(b *Builder) {
			b.Add(testNow, nil, nil).Add(testNow-3_600_001, nil, nil).Add(-1, nil, nil).Add(0, nil, nil).Add(testNow-3_600_000, nil, nil)
		}, ErrTimestamp, []int32{1, 3}},
		{"too new", defaultRules(), func(b *Builder) { b.Add(testNow+3_600_000, nil, nil).Add(testNow+3_600_001, nil, nil) }, ErrTimestamp, []int32{1}},
		{"no timestamps", recent, func(b *Builder) { b.Add(-1, nil, nil) }, 0, nil},
		{"negative timestamp", defaultRules(), func(b *Builder) { b.Add(-5, nil, nil) }, 0, nil},
		{"smallest timestamp", defaultRules(), func(b *Builder) { b.Add(math.MinInt64, nil, nil) }, ErrTimestamp, []int32{0}},
		{"largest timestamp", defaultRules(), func(b *Builder) { b.Add(math.MaxInt64, nil, nil) }, ErrTimestamp, []int32{0}},
		{"any timestamp where the broker stamps", stamping, func(b *Builder) { b.Add(math.MaxInt64, nil, nil).Add(0, nil, nil) }, 0, nil},
		{"stamped by the client", stamping, logAppendTime(testNow), ErrTimestamp, []int32{0, 1}},
		{"stamped by the client with nothing", defaultRules(), logAppendTime(-1), ErrTimestamp, []int32{0, 1}},
		{"stamped by the client too late", defaultRules(), logAppendTime(testNow + 1e9), ErrTimestamp, []int32{0, 1}},
		{"stamped by the client, no key", compacted, func(b *Builder) { logAppendTime(-1)(b); b.Add(testNow, nil, nil) }, ErrTimestamp, []int32{0, 1, 2}},
	} {
		for codec := None; codec <= Zstd; codec++ {
			b := NewBuilder()
			b.Codec = codec
			c.build(b)
			var v Validator
			_, err := v.Validate(b.Build(), c.rules, testNow, 11)
			if c.want == 0 && err != nil || c.want != 0 && !errors.Is(err, c.want) || !reflect.DeepEqual(indexes(err), c.at) {
				t.Errorf("%s, %s: %v at %v, want %v at %v", codec, c.name, err, indexes(err), c.want, c.at)
			}
		}
	}
}

func TestValidateNamesABoundedNumberOfRecords(t *testing.T) {
	rules := defaultRules()
	rules.Compacted = true
	b := NewBuilder()
	for range maxRecordErrors + 500 {
		b.Add(testNow, nil, nil)
	}
	var v Validator
	_, err := v.Validate(b.Build(), rules, testNow, 11)
	if n := len(indexes(err)); n != maxRecordErrors {
		t.Errorf("%d records named", n)
	}
	if _, err = v.Validate(twoRecords(None), rules, testNow, 11); err != nil {
		t.Errorf("the next batch: %v", err)
	}
}

// What Kafka rewrites in a batch that it takes, and nothing else.
func TestValidateRewritesTimes(t *testing.T) {
	stamping := defaultRules()
	stamping.LogAppendTime = true
	for codec := None; codec <= Zstd; codec++ {
		ok := twoRecords(codec)
		stampedByClient := change(ok, both(setAttributes(attrLogAppendTime), set64(posMaxTimestamp, testNow-50)))
		for _, c := range []struct {
			name  string
			batch Batch
			rules *Rules
			want  Batch
			max   int64
			stamp int64
		}{
			{"true header", ok, defaultRules(), ok, testNow + 1, -1},
			{"header's largest timestamp too small", change(ok, set64(posMaxTimestamp, 5)), defaultRules(), ok, testNow + 1, -1},
			{"header's largest timestamp too large", change(ok, set64(posMaxTimestamp, testNow+9)), defaultRules(), ok, testNow + 1, -1},
			{"stamped by the client", stampedByClient, defaultRules(), ok, testNow + 1, -1},
			{"topic stamps", ok, stamping, change(ok, both(setAttributes(attrLogAppendTime), set64(posMaxTimestamp, testNow+77))), testNow + 77, testNow + 77},
			{"bits without meaning stay if nothing changes", change(ok, setAttributes(0x80)), defaultRules(), change(ok, setAttributes(0x80)), testNow + 1, -1},
			{"and go if something does", change(ok, both(setAttributes(0x80), set64(posMaxTimestamp, 5))), defaultRules(), ok, testNow + 1, -1},
		} {
			in := bytes.Clone(c.batch)
			var v Validator
			res, err := v.Validate(in, c.rules, testNow+77, 11)
			if err != nil {
				t.Errorf("%s, %s: %v", codec, c.name, err)
				continue
			}
			if !bytes.Equal(res.Batch, c.want) || res.MaxTimestamp != c.max || res.AppendTimeMs != c.stamp {
				t.Errorf("%s, %s: %+v\ngot  %x\nwant %x", codec, c.name, res, []byte(res.Batch), []byte(c.want))
			}
			if &res.Batch[0] != &in[0] {
				t.Errorf("%s, %s: the batch was copied", codec, c.name)
			}
		}
	}
}

func TestValidateAllocatesNothing(t *testing.T) {
	stamping := defaultRules()
	stamping.LogAppendTime = true
	for _, n := range []int{10, 100, 1024, 10_000} {
		batch := benchBatch(64<<10, n, None)
		for _, rules := range []*Rules{defaultRules(), stamping} {
			var v Validator
			allocs := testing.AllocsPerRun(20, func() {
				if _, err := v.Validate(batch, rules, testNow, 11); err != nil {
					t.Fatal(err)
				}
				if batch.setTimes(false, testNow) { // again what the client sent
					batch.sign()
				}
			})
			if allocs != 0 {
				t.Errorf("values of %d bytes: %v allocations", n, allocs)
			}
		}
	}
}

func TestHeavy(t *testing.T) {
	asSent, gzip := defaultRules(), defaultRules()
	gzip.CompressionProducer, gzip.Compression = false, Gzip
	plain := &Rules{}
	for _, c := range []struct {
		records []byte
		rules   *Rules
		want    bool
	}{
		{nil, asSent, false}, {make([]byte, 70), asSent, false}, {make([]byte, 3), gzip, false},
		{twoRecords(None), asSent, false}, {twoRecords(Gzip), asSent, true}, {twoRecords(None), gzip, true},
		{twoRecords(Gzip), gzip, true}, {twoRecords(None), plain, false}, {twoRecords(LZ4), plain, true},
	} {
		if got := Heavy(c.records, c.rules); got != c.want {
			t.Errorf("Heavy of %d bytes is %v", len(c.records), got)
		}
	}
}
