package wire

import (
	"encoding/binary"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// AppendResponse appends a whole response frame: length, header, body in the
// version that resp has. The header of ApiVersions is never flexible, so that
// a client can read it before it knows what the broker speaks (KIP-511).
func AppendResponse(dst []byte, correlation int32, resp kmsg.Response) []byte {
	start := len(dst)
	dst = appendHead(dst, correlation, resp.IsFlexible() && resp.Key() != keyApiVersions)
	dst = resp.AppendTo(dst)
	return patchLength(dst, start)
}

// appendHead begins a frame whose length is patched in later.
func appendHead(dst []byte, correlation int32, flexible bool) []byte {
	dst = append(dst, 0, 0, 0, 0)
	dst = appendInt32(dst, correlation)
	if flexible {
		dst = append(dst, 0) // no tagged fields
	}
	return dst
}

func patchLength(dst []byte, start int) []byte {
	binary.BigEndian.PutUint32(dst[start:], uint32(len(dst)-start-4))
	return dst
}

func appendInt16(dst []byte, v int16) []byte { return binary.BigEndian.AppendUint16(dst, uint16(v)) }
func appendInt32(dst []byte, v int32) []byte { return binary.BigEndian.AppendUint32(dst, uint32(v)) }
func appendInt64(dst []byte, v int64) []byte { return binary.BigEndian.AppendUint64(dst, uint64(v)) }

// appendCount appends the count of an array that is not null.
func appendCount(dst []byte, n int, flexible bool) []byte {
	if flexible {
		return binary.AppendUvarint(dst, uint64(n)+1)
	}
	return appendInt32(dst, int32(n))
}

// appendString appends a string that is not null.
func appendString[S string | []byte](dst []byte, s S, flexible bool) []byte {
	if flexible {
		dst = binary.AppendUvarint(dst, uint64(len(s))+1)
	} else {
		dst = appendInt16(dst, int16(len(s)))
	}
	return append(dst, s...)
}

func appendNull(dst []byte, flexible, short bool) []byte {
	switch {
	case flexible:
		return append(dst, 0)
	case short:
		return append(dst, 0xff, 0xff)
	}
	return append(dst, 0xff, 0xff, 0xff, 0xff)
}

// appendNullable appends a string, with "" for null: nothing that is sent here
// tells an empty text from none.
func appendNullable(dst []byte, s string, flexible bool) []byte {
	if s == "" {
		return appendNull(dst, flexible, true)
	}
	return appendString(dst, s, flexible)
}
