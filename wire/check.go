package wire

import "math"

// Limits that Kafka 4.4 has too (its upgrade notes), but for maxElements.
const (
	maxArray = 1_000_000 // elements of one array
	maxTags  = 10_000    // tagged fields of one struct
	// maxString bounds strings also where their length is a varint: answers in older
	// versions, and records, have two bytes for it.
	maxString = math.MaxInt16
	// maxElements bounds the elements of all arrays and the tagged fields of one
	// request. Each may be two bytes on the wire and costs up to some hundred in
	// memory: decoded, while it is handled, and in the answer, which often says
	// something of each.
	maxElements = 250_000
	// maxCreated is the same for CreateTopics, where a request for a million
	// topics is refused in words.
	maxCreated = 2_000_000

	keyCreateTopics = 19
)

// Check is the guard of Decode: it walks body by the shape of the request and
// verifies every count and length against the bytes there are, nulls, and the
// order and sizes of tagged fields. It allocates nothing unless it fails.
// Bytes behind the body are allowed, as in Kafka.
func Check(key, version int16, body []byte) error {
	_, err := check(key, version, body)
	return err
}

// check also returns the size of the body.
func check(key, version int16, body []byte) (int, error) {
	s := shapeOf(key)
	if s == nil {
		return 0, unknownKey(key)
	}
	if version < s.min || version > s.max {
		return 0, unsupported(s, version)
	}
	c := checker{cursor: cursor{b: body}, budget: maxElements}
	if key == keyCreateTopics {
		c.budget = maxCreated
	}
	c.run(s.programs[version-s.min], "")
	if c.what != "" {
		return 0, malformed("%s version %d: %s: %s", s.name, version, c.where, c.what)
	}
	return c.p, nil
}

type checker struct {
	cursor
	budget int
	where  string // the field that failed
}

// spend counts n elements.
func (c *checker) spend(n int) {
	if c.budget -= n; c.budget < 0 {
		c.fail(overBudget)
	}
}

// run passes one struct. A failure is noted at the innermost field.
func (c *checker) run(p *program, name string) {
	for i := range p.ops {
		o := &p.ops[i]
		if o.kind == kindFixed {
			c.skip(o.size)
		} else {
			c.field(o, p.compact)
		}
		if c.what != "" {
			c.note(o.name)
			return
		}
	}
	if p.tagged {
		c.section(p)
		c.note(name)
	}
}

// note names the field of a failure, if there is one and it has no name yet.
func (c *checker) note(name string) {
	if c.what != "" && c.where == "" {
		c.where = name
	}
}

// field passes one field that is not of fixed size.
func (c *checker) field(o *op, compact bool) {
	if o.kind == kindStruct {
		if o.nullable && c.int8() < 0 {
			return
		}
		c.run(o.of, o.name)
		return
	}
	n := c.length(compact, o.kind == kindString)
	if c.what != "" {
		return
	}
	if n < 0 {
		switch {
		case n < -1:
			c.fail(badLength)
		case !o.nullable:
			c.fail(nullValue)
		}
		return
	}
	if o.kind != kindArray {
		c.skip(n)
		return
	}
	if n > maxArray {
		c.fail(tooMany)
		return
	}
	least := o.size // of one element
	if least == 0 {
		least = o.of.min
	}
	if n*least > c.left() {
		c.fail(badCount)
		return
	}
	if c.spend(n); c.what != "" {
		return
	}
	if o.size > 0 { // elements of fixed size, passed at once
		c.skip(n * o.size)
		return
	}
	for range n {
		if c.run(o.of, o.name); c.what != "" {
			return
		}
	}
}

// section passes a struct's tagged fields and checks those that are known.
func (c *checker) section(p *program) {
	if c.p < len(c.b) && c.b[c.p] == 0 {
		c.p++
		return
	}
	c.tags(func(tag uint32) bool {
		c.spend(1)
		for _, t := range p.barred {
			if t == tag {
				c.fail(wrongTag)
			}
		}
		for i := range p.tags {
			o := &p.tags[i]
			if o.tag != tag {
				continue
			}
			if o.kind == kindFixed {
				c.skip(o.size)
			} else {
				c.field(o, true)
			}
			c.note(o.name)
			return true
		}
		return false
	})
}
