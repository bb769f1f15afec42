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

// sink compresses what is written to it, from Reset to Close, into one stream.
// It can be used again after another Reset.
type sink interface {
	io.WriteCloser
	Reset(w io.Writer)
}

// newSink makes a sink of a codec. Level 0 is the codec's default; others are
// Kafka's numbers.
func newSink(c Codec, level int) (sink, error) {
	switch c {
	case None:
		return &plainSink{}, nil
	case Gzip:
		if level == 0 {
			level = gzip.DefaultCompression
		}
		return gzip.NewWriterLevel(nil, level)
	case Snappy:
		return newSnappySink(), nil
	case LZ4:
		return newLZ4Sink(level), nil
	case Zstd:
		if level == 0 {
			level = 3
		}
		return zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithLowerEncoderMem(true),
			zstd.WithEncoderLevel(zstd.EncoderLevelFromZstd(level)), zstd.WithWindowSize(zstdEncoderWindow))
	}
	return nil, fmt.Errorf("compression type %d does not exist", int8(c))
}

// zstdEncoderWindow is enough for batches, and little for those who read them.
const zstdEncoderWindow = 2 << 20

type plainSink struct{ w io.Writer }

func (s *plainSink) Write(p []byte) (int, error) { return s.w.Write(p) }
func (s *plainSink) Reset(w io.Writer)           { s.w = w }
func (s *plainSink) Close() error                { return nil }

// encoder keeps one sink of each codec: those of zstd and gzip are large. Owned
// by one goroutine.
type encoder struct {
	sinks  [Zstd + 1]sink
	levels [Zstd + 1]int
}

// open begins a stream into w.
func (e *encoder) open(w io.Writer, c Codec, level int) (sink, error) {
	if !c.Known() {
		return nil, fmt.Errorf("compression type %d does not exist", int8(c))
	}
	if e.sinks[c] == nil || e.levels[c] != level {
		s, err := newSink(c, level)
		if err != nil {
			return nil, err
		}
		e.sinks[c], e.levels[c] = s, level
	}
	e.sinks[c].Reset(w)
	return e.sinks[c], nil
}
