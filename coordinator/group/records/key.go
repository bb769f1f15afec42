package records

import (
	"encoding/binary"
	"math"
)

// MaxString is the most bytes that a string of a key can have.
const MaxString = math.MaxInt16

// key makes the key of every kind but that of offsets: the kind, and one or two
// strings.
func key(kind Kind, parts ...string) []byte {
	size := 2
	for _, s := range parts {
		size += 2 + len(s)
	}
	b := binary.BigEndian.AppendUint16(make([]byte, 0, size), uint16(kind))
	for _, s := range parts {
		b = binary.BigEndian.AppendUint16(b, uint16(len(s)))
		b = append(b, s...)
	}
	return b
}
