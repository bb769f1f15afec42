package segment

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
)

// Small files are one envelope each, little-endian:
//
//	magic[4] version(u16) 0(u16) length(u32) payload[length] crc32c(u32)
//
// The CRC covers everything before it.
const envelopeHead = 12

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// errDamaged: an envelope, header or block that is not as it was written.
var errDamaged = errors.New("checksum, magic or length is wrong")

func sealEnvelope(magic string, version uint16, payload []byte) []byte {
	b := make([]byte, 0, envelopeHead+len(payload)+4)
	b = append(b, magic...)
	b = binary.LittleEndian.AppendUint16(b, version)
	b = binary.LittleEndian.AppendUint16(b, 0)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(payload)))
	b = append(b, payload...)
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

// openEnvelope gives the payload. A sound envelope of a later version is
// ErrNewer; everything else that is wrong is errDamaged.
func openEnvelope(b []byte, magic string, version uint16) ([]byte, error) {
	if len(b) < envelopeHead+4 || string(b[:4]) != magic {
		return nil, errDamaged
	}
	n := len(b) - 4
	if int64(binary.LittleEndian.Uint32(b[8:])) != int64(n-envelopeHead) ||
		crc32.Checksum(b[:n], castagnoli) != binary.LittleEndian.Uint32(b[n:]) {
		return nil, errDamaged
	}
	if v := binary.LittleEndian.Uint16(b[4:]); v > version {
		return nil, fmt.Errorf("%w: format %s version %d, this binary reads up to %d", ErrNewer, magic, v, version)
	}
	return b[envelopeHead:n], nil
}
