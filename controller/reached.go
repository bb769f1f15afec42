package controller

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
)

// Between the two slots of quorum-state lies the mark: the last entry of the log that was
// synced. Without it a log that was cut behind a whole entry would look as if it had never
// been longer, and one that was cut within an entry as if nobody had been told of it.
//
//	2048  magic "RMREACHD"
//	2056  last index  uint64
//	2064  crc32c of bytes 2048 to 2063
//
// It is written after the sync of the entries and before anybody is told of them, and is
// not synced itself. So it is never above what the disk has: a kill keeps it as it is, and
// a power cut may leave an older one.
const (
	reachedAt    = slotDistance / 2
	reachedMagic = "RMREACHD"
	reachedSize  = 20
)

func encodeReached(index uint64) []byte {
	b := binary.BigEndian.AppendUint64([]byte(reachedMagic), index)
	return binary.BigEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

// decodeReached returns 0 for a mark that was never written. b is the whole file.
func decodeReached(b []byte, path string) (index uint64, err error) {
	b = b[reachedAt : reachedAt+reachedSize]
	if len(bytes.TrimLeft(b, "\x00")) == 0 {
		return 0, nil
	}
	sealed := b[:reachedSize-4]
	if string(b[:8]) != reachedMagic || crc32.Checksum(sealed, castagnoli) != binary.BigEndian.Uint32(b[len(sealed):]) {
		return 0, damaged(path, reachedAt, "the checksum is wrong, so how far the log had come is not known")
	}
	return binary.BigEndian.Uint64(b[8:]), nil
}

// strayByte finds a byte of quorum-state that is not zero and that nothing uses, -1 if
// there is none.
func strayByte(b []byte) int64 {
	for at := range b {
		in := at % slotDistance
		if b[at] != 0 && in >= slotSize && (at < reachedAt || at >= reachedAt+reachedSize) {
			return int64(at)
		}
	}
	return -1
}

// noteReached moves the mark. synced: it is on disk when this returns.
func (s *stateStore) noteReached(index uint64, synced bool) error {
	if _, err := s.file.WriteAt(encodeReached(index), reachedAt); err != nil || !synced {
		return err
	}
	return s.file.SyncData()
}
