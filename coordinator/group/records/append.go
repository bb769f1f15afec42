package records

import "encoding/binary"

// The primitives of a flexible version (KIP-482): lengths and counts are varints of
// one more, so that 0 is null.

func appendInt32(b []byte, v int32) []byte { return binary.BigEndian.AppendUint32(b, uint32(v)) }
func appendInt64(b []byte, v int64) []byte { return binary.BigEndian.AppendUint64(b, uint64(v)) }

func appendLength(b []byte, n int) []byte { return binary.AppendUvarint(b, uint64(n)+1) }

func appendString(b []byte, s string) []byte { return append(appendLength(b, len(s)), s...) }

func appendNullableString(b []byte, s *string) []byte {
	if s == nil {
		return append(b, 0)
	}
	return appendString(b, *s)
}

func appendBytes(b, v []byte) []byte { return append(appendLength(b, len(v)), v...) }

func appendStrings(b []byte, list []string) []byte {
	b = appendLength(b, len(list))
	for _, s := range list {
		b = appendString(b, s)
	}
	return b
}

func appendInt32s(b []byte, list []int32) []byte {
	b = appendLength(b, len(list))
	for _, v := range list {
		b = appendInt32(b, v)
	}
	return b
}

// appendTag ends a structure with one tagged field, of tag 0; with none if content
// is nil.
func appendTag(b, content []byte) []byte {
	if content == nil {
		return append(b, 0)
	}
	b = append(b, 1, 0)
	b = binary.AppendUvarint(b, uint64(len(content)))
	return append(b, content...)
}
