package record

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"testing"
)

// A topic's own compression.type: every codec into every other.
func TestValidateRecodes(t *testing.T) {
	for source := None; source <= Zstd; source++ {
		for target := None; target <= Zstd; target++ {
			for _, level := range []int{0, 1, 9} {
				name := fmt.Sprintf("%s to %s level %d", source, target, level)
				rules := defaultRules()
				rules.CompressionProducer, rules.Compression, rules.CompressionLevel = false, target, level
				b := NewBuilder()
				b.Codec, b.ProducerID, b.ProducerEpoch, b.BaseSequence, b.Transactional = source, 42, 3, 7, true
				for i := range 2000 {
					b.Add(testNow-int64(i%7), fmt.Append(nil, i), bytes.Repeat([]byte{byte(i)}, i%200), Header{"h", []byte("v")}, Header{"n", nil})
				}
				in := b.Build()
				want := readAll(t, in)
				var v Validator
				res, err := v.Validate(bytes.Clone(in), rules, testNow, 11)
				if err != nil {
					t.Errorf("%s: %v", name, err)
					continue
				}
				out := res.Batch
				framed, err := First(out)
				if err != nil || len(framed) != len(out) || !out.ChecksumOK() || out.Codec() != target {
					t.Errorf("%s: %v, %v", name, out, err)
				}
				if out.ProducerID() != 42 || out.ProducerEpoch() != 3 || out.BaseSequence() != 7 || !out.Transactional() ||
					out.Count() != 2000 || out.LastOffsetDelta() != 1999 || out.MaxTimestamp() != testNow {
					t.Errorf("%s: header lost: %v", name, out)
				}
				if !reflect.DeepEqual(readAll(t, out), want) {
					t.Errorf("%s: other records", name)
				}
				if _, err := v.Validate(out, defaultRules(), testNow, 11); err != nil {
					t.Errorf("%s: result is refused: %v", name, err)
				}
			}
		}
	}
}

// A batch that grows above max.message.bytes by being stored in another codec.
func TestValidateRecodedTooLarge(t *testing.T) {
	b := NewBuilder()
	b.Codec = Gzip
	b.Add(testNow, nil, make([]byte, 1<<20))
	rules := defaultRules()
	rules.MaxMessageBytes, rules.CompressionProducer, rules.Compression = 100_000, false, None
	var v Validator
	if _, err := v.Validate(b.Build(), rules, testNow, 11); !errors.Is(err, ErrTooLarge) {
		t.Errorf("got %v", err)
	}
	// What is wrong with the records counts first.
	rules.Compacted = true
	if _, err := v.Validate(b.Build(), rules, testNow, 11); !errors.Is(err, ErrInvalid) {
		t.Errorf("got %v", err)
	}
}
