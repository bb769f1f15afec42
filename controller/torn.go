package controller

import "bytes"

// sectorBytes is the unit in which a disk writes or does not write.
const sectorBytes = 512

// torn decides what bytes are that should be a frame and are not. b is the
// whole file, the frame should begin at p with the entry index want.
//
// The log is synced after every write, so only the last write of the file can
// be torn, and nobody was told of its entries: then its bytes are cut. What a
// crash leaves of a write is some of its sectors; a sector that is missing lies
// past the end of the file or reads as zeros. Anything else (bytes that are
// there and wrong, or a hole with entries of a later write behind it) is
// damage to what was acknowledged, and no reason to throw it away.
func torn(b []byte, p int64, want uint64) bool {
	rest := b[p:]
	if len(rest) >= frameHeaderSize {
		h, ok := parseFrameHeader(rest)
		switch {
		case !ok:
			if !missingSector(b, p, p+frameHeaderSize) {
				return false
			}
		case h.index != want:
			return false
		case h.frameSize() <= int64(len(rest)):
			if !missingSector(b, p, p+h.frameSize()) {
				return false
			}
		}
	}
	return !laterWrite(rest, want)
}

// missingSector reports whether one of the sectors that hold b[from:to] is all
// zero, from "from" or its beginning on.
func missingSector(b []byte, from, to int64) bool {
	for from < to {
		end := min(from/sectorBytes*sectorBytes+sectorBytes, int64(len(b)))
		if len(bytes.TrimLeft(b[from:end], "\x00")) == 0 {
			return true
		}
		from = end
	}
	return false
}

// laterWrite reports whether b holds a frame of a write that began after entry
// want.
func laterWrite(b []byte, want uint64) bool {
	magic := []byte{frameMagic >> 24, frameMagic >> 16 & 0xff, frameMagic >> 8 & 0xff, frameMagic & 0xff}
	for {
		i := bytes.Index(b, magic)
		if i < 0 {
			return false
		}
		if h, ok := parseFrameHeader(b[i:]); ok && h.batchFirst > want {
			return true
		}
		b = b[i+1:]
	}
}
