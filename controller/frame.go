package controller

import (
	"encoding/binary"
	"hash/crc32"
	"time"

	"github.com/hashicorp/raft"
)

// An entry of the raft log lies in its segment file as a frame: header,
// payload (extensions, then data), trailer byte. Numbers are big-endian.
//
//	0   magic         uint32
//	4   payload size  uint32
//	8   index         uint64
//	16  term          uint64
//	24  batch first   uint64  index of the first entry of the same write
//	32  appended at   int64   Unix nanoseconds, 0 when unknown
//	40  type          uint8   raft.LogType
//	41  zero          uint8
//	42  extensions    uint16  size of the extensions in the payload
//	44  payload crc   uint32  crc32c of the payload
//	48  header crc    uint32  crc32c of bytes 0 to 47
//
// The header has a checksum of its own so that a damaged size cannot pass for
// a frame that runs past the end of the file, that is for a torn write. The
// first and the last byte of a frame are never zero, so that a sector that a
// crash left unwritten is seen as such (see torn).
const (
	frameMagic      = 0x524d4652 // "RMFR"
	frameHeaderSize = 52
	frameTrailer    = 0xe5

	// maxEntryBytes bounds the payload of an entry: far above any change, and
	// small enough to be read at once.
	maxEntryBytes = 64 << 20
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

type frameHeader struct {
	size       uint32
	index      uint64
	term       uint64
	batchFirst uint64
	appendedAt int64
	kind       raft.LogType
	extensions uint16
	payloadCRC uint32
}

// frameSize is the size of the whole frame.
func (h *frameHeader) frameSize() int64 { return frameHeaderSize + int64(h.size) + 1 }

func appendFrame(b []byte, l *raft.Log, batchFirst uint64) []byte {
	start := len(b)
	var appendedAt int64
	if !l.AppendedAt.IsZero() {
		appendedAt = l.AppendedAt.UnixNano()
	}
	crc := crc32.Update(crc32.Checksum(l.Extensions, castagnoli), castagnoli, l.Data)
	b = binary.BigEndian.AppendUint32(b, frameMagic)
	b = binary.BigEndian.AppendUint32(b, uint32(len(l.Extensions)+len(l.Data)))
	b = binary.BigEndian.AppendUint64(b, l.Index)
	b = binary.BigEndian.AppendUint64(b, l.Term)
	b = binary.BigEndian.AppendUint64(b, batchFirst)
	b = binary.BigEndian.AppendUint64(b, uint64(appendedAt))
	b = append(b, byte(l.Type), 0)
	b = binary.BigEndian.AppendUint16(b, uint16(len(l.Extensions)))
	b = binary.BigEndian.AppendUint32(b, crc)
	b = binary.BigEndian.AppendUint32(b, crc32.Checksum(b[start:], castagnoli))
	b = append(append(b, l.Extensions...), l.Data...)
	return append(b, frameTrailer)
}

// parseFrameHeader reads the header at the start of b; ok is false when b is
// too short, or the bytes are no header.
func parseFrameHeader(b []byte) (h frameHeader, ok bool) {
	if len(b) < frameHeaderSize || binary.BigEndian.Uint32(b) != frameMagic ||
		crc32.Checksum(b[:48], castagnoli) != binary.BigEndian.Uint32(b[48:]) {
		return h, false
	}
	h = frameHeader{
		size:       binary.BigEndian.Uint32(b[4:]),
		index:      binary.BigEndian.Uint64(b[8:]),
		term:       binary.BigEndian.Uint64(b[16:]),
		batchFirst: binary.BigEndian.Uint64(b[24:]),
		appendedAt: int64(binary.BigEndian.Uint64(b[32:])),
		kind:       raft.LogType(b[40]),
		extensions: binary.BigEndian.Uint16(b[42:]),
		payloadCRC: binary.BigEndian.Uint32(b[44:]),
	}
	return h, h.size <= maxEntryBytes && uint32(h.extensions) <= h.size
}

// payloadOK checks the bytes after the header; b begins with the header and is
// long enough.
func (h *frameHeader) payloadOK(b []byte) bool {
	payload := b[frameHeaderSize : frameHeaderSize+int(h.size)]
	return crc32.Checksum(payload, castagnoli) == h.payloadCRC && b[frameHeaderSize+int(h.size)] == frameTrailer
}

// entry fills l; its slices belong to b.
func (h *frameHeader) entry(b []byte, l *raft.Log) {
	payload := b[frameHeaderSize : frameHeaderSize+int(h.size)]
	*l = raft.Log{Index: h.index, Term: h.term, Type: h.kind, Data: payload[h.extensions:]}
	if h.extensions > 0 {
		l.Extensions = payload[:h.extensions]
	}
	if h.appendedAt != 0 {
		l.AppendedAt = time.Unix(0, h.appendedAt)
	}
}
