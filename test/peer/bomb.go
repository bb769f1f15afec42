package peer

import (
	"bytes"
	"compress/gzip"
	"math/bits"
)

// GzipZeros returns prefix followed by n zero bytes, compressed as far as gzip can.
func GzipZeros(prefix []byte, n int) []byte {
	var b bytes.Buffer
	w, _ := gzip.NewWriterLevel(&b, gzip.BestCompression) // the level is valid
	w.Write(prefix)
	for zeros := make([]byte, 1<<20); n > 0; n -= len(zeros) {
		zeros = zeros[:min(n, len(zeros))]
		w.Write(zeros)
	}
	w.Close()
	return b.Bytes()
}

// LZ4HeaderChecksum is the byte that closes the header of an LZ4 frame: the second
// byte of the XXH32 of the descriptor (LZ4 frame format, 1.6.1). Descriptors are
// shorter than 16 bytes, so only the tail of the hash is needed.
func LZ4HeaderChecksum(descriptor []byte) byte {
	const p1, p2, p3, p4, p5 = 2654435761, 2246822519, 3266489917, 668265263, 374761393
	h := uint32(p5) + uint32(len(descriptor))
	for ; len(descriptor) >= 4; descriptor = descriptor[4:] {
		w := uint32(descriptor[0]) | uint32(descriptor[1])<<8 | uint32(descriptor[2])<<16 | uint32(descriptor[3])<<24
		h = bits.RotateLeft32(h+w*p3, 17) * p4
	}
	for _, c := range descriptor {
		h = bits.RotateLeft32(h+uint32(c)*p5, 11) * p1
	}
	h = (h ^ h>>15) * p2
	h = (h ^ h>>13) * p3
	return byte((h ^ h>>16) >> 8)
}
