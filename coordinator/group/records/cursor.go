package records

import (
	"encoding/binary"
	"errors"
	"fmt"

	"ringmain/model"
)

// ErrNewer says that a value has a version that this release does not know.
var ErrNewer = errors.New("written by a newer release")

// ErrCorrupt says that bytes are not what Kafka or this package ever wrote.
var ErrCorrupt = errors.New("the record is damaged")

// version is the version of a value's encoding.
func version(value []byte) (int16, error) {
	if len(value) < 2 {
		return 0, fmt.Errorf("%w: its version takes 2 bytes and %d are there", ErrCorrupt, len(value))
	}
	return int16(binary.BigEndian.Uint16(value)), nil
}

// known refuses versions that are not between 0 and newest.
func known(v, newest int16) error {
	if v < 0 {
		return fmt.Errorf("%w: version %d", ErrCorrupt, v)
	}
	if v > newest {
		return fmt.Errorf("%w: version %d of the value, %d is the newest known; run a release that knows it", ErrNewer, v, newest)
	}
	return nil
}

// cursor reads the primitives of a flexible version (KIP-482) and of keys. After
// the first failure it returns zero values.
type cursor struct {
	b   []byte
	at  int
	err error
}

func (c *cursor) fail(format string, args ...any) {
	if c.err == nil {
		c.err = fmt.Errorf("%w: at byte %d: %s", ErrCorrupt, c.at, fmt.Sprintf(format, args...))
	}
}

func (c *cursor) left() int { return len(c.b) - c.at }

// take gives the next n bytes, which belong to the input.
func (c *cursor) take(n int) []byte {
	if c.err != nil {
		return nil
	}
	if n < 0 || n > c.left() {
		c.fail("%d bytes are announced and %d are there", n, c.left())
		return nil
	}
	b := c.b[c.at : c.at+n]
	c.at += n
	return b
}

func (c *cursor) int8() int8 {
	if b := c.take(1); b != nil {
		return int8(b[0])
	}
	return 0
}

func (c *cursor) int16() int16 {
	if b := c.take(2); b != nil {
		return int16(binary.BigEndian.Uint16(b))
	}
	return 0
}

func (c *cursor) int32() int32 {
	if b := c.take(4); b != nil {
		return int32(binary.BigEndian.Uint32(b))
	}
	return 0
}

func (c *cursor) int64() int64 {
	if b := c.take(8); b != nil {
		return int64(binary.BigEndian.Uint64(b))
	}
	return 0
}

// uvarint reads a varint of 32 bits.
func (c *cursor) uvarint() int {
	if c.err != nil {
		return 0
	}
	v, n := binary.Uvarint(c.b[c.at:])
	if n <= 0 || v > 1<<32-1 {
		c.fail("a varint is cut off or too long")
		return 0
	}
	c.at += n
	return int(v)
}

func (c *cursor) topicID() (id model.TopicID) {
	copy(id[:], c.take(len(id)))
	return id
}

// keyString reads a string of a key, with two bytes of length.
func (c *cursor) keyString() string { return string(c.take(int(c.int16()))) }

func (c *cursor) string() string {
	s := c.nullableString()
	if s == nil {
		c.fail("a string is null and may not be")
		return ""
	}
	return *s
}

func (c *cursor) nullableString() *string {
	n := c.uvarint()
	if n == 0 || c.err != nil {
		return nil
	}
	s := string(c.take(n - 1))
	return &s
}

func (c *cursor) bytes() []byte {
	n := c.uvarint()
	if n == 0 {
		c.fail("bytes are null and may not be")
		return nil
	}
	return append([]byte{}, c.take(n-1)...)
}

// count reads the length of an array whose elements take at least size bytes: no
// length makes more memory than its input has.
func (c *cursor) count(size int) int {
	n := c.uvarint()
	if n == 0 {
		c.fail("an array is null and may not be")
		return 0
	}
	if n--; n > c.left()/size {
		c.fail("%d elements are announced and %d bytes are there", n, c.left())
		return 0
	}
	return n
}

func (c *cursor) int32s() []int32 {
	n := c.count(4)
	if n == 0 {
		return nil
	}
	list := make([]int32, n)
	for i := range list {
		list[i] = c.int32()
	}
	return list
}

func (c *cursor) strings() []string {
	n := c.count(1)
	var list []string
	for range n {
		list = append(list, c.string())
	}
	return list
}

// tags reads the tagged fields at the end of a structure. field is given those of
// tag 0, the only one that any structure here has; others are passed over.
func (c *cursor) tags(field func(c *cursor)) {
	for n := c.uvarint(); n > 0 && c.err == nil; n-- {
		tag := c.uvarint()
		content := cursor{b: c.take(c.uvarint())}
		if tag != 0 || field == nil || c.err != nil {
			continue
		}
		if field(&content); content.err == nil && content.left() > 0 {
			content.fail("%d bytes of tag 0 are left over", content.left())
		}
		c.err = content.err
	}
}
