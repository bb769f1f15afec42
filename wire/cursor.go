package wire

import "encoding/binary"

// cursor reads a request's bytes. The first failure stays in what: a constant
// text, so that reading never allocates.
type cursor struct {
	b    []byte
	p    int
	what string // what is wrong, "" if nothing
}

func (c *cursor) left() int { return len(c.b) - c.p }

func (c *cursor) fail(what string) {
	if c.what == "" {
		c.what = what
	}
	c.p = len(c.b)
}

const (
	endsEarly   = "the bytes end inside it"
	badVarint   = "a varint does not fit 32 bits"
	nullValue   = "it is null and may not be"
	badLength   = "its length is negative"
	longString  = "it is longer than the 32767 bytes that a string can have"
	badCount    = "its count promises more than the bytes left can hold"
	tooMany     = "its count is above 1000000"
	tooManyTags = "it has more than 10000 tagged fields"
	unsorted    = "its tags do not ascend"
	wrongTag    = "it has a tag that this version does not have"
	tagSize     = "a tagged field does not have the size it declares"
	overBudget  = "the request has more elements than any real one"
)

func (c *cursor) skip(n int) {
	if n > c.left() {
		c.fail(endsEarly)
		return
	}
	c.p += n
}

// take returns the next n bytes, aliasing the frame.
func (c *cursor) take(n int) []byte {
	if n > c.left() {
		c.fail(endsEarly)
		return nil
	}
	b := c.b[c.p : c.p+n : c.p+n]
	c.p += n
	return b
}

func (c *cursor) int8() int8 {
	if c.left() < 1 {
		c.fail(endsEarly)
		return 0
	}
	v := c.b[c.p]
	c.p++
	return int8(v)
}

func (c *cursor) int16() int16 {
	if c.left() < 2 {
		c.fail(endsEarly)
		return 0
	}
	v := binary.BigEndian.Uint16(c.b[c.p:])
	c.p += 2
	return int16(v)
}

func (c *cursor) int32() int32 {
	if c.left() < 4 {
		c.fail(endsEarly)
		return 0
	}
	v := binary.BigEndian.Uint32(c.b[c.p:])
	c.p += 4
	return int32(v)
}

// uvarint reads an unsigned varint of at most 32 bits and 5 bytes.
func (c *cursor) uvarint() uint32 {
	if c.p < len(c.b) && c.b[c.p] < 0x80 {
		c.p++
		return uint32(c.b[c.p-1])
	}
	var v uint32
	for i := 0; c.p < len(c.b); i++ {
		x := c.b[c.p]
		if i == 4 && x > 0x0f {
			c.fail(badVarint)
			return 0
		}
		c.p++
		v |= uint32(x&0x7f) << (7 * i)
		if x < 0x80 {
			return v
		}
	}
	c.fail(endsEarly)
	return 0
}

// length reads the length of a string or of bytes, or an array's count: -1 for
// null. short is true for a string, whose length has two bytes in a classic version.
func (c *cursor) length(flexible, short bool) int {
	switch {
	case flexible:
		n := int(c.uvarint()) - 1
		if short && n > maxString {
			c.fail(longString)
		}
		return n
	case short:
		return int(c.int16())
	}
	return int(c.int32())
}

// tagged passes a section of tagged fields of which none matters here.
func (c *cursor) tagged() { c.tags(nil) }

// tags passes a section of tagged fields. each, if not nil, is called for every
// field with the cursor at its content and must leave it behind that; it
// reports false for a tag it does not know, which is then passed over.
func (c *cursor) tags(each func(tag uint32) bool) {
	if c.p < len(c.b) && c.b[c.p] == 0 {
		c.p++
		return
	}
	n := c.uvarint()
	if n > maxTags {
		c.fail(tooManyTags)
		return
	}
	if int64(n)*2 > int64(c.left()) { // tag and size
		c.fail(badCount)
		return
	}
	last := int64(-1)
	for ; n > 0; n-- {
		tag := c.uvarint()
		size := int64(c.uvarint())
		if c.what != "" {
			return
		}
		if int64(tag) <= last {
			c.fail(unsorted)
			return
		}
		last = int64(tag)
		if size > int64(c.left()) {
			c.fail(endsEarly)
			return
		}
		end := c.p + int(size)
		if each == nil || !each(tag) {
			c.p = end
		}
		if c.what != "" {
			return
		}
		if c.p != end {
			c.fail(tagSize)
			return
		}
	}
}
