package record

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/klauspost/compress/zstd"
)

const (
	// zstdWindow is the largest window that is decoded as a stream; the decoder
	// keeps that much memory. It is what RFC 8878 asks every decoder to have,
	// and no level up to 19 writes more.
	zstdWindow = 8 << 20
	// zstdMaxWindow is the largest window read at all: the limit of the Java
	// client's decoder, which levels 20 to 22 use. A frame's header only says
	// how far back it may reach, not how much it holds, so such a frame is
	// decoded in one piece into memory that grows with what it really holds.
	zstdMaxWindow = 128 << 20
	// zstdWhole bounds that piece.
	zstdWhole = 32 << 20
)

// zstdSource decodes zstd frames.
type zstdSource struct {
	stream *zstd.Decoder // made at the first use, as is whole
	whole  *zstd.Decoder
	in     bytes.Reader
	out    bytes.Reader // what whole has decoded
	big    bool
}

func (s *zstdSource) reset(src []byte) error {
	window, single, err := firstWindow(src)
	if err != nil {
		return err
	}
	if single && window > zstdWhole {
		return fmt.Errorf("zstd: %w: %d bytes in one segment", errLimit, window)
	}
	if s.big = window > zstdWindow; s.big {
		return s.decodeWhole(src)
	}
	if s.stream == nil {
		// Concurrency 1 keeps the decoder free of goroutines.
		s.stream, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1),
			zstd.WithDecoderMaxWindow(zstdWindow), zstd.WithDecodeBuffersBelow(0))
		if err != nil {
			return fmt.Errorf("zstd: %w", err)
		}
	}
	s.in.Reset(src)
	return s.stream.Reset(&s.in)
}

// firstWindow is the window in bytes that the first frame with content needs;
// single if that is its whole content.
func firstWindow(src []byte) (window uint64, single bool, err error) {
	var h zstd.Header
	for len(src) > 0 {
		rest, err := h.DecodeAndStrip(src)
		if err != nil {
			return 0, false, fmt.Errorf("zstd: %w", err)
		}
		if h.Skippable {
			if uint64(h.SkippableSize) > uint64(len(rest)) {
				return 0, false, errors.New("zstd: skippable frame is cut")
			}
			src = rest[h.SkippableSize:]
			continue
		}
		if h.SingleSegment {
			return h.FrameContentSize, true, nil
		}
		return h.WindowSize, false, nil
	}
	return 0, false, nil
}

func (s *zstdSource) decodeWhole(src []byte) error {
	var err error
	if s.whole == nil {
		// The capacity of the destination is the limit, because a limit of the
		// decoder's would be one of the window too.
		s.whole, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1),
			zstd.WithDecoderMaxWindow(zstdMaxWindow), zstd.WithDecodeAllCapLimit(true))
		if err != nil {
			return fmt.Errorf("zstd: %w", err)
		}
	}
	for size := min(max(8*len(src), 1<<20), zstdWhole); ; size = min(4*size, zstdWhole) {
		dst, err := s.whole.DecodeAll(src, make([]byte, 0, size))
		if errors.Is(err, zstd.ErrDecoderSizeExceeded) {
			if size < zstdWhole {
				continue
			}
			return fmt.Errorf("zstd: %w: more than %d bytes in a frame with a window over %d", errLimit, zstdWhole, zstdWindow)
		}
		if err != nil {
			return fmt.Errorf("zstd: %w", err)
		}
		s.out.Reset(dst)
		return nil
	}
}

func (s *zstdSource) Read(p []byte) (int, error) {
	if s.big {
		return s.out.Read(p)
	}
	return s.stream.Read(p)
}

// close lets go of the input and of what is large.
func (s *zstdSource) close() {
	if s.stream != nil {
		s.stream.Reset(nil)
	}
	s.in.Reset(nil)
	s.out.Reset(nil)
}
