package record

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/snappy"
)

// Snappy comes in two forms: one raw block (librdkafka, sarama, franz-go), or
// the framing of the Java library: a header of 16 bytes, then blocks that each
// follow their size. Both are read, the framing is written.

var (
	xerialMagic = []byte{0x82, 'S', 'N', 'A', 'P', 'P', 'Y', 0}
	errSnappy   = errors.New("snappy")
)

const (
	xerialHeader  = 16       // magic, version int32, lowest compatible version int32
	xerialVersion = 1        // both
	xerialBlock   = 32 << 10 // what the Java library writes
)

// snappySource decodes either form. It holds one block; scratch limits are
// given by the caller.
type snappySource struct {
	in     []byte
	block  []byte // owned
	rest   []byte
	limit  int // largest decoded block
	framed bool
}

func (s *snappySource) reset(in []byte, limit int) error {
	*s = snappySource{in: in, block: s.block, limit: limit}
	if bytes.HasPrefix(in, xerialMagic) {
		s.framed = true
		return s.header()
	}
	return nil
}

// header reads the header of the framing; streams may be strung together, each
// with one.
func (s *snappySource) header() error {
	if len(s.in) < xerialHeader || !bytes.HasPrefix(s.in, xerialMagic) {
		return fmt.Errorf("%w: framing header is cut", errSnappy)
	}
	if v := int32(binary.BigEndian.Uint32(s.in[12:])); v > xerialVersion {
		return fmt.Errorf("%w: framing needs a reader of version %d", errSnappy, v)
	}
	s.in = s.in[xerialHeader:]
	return nil
}

func (s *snappySource) Read(p []byte) (int, error) {
	for len(s.rest) == 0 {
		if len(s.in) == 0 {
			return 0, io.EOF
		}
		block := s.in
		if s.framed {
			if bytes.HasPrefix(s.in, xerialMagic) {
				if err := s.header(); err != nil {
					return 0, err
				}
				continue
			}
			if len(s.in) < 4 {
				return 0, fmt.Errorf("%w: block size is cut", errSnappy)
			}
			size := int64(binary.BigEndian.Uint32(s.in))
			if size > int64(len(s.in)-4) {
				return 0, fmt.Errorf("%w: block of %d bytes where %d are left", errSnappy, size, len(s.in)-4)
			}
			block = s.in[4 : 4+size]
			s.in = s.in[4+size:]
		} else {
			s.in = nil
		}
		if err := s.decode(block); err != nil {
			return 0, err
		}
	}
	n := copy(p, s.rest)
	s.rest = s.rest[n:]
	return n, nil
}

func (s *snappySource) decode(block []byte) error {
	size, err := snappyLen(block)
	if err != nil {
		return err
	}
	if size > s.limit {
		return fmt.Errorf("%w: %w: block of %d bytes decodes to %d, the limit is %d", errSnappy, errLimit, len(block), size, s.limit)
	}
	if cap(s.block) < size {
		s.block = make([]byte, size)
	}
	s.rest, err = snappy.Decode(s.block[:size], block)
	if err != nil {
		return fmt.Errorf("%w: %w", errSnappy, err)
	}
	return nil
}

// snappyLen walks the elements of a block and returns the size it decodes to,
// which must be the one declared: so nothing is allocated for a lie. It also
// refuses copies from offset 0, which the decoder reads as an extension of its
// own and no other client can read.
func snappyLen(block []byte) (int, error) {
	declared, n := binary.Uvarint(block)
	if n <= 0 || declared > 1<<32-1 {
		return 0, fmt.Errorf("%w: no block length", errSnappy)
	}
	b := block[n:]
	var size uint64
	for len(b) > 0 {
		tag := b[0]
		switch tag & 3 {
		case 0: // literal: its length - 1, in the tag or in 1 to 4 bytes
			length, skip := uint64(tag>>2), 1
			if length >= 60 {
				skip += int(length) - 59
				if len(b) < skip {
					return 0, fmt.Errorf("%w: literal is cut", errSnappy)
				}
				length = 0
				for i := skip - 1; i > 0; i-- {
					length = length<<8 | uint64(b[i])
				}
			}
			length++
			if length > uint64(len(b)-skip) {
				return 0, fmt.Errorf("%w: literal is cut", errSnappy)
			}
			b = b[skip+int(length):]
			size += length
		case 1: // copy of 4 to 11 bytes, offset of 11 bits
			if len(b) < 2 || tag&0xe0 == 0 && b[1] == 0 {
				return 0, fmt.Errorf("%w: copy is cut or has offset 0", errSnappy)
			}
			size += uint64(tag>>2&7) + 4
			b = b[2:]
		default: // copy of 1 to 64 bytes, offset of 2 or 4 bytes
			skip := 3
			if tag&3 == 3 {
				skip = 5
			}
			if len(b) < skip || len(bytes.TrimLeft(b[1:skip], "\x00")) == 0 {
				return 0, fmt.Errorf("%w: copy is cut or has offset 0", errSnappy)
			}
			size += uint64(tag>>2) + 1
			b = b[skip:]
		}
		if size > declared {
			break
		}
	}
	if size != declared {
		return 0, fmt.Errorf("%w: block declares %d bytes and decodes to others", errSnappy, declared)
	}
	return int(size), nil
}

// snappySink writes the framing of the Java library.
type snappySink struct {
	w     io.Writer
	begun bool // the header is written
	in    []byte
	out   []byte
}

func newSnappySink() *snappySink {
	return &snappySink{in: make([]byte, 0, xerialBlock), out: make([]byte, 4+snappy.MaxEncodedLen(xerialBlock))}
}

func (s *snappySink) Reset(w io.Writer) { s.w, s.begun, s.in = w, false, s.in[:0] }

func (s *snappySink) begin() error {
	if s.begun {
		return nil
	}
	s.begun = true
	head := make([]byte, 0, xerialHeader)
	head = append(head, xerialMagic...)
	head = binary.BigEndian.AppendUint32(head, xerialVersion)
	head = binary.BigEndian.AppendUint32(head, xerialVersion)
	_, err := s.w.Write(head)
	return err
}

func (s *snappySink) Write(p []byte) (int, error) {
	total := len(p)
	for len(p) > 0 {
		n := copy(s.in[len(s.in):xerialBlock], p)
		s.in = s.in[:len(s.in)+n]
		p = p[n:]
		if len(s.in) == xerialBlock {
			if err := s.flush(); err != nil {
				return 0, err
			}
		}
	}
	return total, nil
}

func (s *snappySink) flush() error {
	if err := s.begin(); err != nil || len(s.in) == 0 {
		return err
	}
	enc := snappy.Encode(s.out[4:], s.in)
	binary.BigEndian.PutUint32(s.out, uint32(len(enc)))
	s.in = s.in[:0]
	_, err := s.w.Write(s.out[:4+len(enc)])
	return err
}

func (s *snappySink) Close() error { return s.flush() }
