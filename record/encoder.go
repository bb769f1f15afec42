package record

import (
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// lz4DefaultLevel is Kafka's default of compression.lz4.level, for which the
// fast compressor stands.
const lz4DefaultLevel = 9

// room collects output up to a limit; what comes after is dropped, so that a
// walk can go on and still find what is wrong with the records.
type room struct {
	b     []byte
	limit int
	full  bool
}

func (r *room) Write(p []byte) (int, error) {
	if r.full || len(p) > r.limit-len(r.b) {
		r.full = true
		return len(p), nil
	}
	r.b = append(r.b, p...)
	return len(p), nil
}

type plainSink struct{ io.Writer }

func (plainSink) Close() error { return nil }

// newSink compresses what is written to it into w. Level 0 is the codec's
// default; others are Kafka's numbers.
func newSink(w io.Writer, c Codec, level int) (io.WriteCloser, error) {
	switch c {
	case None:
		return plainSink{w}, nil
	case Gzip:
		if level == 0 {
			level = gzip.DefaultCompression
		}
		return gzip.NewWriterLevel(w, level)
	case Snappy:
		return newSnappySink(w)
	case LZ4:
		return newLZ4Sink(w, level)
	case Zstd:
		if level == 0 {
			level = 3
		}
		return zstd.NewWriter(w, zstd.WithEncoderConcurrency(1), zstd.WithLowerEncoderMem(true),
			zstd.WithEncoderLevel(zstd.EncoderLevelFromZstd(level)), zstd.WithWindowSize(zstdEncoderWindow))
	}
	return nil, fmt.Errorf("compression type %d does not exist", int8(c))
}

// zstdEncoderWindow is enough for batches, and little for those who read them.
const zstdEncoderWindow = 2 << 20
