package line

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// ErrTooLong is what Splitter.Next returns for a line beyond its limit.
var ErrTooLong = errors.New("line is too long")

// Splitter cuts an input at a separator. Lines are copies that the caller may
// keep.
type Splitter struct {
	in       *bufio.Reader
	sep      []byte
	maxBytes int
	lines    int64
	done     bool
}

// NewSplitter reads lines of at most maxBytes bytes from in. The limit keeps an
// input without separators from being read into memory whole.
func NewSplitter(in io.Reader, sep string, maxBytes int) *Splitter {
	return &Splitter{in: bufio.NewReaderSize(in, 64<<10), sep: []byte(sep), maxBytes: maxBytes}
}

// Next returns the next line without its separator, or io.EOF. A last line
// without a separator counts; an empty rest does not.
func (s *Splitter) Next() ([]byte, error) {
	if s.done {
		return nil, io.EOF
	}
	last := s.sep[len(s.sep)-1]
	var line []byte
	for {
		part, err := s.in.ReadSlice(last)
		line = append(line, part...)
		if bytes.HasSuffix(line, s.sep) {
			s.lines++
			if len(line)-len(s.sep) > s.maxBytes {
				return nil, s.tooLong()
			}
			return line[: len(line)-len(s.sep) : len(line)-len(s.sep)], nil
		}
		if len(line) > s.maxBytes+len(s.sep) {
			s.lines++
			return nil, s.tooLong()
		}
		switch {
		case err == nil, errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF):
			s.done = true
			if len(line) == 0 {
				return nil, io.EOF
			}
			s.lines++
			if len(line) > s.maxBytes {
				return nil, s.tooLong()
			}
			return line, nil
		default:
			return nil, fmt.Errorf("read the input after line %d: %w", s.lines, err)
		}
	}
}

// Waiting reports whether the next line may have to wait for input: nothing is
// buffered. An interactive caller sends what it has before it waits.
func (s *Splitter) Waiting() bool { return s.in.Buffered() == 0 }

func (s *Splitter) tooLong() error {
	s.done = true
	return fmt.Errorf("%w: line %d has more than %d bytes; raise --max-message-bytes (and the topic's max.message.bytes), or check the delimiter", ErrTooLong, s.lines, s.maxBytes)
}
