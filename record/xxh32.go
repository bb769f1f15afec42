package record

import (
	"encoding/binary"
	"math/bits"
)

// xxh32 is the 32-bit xxHash with seed 0, the checksum of LZ4 frames. Source:
// the xxHash algorithm description.
type xxh32 struct {
	lanes [4]uint32
	tail  [16]byte // input that does not fill a stripe yet
	held  int      // bytes in tail
	total uint64
}

const (
	xxhPrime1 uint32 = 0x9E3779B1
	xxhPrime2 uint32 = 0x85EBCA77
	xxhPrime3 uint32 = 0xC2B2AE3D
	xxhPrime4 uint32 = 0x27D4EB2F
	xxhPrime5 uint32 = 0x165667B1
)

func xxh32Sum(b []byte) uint32 {
	var x xxh32
	x.reset()
	x.write(b)
	return x.sum()
}

func (x *xxh32) reset() {
	p1, p2 := xxhPrime1, xxhPrime2 // variables: the arithmetic wraps
	*x = xxh32{lanes: [4]uint32{p1 + p2, p2, 0, -p1}}
}

func (x *xxh32) write(b []byte) {
	x.total += uint64(len(b))
	if x.held > 0 {
		n := copy(x.tail[x.held:], b)
		x.held += n
		b = b[n:]
		if x.held < len(x.tail) {
			return
		}
		x.stripes(x.tail[:])
		x.held = 0
	}
	n := len(b) &^ 15
	x.stripes(b[:n])
	x.held = copy(x.tail[:], b[n:])
}

func (x *xxh32) stripes(b []byte) {
	a, c, d, e := x.lanes[0], x.lanes[1], x.lanes[2], x.lanes[3]
	for len(b) >= 16 {
		a = bits.RotateLeft32(a+binary.LittleEndian.Uint32(b)*xxhPrime2, 13) * xxhPrime1
		c = bits.RotateLeft32(c+binary.LittleEndian.Uint32(b[4:])*xxhPrime2, 13) * xxhPrime1
		d = bits.RotateLeft32(d+binary.LittleEndian.Uint32(b[8:])*xxhPrime2, 13) * xxhPrime1
		e = bits.RotateLeft32(e+binary.LittleEndian.Uint32(b[12:])*xxhPrime2, 13) * xxhPrime1
		b = b[16:]
	}
	x.lanes = [4]uint32{a, c, d, e}
}

func (x *xxh32) sum() uint32 {
	h := xxhPrime5
	if x.total >= 16 {
		h = bits.RotateLeft32(x.lanes[0], 1) + bits.RotateLeft32(x.lanes[1], 7) +
			bits.RotateLeft32(x.lanes[2], 12) + bits.RotateLeft32(x.lanes[3], 18)
	}
	h += uint32(x.total)
	b := x.tail[:x.held]
	for ; len(b) >= 4; b = b[4:] {
		h = bits.RotateLeft32(h+binary.LittleEndian.Uint32(b)*xxhPrime3, 17) * xxhPrime4
	}
	for _, c := range b {
		h = bits.RotateLeft32(h+uint32(c)*xxhPrime5, 11) * xxhPrime1
	}
	h ^= h >> 15
	h *= xxhPrime2
	h ^= h >> 13
	h *= xxhPrime3
	return h ^ h>>16
}
