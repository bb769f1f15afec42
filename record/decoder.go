package record

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/klauspost/compress/gzip"
)

// What decompression may cost. A batch is never decoded as a whole (but for the
// two exceptions named below), so these are not limits on what clients send:
// they keep a small request from costing seconds of a core or a large memory.
const (
	// MaxDecompressedBytes is the most that one batch may decode to. It is far
	// above what a client can build (a Java producer's batch is at most
	// max.request.size before compression, 1 MiB by default) and takes a core
	// about half a second.
	MaxDecompressedBytes = 1 << 30
	// snappyBlock is the largest raw snappy block: the format has no pieces, so
	// a block is decoded as one. A block grows to at most 21 times its size.
	snappyBlock = 64 << 20
	// keepBlock is how much of a block buffer is kept for the next batch.
	keepBlock = 4 << 20
	// feedSize is the buffer through which decoded records are walked.
	feedSize = 64 << 10
)

// errLimit is in the chain of an error when one of the limits was met.
var errLimit = errors.New("decompression limit")

// decoder has one of each decoder, made at its first use and then kept: they
// are large to build. Owned by one goroutine.
type decoder struct {
	gzip    gzip.Reader
	gzipIn  bytes.Reader
	snappy  snappySource
	lz4     lz4Source
	zstd    zstdSource
	feed    feed
	feedBuf []byte
}

// decoders serves the readers of stored batches.
var decoders = sync.Pool{New: func() any { return new(decoder) }}

// open begins to decode src and returns the feed to take records from.
func (d *decoder) open(c Codec, src []byte) (*feed, error) {
	if d.feedBuf == nil {
		d.feedBuf = make([]byte, feedSize)
	}
	f := &d.feed
	*f = feed{buf: d.feedBuf}
	var err error
	switch c {
	case Gzip:
		d.gzipIn.Reset(src)
		err = d.gzip.Reset(&d.gzipIn)
		if err != nil {
			err = fmt.Errorf("gzip: %w", err)
		}
		f.src = &d.gzip
	case Snappy:
		err = d.snappy.reset(src, snappyBlock)
		f.src = &d.snappy
	case LZ4:
		err = d.lz4.reset(src)
		f.src = &d.lz4
	case Zstd:
		err = d.zstd.reset(src)
		f.src = &d.zstd
	default:
		return nil, failf(ErrUnsupportedCodec, "compression type %d does not exist", int8(c))
	}
	return f, err
}

// close lets go of the batch, and of buffers that only an unusual one needs.
func (d *decoder) close() {
	d.feed = feed{}
	d.gzipIn.Reset(nil)
	d.snappy.in, d.snappy.rest = nil, nil
	if cap(d.snappy.block) > keepBlock {
		d.snappy.block = nil
	}
	d.lz4.in, d.lz4.rest = nil, nil
	d.zstd.close()
}

// feed hands decoded bytes on through a window of fixed size.
type feed struct {
	src   io.Reader
	buf   []byte
	r, w  int   // buf[r:w] is not yet used
	total int64 // bytes decoded
	tee   io.Writer
	err   error
}

// more reads at least one byte behind w, making room first. io.EOF means the
// end of a stream that is whole. It needs r > 0 or room behind w.
func (f *feed) more() error {
	if f.err != nil {
		return f.err
	}
	if f.r > 0 {
		f.w = copy(f.buf, f.buf[f.r:f.w])
		f.r = 0
	}
	for range 100 { // a reader that returns nothing for ever is broken
		n, err := f.src.Read(f.buf[f.w:])
		if n > 0 {
			if f.tee != nil {
				f.tee.Write(f.buf[f.w : f.w+n]) // a sink keeps its error for Close
			}
			f.w += n
			f.total += int64(n)
			if f.total > MaxDecompressedBytes {
				f.err = fmt.Errorf("%w: more than %d bytes", errLimit, MaxDecompressedBytes)
				return f.err
			}
			f.err = err
			return nil
		}
		if err != nil {
			f.err = err
			return err
		}
	}
	f.err = io.ErrNoProgress
	return f.err
}

// rest is what is decoded and not used.
func (f *feed) rest() []byte { return f.buf[f.r:f.w] }

// atEnd reports whether the stream ends here, with an error if it is not whole.
func (f *feed) atEnd() (bool, error) {
	if f.r < f.w {
		return false, nil
	}
	err := f.more()
	if err == io.EOF {
		return true, nil
	}
	return false, err
}

// decodeError turns what a decoder said into a refusal: a limit is the sender's
// size, anything else is broken content under a checksum that is right, which
// sending again does not mend.
func decodeError(c Codec, err error) *Error {
	var e *Error
	switch {
	case errors.As(err, &e):
		return e
	case errors.Is(err, errLimit):
		return failf(ErrTooLarge, "%s: %v", c, err)
	default:
		return failf(ErrInvalid, "records do not decode from %s: %v", c, err)
	}
}
