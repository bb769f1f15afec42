package record

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/pierrec/lz4/v4"
)

// The LZ4 frame format is read here rather than by a library's stream reader,
// because Kafka's clients read a subset of it: one frame, blocks that do not
// depend on each other, a version and reserved bits that are exactly right.
// What a library would read and a Java consumer would not must be refused.
// Source: lz4's frame format description, version 1.6.

const (
	lz4Magic           = 0x184D2204
	lz4Version         = 1 << 6
	lz4VersionMask     = 3 << 6
	lz4Independent     = 1 << 5
	lz4BlockChecksum   = 1 << 4
	lz4ContentSize     = 1 << 3
	lz4ContentChecksum = 1 << 2
	lz4Reserved        = 3 // reserved, and dictionary id: no client of Kafka's has one
	lz4Stored          = 1 << 31
)

var errLZ4 = errors.New("lz4")

// lz4Source decodes one LZ4 frame, block by block. The largest block is 4 MiB,
// which is the memory it keeps.
type lz4Source struct {
	in       []byte // not yet read
	block    []byte // decoded block, owned
	rest     []byte // of it or of the input, not yet handed out
	maxBlock int
	flags    byte
	size     uint64 // declared content size
	total    uint64
	sum      xxh32 // of the content
	done     bool
}

// reset begins a frame: it reads the header.
func (s *lz4Source) reset(in []byte) error {
	*s = lz4Source{block: s.block}
	if len(in) < 7 || binary.LittleEndian.Uint32(in) != lz4Magic {
		return fmt.Errorf("%w: no frame header", errLZ4)
	}
	flags, bd := in[4], in[5]
	n := 6
	if flags&lz4VersionMask != lz4Version || flags&lz4Reserved != 0 {
		return fmt.Errorf("%w: flags %#02x ask for what Kafka's clients do not read", errLZ4, flags)
	}
	if flags&lz4Independent == 0 {
		return fmt.Errorf("%w: blocks depend on each other, which Kafka's clients do not read", errLZ4)
	}
	if bd&0x8f != 0 || bd>>4 < 4 {
		return fmt.Errorf("%w: block descriptor %#02x is invalid", errLZ4, bd)
	}
	if flags&lz4ContentSize != 0 {
		n += 8
		if len(in) <= n {
			return fmt.Errorf("%w: no frame header", errLZ4)
		}
		s.size = binary.LittleEndian.Uint64(in[6:])
	}
	if sum := byte(xxh32Sum(in[4:n]) >> 8); in[n] != sum {
		return fmt.Errorf("%w: header checksum is %#02x, should be %#02x", errLZ4, in[n], sum)
	}
	s.in, s.flags = in[n+1:], flags
	s.maxBlock = 1 << (8 + 2*int(bd>>4)) // 4: 64 KiB, 5: 256 KiB, 6: 1 MiB, 7: 4 MiB
	s.sum.reset()
	return nil
}

func (s *lz4Source) Read(p []byte) (int, error) {
	for len(s.rest) == 0 {
		if s.done {
			return 0, io.EOF
		}
		if err := s.nextBlock(); err != nil {
			return 0, err
		}
	}
	n := copy(p, s.rest)
	s.rest = s.rest[n:]
	return n, nil
}

// take cuts n bytes off the input.
func (s *lz4Source) take(n int) ([]byte, error) {
	if n > len(s.in) {
		return nil, fmt.Errorf("%w: %w", errLZ4, io.ErrUnexpectedEOF)
	}
	b := s.in[:n]
	s.in = s.in[n:]
	return b, nil
}

func (s *lz4Source) nextBlock() error {
	head, err := s.take(4)
	if err != nil {
		return err
	}
	size := binary.LittleEndian.Uint32(head)
	if size == 0 {
		return s.end()
	}
	stored := size&lz4Stored != 0
	size &^= lz4Stored
	if int64(size) > int64(s.maxBlock) {
		return fmt.Errorf("%w: block of %d bytes in a frame of blocks up to %d", errLZ4, size, s.maxBlock)
	}
	data, err := s.take(int(size))
	if err != nil {
		return err
	}
	if s.flags&lz4BlockChecksum != 0 {
		sum, err := s.take(4)
		if err != nil {
			return err
		}
		if binary.LittleEndian.Uint32(sum) != xxh32Sum(data) {
			return fmt.Errorf("%w: block checksum is wrong", errLZ4)
		}
	}
	if stored {
		s.rest = data
	} else {
		// A block of n bytes decodes to less than 255 n, so that a small batch
		// never makes the buffer large.
		need := min(s.maxBlock, 255*len(data))
		if cap(s.block) < need {
			s.block = make([]byte, need)
		}
		n, err := lz4.UncompressBlock(data, s.block[:need])
		if err != nil {
			return fmt.Errorf("%w: block does not decode: %w", errLZ4, err)
		}
		s.rest = s.block[:n]
	}
	s.total += uint64(len(s.rest))
	if s.flags&lz4ContentSize != 0 && s.total > s.size {
		return fmt.Errorf("%w: more content than the %d bytes declared", errLZ4, s.size)
	}
	if s.flags&lz4ContentChecksum != 0 {
		s.sum.write(s.rest)
	}
	return nil
}

