package controller

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"

	"github.com/hashicorp/raft"
)

// remade puts the right checksum on a slot of quorum-state.
func remade(slot []byte) []byte {
	binary.BigEndian.PutUint32(slot[slotChecksum:], crc32.Checksum(slot[:slotChecksum], castagnoli))
	return slot
}

// resealed puts the right checksum on a segment's header.
func resealed(header []byte) []byte {
	binary.BigEndian.PutUint32(header[60:], crc32.Checksum(header[:60], castagnoli))
	return header
}

// entryOf copies an entry out of a file.
func entryOf(h frameHeader, frame []byte) (l raft.Log) {
	h.entry(bytes.Clone(frame[:h.frameSize()]), &l)
	return l
}
