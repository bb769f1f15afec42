package audit

import (
	"bytes"
	"math/rand/v2"
)

// fillerBytes is the size of the block that values are cut from. It is a prime
// above 64 KiB, so that the pieces of consecutive records do not line up with
// anything.
const fillerBytes = 65537

// Filler gives values that only their stamp determines, so that whoever reads a
// record can tell whether all of its bytes are those that were sent, without
// keeping them. Immutable, for any goroutine.
type Filler struct{ block []byte }

// NewFiller makes the filler of a run. The bytes do not compress.
func NewFiller(run uint32) *Filler {
	rng := rand.NewChaCha8([32]byte{byte(run >> 24), byte(run >> 16), byte(run >> 8), byte(run)})
	f := &Filler{block: make([]byte, 2*fillerBytes)}
	_, _ = rng.Read(f.block[:fillerBytes]) // never fails
	// Twice the same, so that a piece never has to be joined of two.
	copy(f.block[fillerBytes:], f.block[:fillerBytes])
	return f
}

// start is where in the block a record's bytes begin.
func (f *Filler) start(s Stamp) int {
	mixed := (s.Sequence*0x9e3779b97f4a7c15 + uint64(s.Producer)<<20 + uint64(uint32(s.Partition))) * 0xbf58476d1ce4e5b9
	return int(mixed >> 16 % fillerBytes)
}

// Put writes the stamp and, behind it, the bytes that belong to it.
func (f *Filler) Put(s Stamp, value []byte) {
	s.Put(value)
	at := f.start(s)
	for rest := value[StampBytes:]; len(rest) > 0; {
		n := copy(rest, f.block[at:at+fillerBytes])
		rest = rest[n:]
	}
}

// Holds reports whether value, which begins with s, goes on as Put wrote it.
func (f *Filler) Holds(s Stamp, value []byte) bool {
	piece := f.block[f.start(s):][:fillerBytes]
	for rest := value[StampBytes:]; len(rest) > 0; {
		n := min(len(rest), len(piece))
		if !bytes.Equal(rest[:n], piece[:n]) {
			return false
		}
		rest = rest[n:]
	}
	return true
}