// end reads what follows the last block. Java clients would ignore bytes behind
// the frame, Go clients fail on them, so there may be none.
func (s *lz4Source) end() error {
	s.done = true
	if s.flags&lz4ContentSize != 0 && s.total != s.size {
		return fmt.Errorf("%w: content of %d bytes where %d were declared", errLZ4, s.total, s.size)
	}
	if s.flags&lz4ContentChecksum != 0 {
		sum, err := s.take(4)
		if err != nil {
			return err
		}
		if binary.LittleEndian.Uint32(sum) != s.sum.sum() {
			return fmt.Errorf("%w: content checksum is wrong", errLZ4)
		}
	}
	if len(s.in) > 0 {
		return fmt.Errorf("%w: %d bytes behind the frame", errLZ4, len(s.in))
	}
	return nil
}

// lz4Block is the block size written: what Kafka's own producer uses.
const (
	lz4Block   = 64 << 10
	lz4BlockBD = 4 << 4
)

// lz4Sink writes one LZ4 frame of independent blocks, as Kafka's clients read
// it: no content size, no content checksum.
type lz4Sink struct {
	w     io.Writer
	begun bool   // the header is written
	in    []byte // the block being filled
	out   []byte
	level lz4.CompressionLevel // 0: the fast compressor
	fast  lz4.Compressor
}

func newLZ4Sink(level int) *lz4Sink {
	s := &lz4Sink{in: make([]byte, 0, lz4Block), out: make([]byte, 4+lz4Block)}
	if level != 0 && level != lz4DefaultLevel {
		// The library's levels go from 1 to 9 where Kafka's go to 17.
		s.level = lz4.CompressionLevel(1 << (8 + min(max(level, 1), 9)))
	}
	return s
}

func (s *lz4Sink) Reset(w io.Writer) { s.w, s.begun, s.in = w, false, s.in[:0] }

func (s *lz4Sink) begin() error {
	if s.begun {
		return nil
	}
	s.begun = true
	head := [7]byte{0, 0, 0, 0, lz4Version | lz4Independent, lz4BlockBD}
	binary.LittleEndian.PutUint32(head[:], lz4Magic)
	head[6] = byte(xxh32Sum(head[4:6]) >> 8)
	_, err := s.w.Write(head[:])
	return err
}

func (s *lz4Sink) Write(p []byte) (int, error) {
	total := len(p)
	for len(p) > 0 {
		n := copy(s.in[len(s.in):lz4Block], p)
		s.in = s.in[:len(s.in)+n]
		p = p[n:]
		if len(s.in) == lz4Block {
			if err := s.flush(); err != nil {
				return 0, err
			}
		}
	}
	return total, nil
}

func (s *lz4Sink) flush() error {
	if err := s.begin(); err != nil || len(s.in) == 0 {
		return err
	}
	// A block that does not shrink is stored, so the output never needs more.
	dst := s.out[4:]
	var n int
	var err error
	if s.level == 0 {
		n, err = s.fast.CompressBlock(s.in, dst[:len(s.in)])
	} else {
		n, err = lz4.CompressBlockHC(s.in, dst[:len(s.in)], s.level, nil, nil)
	}
	if err != nil && !errors.Is(err, lz4.ErrInvalidSourceShortBuffer) {
		return fmt.Errorf("%w: %w", errLZ4, err)
	}
	size := uint32(n)
	if err != nil || n == 0 || n >= len(s.in) {
		n = copy(dst, s.in)
		size = uint32(n) | lz4Stored
	}
	binary.LittleEndian.PutUint32(s.out, size)
	s.in = s.in[:0]
	_, err = s.w.Write(s.out[:4+n])
	return err
}

func (s *lz4Sink) Close() error {
	if err := s.flush(); err != nil {
		return err
	}
	_, err := s.w.Write([]byte{0, 0, 0, 0})
	return err
}
