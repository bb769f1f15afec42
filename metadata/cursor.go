package metadata

import (
	"encoding/binary"
	"fmt"
)

// The primitives of the encodings: unsigned and zigzag varints, booleans as a
// byte, strings and lists behind a varint length, ids as 16 raw bytes. A list
// or string that may be absent has its length plus one, and 0 for absent.

func appendInt(b []byte, v int64) []byte { return binary.AppendVarint(b, v) }

func appendString(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

func appendOptionalString(b []byte, s *string) []byte {
	if s == nil {
		return append(b, 0)
	}
	return append(binary.AppendUvarint(b, uint64(len(*s))+1), *s...)
}

func appendBool(b []byte, v bool) []byte {
	if v {
		return append(b, 1)
	}
	return append(b, 0)
}

func appendInts(b []byte, list []int32) []byte {
	b = binary.AppendUvarint(b, uint64(len(list)))
	for _, v := range list {
		b = appendInt(b, int64(v))
	}
	return b
}

func appendOptionalInts(b []byte, list []int32) []byte {
	if list == nil {
		return append(b, 0)
	}
	b = binary.AppendUvarint(b, uint64(len(list))+1)
	for _, v := range list {
		b = appendInt(b, int64(v))
	}
	return b
}

// cursor reads the primitives. After the first error it returns zero values;
// err says what was wrong and at which byte.
type cursor struct {
	b   []byte
	at  int
	err error

	// ints is the list that was read last: partition records repeat the same
	// replicas thousands of times, and one copy is enough.
	ints []int32
}

func (c *cursor) fail(format string, args ...any) {
	if c.err == nil {
		c.err = fmt.Errorf("%w: at byte %d: %s", ErrCorrupt, c.at, fmt.Sprintf(format, args...))
	}
}

func (c *cursor) left() int { return len(c.b) - c.at }

func (c *cursor) uvarint() uint64 {
	if c.err != nil {
		return 0
	}
	v, n := binary.Uvarint(c.b[c.at:])
	if n <= 0 {
		c.fail("a number is cut off or too long")
		return 0
	}
	c.at += n
	return v
}

func (c *cursor) int(min, max int64) int64 {
	if c.err != nil {
		return 0
	}
	v, n := binary.Varint(c.b[c.at:])
	if n <= 0 {
		c.fail("a number is cut off or too long")
		return 0
	}
	if v < min || v > max {
		c.fail("%d is not between %d and %d", v, min, max)
		return 0
	}
	c.at += n
	return v
}

func (c *cursor) int32() int32 { return int32(c.int(-1<<31, 1<<31-1)) }
func (c *cursor) int64() int64 { return c.int(-1<<63, 1<<63-1) }

func (c *cursor) bool() bool {
	b := c.take(1)
	if c.err != nil {
		return false
	}
	if b[0] > 1 {
		c.at--
		c.fail("%d is neither false nor true", b[0])
	}
	return b[0] == 1
}

// take returns the next n bytes; they belong to the input.
func (c *cursor) take(n uint64) []byte {
	if c.err != nil {
		return nil
	}
	if n > uint64(c.left()) {
		c.fail("%d bytes are announced and %d are there", n, c.left())
		return nil
	}
	b := c.b[c.at : c.at+int(n)]
	c.at += int(n)
	return b
}

func (c *cursor) string() string { return string(c.take(c.uvarint())) }

func (c *cursor) optionalString() *string {
	n := c.uvarint()
	if n == 0 {
		return nil
	}
	s := string(c.take(n - 1))
	return &s
}

func (c *cursor) id() (id [16]byte) {
	copy(id[:], c.take(16))
	return id
}

func (c *cursor) int32s() []int32 { return c.int32List(c.uvarint()) }

func (c *cursor) optionalInt32s() []int32 {
	n := c.uvarint()
	if n == 0 {
		return nil
	}
	if n == 1 {
		return []int32{}
	}
	return c.int32List(n - 1)
}

// int32List returns nil for an empty list.
func (c *cursor) int32List(n uint64) []int32 {
	if c.err != nil || n == 0 {
		return nil
	}
	if n > uint64(c.left()) { // an element takes a byte at least
		c.fail("%d elements are announced and %d bytes are there", n, c.left())
		return nil
	}
	start := c.at
	same := len(c.ints) == int(n)
	for i := 0; i < int(n) && same; i++ {
		same = c.int32() == c.ints[i] && c.err == nil
	}
	if same {
		return c.ints
	}
	c.at = start
	if c.err != nil {
		return nil
	}
	list := make([]int32, n)
	for i := range list {
		list[i] = c.int32()
	}
	c.ints = list
	return list
}
