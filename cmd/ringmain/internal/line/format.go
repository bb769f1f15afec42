package line

import (
	"encoding/binary"
	"fmt"
	"strconv"

	"github.com/twmb/franz-go/pkg/kgo"
)

// Format prints records by a format string. It is immutable and may be shared.
type Format struct {
	parts []func(dst []byte, r *kgo.Record) []byte
}

// ParseFormat reads a format string with kcat's tokens:
//
//	%s value       %S its length (-1 for null)   %R its length as 4 bytes, big endian
//	%k key         %K its length (-1 for null)
//	%T timestamp, milliseconds since the Unix epoch
//	%h headers as name=value,name=value
//	%t topic       %p partition       %o offset
//	%e leader epoch (-1: unknown)     %% a percent sign
//
// and the escapes of Unescape. null is printed for null keys and values.
func ParseFormat(s, null string) (*Format, error) {
	f := &Format{}
	var text []byte
	flush := func() {
		if len(text) > 0 {
			f.parts = append(f.parts, literal(text))
			text = nil
		}
	}
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\\':
			c, n, err := escape(s[i:])
			if err != nil {
				return nil, err
			}
			text = append(text, c)
			i += n - 1
		case '%':
			i++
			if i == len(s) {
				return nil, fmt.Errorf("format %q ends in a lone %%; write %%%% for a percent sign", s)
			}
			if s[i] == '%' {
				text = append(text, '%')
				continue
			}
			part, ok := token(s[i], null)
			if !ok {
				return nil, fmt.Errorf("format token %%%c is not known; known are %%s %%S %%R %%k %%K %%T %%h %%t %%p %%o %%e and %%%%", s[i])
			}
			flush()
			f.parts = append(f.parts, part)
		default:
			text = append(text, s[i])
		}
	}
	flush()
	return f, nil
}

// Append prints r at the end of dst.
func (f *Format) Append(dst []byte, r *kgo.Record) []byte {
	for _, part := range f.parts {
		dst = part(dst, r)
	}
	return dst
}

func literal(text []byte) func([]byte, *kgo.Record) []byte {
	return func(dst []byte, _ *kgo.Record) []byte { return append(dst, text...) }
}

func token(c byte, null string) (func([]byte, *kgo.Record) []byte, bool) {
	switch c {
	case 's':
		return func(dst []byte, r *kgo.Record) []byte { return appendField(dst, r.Value, null) }, true
	case 'S':
		return func(dst []byte, r *kgo.Record) []byte { return strconv.AppendInt(dst, length(r.Value), 10) }, true
	case 'R':
		return func(dst []byte, r *kgo.Record) []byte {
			return binary.BigEndian.AppendUint32(dst, uint32(length(r.Value)))
		}, true
	case 'k':
		return func(dst []byte, r *kgo.Record) []byte { return appendField(dst, r.Key, null) }, true
	case 'K':
		return func(dst []byte, r *kgo.Record) []byte { return strconv.AppendInt(dst, length(r.Key), 10) }, true
	case 'T':
		return func(dst []byte, r *kgo.Record) []byte {
			return strconv.AppendInt(dst, r.Timestamp.UnixMilli(), 10)
		}, true
	case 'h':
		return appendHeaders, true
	case 't':
		return func(dst []byte, r *kgo.Record) []byte { return append(dst, r.Topic...) }, true
	case 'p':
		return func(dst []byte, r *kgo.Record) []byte { return strconv.AppendInt(dst, int64(r.Partition), 10) }, true
	case 'o':
		return func(dst []byte, r *kgo.Record) []byte { return strconv.AppendInt(dst, r.Offset, 10) }, true
	case 'e':
		return func(dst []byte, r *kgo.Record) []byte { return strconv.AppendInt(dst, int64(r.LeaderEpoch), 10) }, true
	}
	return nil, false
}

func appendField(dst, field []byte, null string) []byte {
	if field == nil {
		return append(dst, null...)
	}
	return append(dst, field...)
}

func length(field []byte) int64 {
	if field == nil {
		return -1
	}
	return int64(len(field))
}

// appendHeaders prints a null header value as NULL, always: an empty value
// prints as nothing, and the two would be one otherwise.
func appendHeaders(dst []byte, r *kgo.Record) []byte {
	for i, h := range r.Headers {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, h.Key...)
		dst = append(dst, '=')
		dst = appendField(dst, h.Value, "NULL")
	}
	return dst
}
