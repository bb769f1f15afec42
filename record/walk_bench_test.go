package record

import (
	"bytes"
	"fmt"
	"testing"
)

// benchBatch is a batch of at least size bytes with values of length n.
func benchBatch(size, n int, codec Codec) Batch {
	b := NewBuilder()
	b.Codec = codec
	value := bytes.Repeat([]byte("ringmain"), n/8+1)[:n]
	for i := 0; b.Size() < size; i++ {
		b.Add(1_700_000_000_000+int64(i), nil, value)
	}
	return b.Build()
}

var openRules = &Rules{
	MaxMessageBytes: 1 << 30, SegmentBytes: 1 << 30,
	TimestampBeforeMaxMs: 1<<63 - 1, TimestampAfterMaxMs: 1<<63 - 1, CompressionProducer: true,
}

// The walk alone: what it adds to the checksum.
func BenchmarkWalk(b *testing.B) {
	for _, n := range []int{10, 100, 1024} {
		b.Run(fmt.Sprintf("value=%d", n), func(b *testing.B) {
			batch := benchBatch(64<<10, n, None)
			var v Validator
			b.SetBytes(int64(len(batch)))
			b.ReportAllocs()
			for b.Loop() {
				v.begin(batch, openRules, 1_700_000_000_000)
				if _, f := v.walk.span(batch[HeaderSize:]); f != walked {
					b.Fatal(f)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(batch.Count()), "ns/record")
		})
	}
}

func BenchmarkValidate(b *testing.B) {
	for codec := None; codec <= Zstd; codec++ {
		for _, n := range []int{100, 1024} {
			b.Run(fmt.Sprintf("%s/value=%d", codec, n), func(b *testing.B) {
				batch := benchBatch(64<<10, n, codec)
				var v Validator
				b.SetBytes(int64(len(batch)))
				b.ReportAllocs()
				for b.Loop() {
					if _, err := v.Validate(batch, openRules, 1_700_000_000_000, 9); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(batch.Count()), "ns/record")
			})
		}
	}
}

func BenchmarkChecksum(b *testing.B) {
	batch := benchBatch(64<<10, 1024, None)
	b.SetBytes(int64(len(batch)))
	for b.Loop() {
		if !batch.ChecksumOK() {
			b.Fatal("checksum")
		}
	}
}

func BenchmarkRecode(b *testing.B) {
	for target := None; target <= Zstd; target++ {
		b.Run("gzip to "+target.String(), func(b *testing.B) {
			batch := benchBatch(64<<10, 100, Gzip)
			rules := *openRules
			rules.CompressionProducer, rules.Compression = false, target
			var v Validator
			b.ReportAllocs()
			for b.Loop() {
				if _, err := v.Validate(batch, &rules, 1_700_000_000_000, 9); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
