package wire

import (
	"fmt"
	"math"
)

// A schema is the shape of one request in all its versions. It is written with
// the small words below (see schemas.go) and compiled, per version, into a
// program that Check runs.
type schema struct {
	key      int16
	name     string // Kafka's
	min, max int16  // versions whose bodies are read
	flexible int16  // first flexible version; never, if there is none
	fields   []field
}

const never = math.MaxInt16

type kind uint8

const (
	kindFixed  kind = iota // size bytes
	kindString             // int16 length, or compact
	kindBytes              // int32 length, or compact
	kindArray              // int32 count, or compact; of elements that are fields, or fixed, or strings
	kindStruct             // nullable: one byte, -1 for null
)

// field is one field of a request: the methods narrow it to the versions that
// have it.
type field struct {
	name     string
	kind     kind
	size     int
	of       []field
	plain    bool // array whose element is of's only field, without a struct around it
	since    int16
	until    int16
	nullable int16 // first version in which it may be null
	tagged   bool
	tag      uint32
}

func fixed(name string, size int) field {
	return field{name: name, kind: kindFixed, size: size, until: math.MaxInt16, nullable: never}
}
func boolean(name string) field { return fixed(name, 1) }
func i8(name string) field      { return fixed(name, 1) }
func i16(name string) field     { return fixed(name, 2) }
func i32(name string) field     { return fixed(name, 4) }
func i64(name string) field     { return fixed(name, 8) }
func uuid(name string) field    { return fixed(name, 16) }

func str(name string) field  { f := fixed(name, 0); f.kind = kindString; return f }
func blob(name string) field { f := fixed(name, 0); f.kind = kindBytes; return f }

// array of structs.
func array(name string, of ...field) field {
	f := fixed(name, 0)
	f.kind, f.of = kindArray, of
	return f
}

// list is an array of values that are no structs.
func list(name string, of field) field {
	f := array(name, of)
	f.plain = true
	return f
}

// group is a struct, of use where it is tagged or may be null.
func group(name string, of ...field) field {
	f := fixed(name, 0)
	f.kind, f.of = kindStruct, of
	return f
}

func (f field) from(version int16) field { f.since = version; return f }
func (f field) to(version int16) field   { f.until = version; return f }
func (f field) null(version int16) field { f.nullable = version; return f }
func (f field) at(tag uint32) field      { f.tagged, f.tag = true, tag; return f }

// program is a struct's shape in one version.
type program struct {
	ops     []op
	compact bool     // lengths are varints
	tagged  bool     // ends with a section of tagged fields
	tags    []op     // tagged fields of this version
	barred  []uint32 // tags of other versions, an error in this one
	min     int      // least bytes that the struct takes
}

// op passes one field, or a run of fixed ones.
type op struct {
	name     string
	kind     kind
	size     int // of the run of fixed fields, or of an array's fixed elements
	nullable bool
	tag      uint32
	of       *program
}

// compile makes the program of fields for a version. Fields of fixed size that
// follow each other become one op.
func compile(fields []field, version int16, flexible, tagged bool) *program {
	p := &program{compact: flexible, tagged: flexible && tagged}
	for _, f := range fields {
		in := version >= f.since && version <= f.until
		if f.tagged && !in && flexible {
			p.barred = append(p.barred, f.tag)
		}
		if !in {
			continue
		}
		o := op{name: f.name, kind: f.kind, size: f.size, nullable: version >= f.nullable, tag: f.tag}
		least := f.size
		switch f.kind {
		case kindString, kindBytes, kindArray:
			switch {
			case flexible:
				least = 1
			case f.kind == kindString:
				least = 2
			default:
				least = 4
			}
		}
		if f.kind == kindArray {
			o.of = compile(f.of, version, flexible, !f.plain)
			if f.plain && f.of[0].kind == kindFixed {
				o.size = f.of[0].size
			}
		}
		if f.kind == kindStruct {
			o.of = compile(f.of, version, flexible, true)
			if least = o.of.min; o.nullable {
				least = 1
			}
		}
		switch {
		case f.tagged:
			p.tags = append(p.tags, o)
			continue
		case f.kind == kindFixed && len(p.ops) > 0 && p.ops[len(p.ops)-1].kind == kindFixed:
			p.ops[len(p.ops)-1].size += f.size
		default:
			p.ops = append(p.ops, o)
		}
		p.min += least
	}
	if p.tagged {
		p.min++ // the count of tagged fields
	}
	return p
}

// shape is a compiled schema.
type shape struct {
	*schema
	programs []*program // by version - min
}

// shapes by key, nil where a key is not served.
var shapes = compileAll(schemas)

func compileAll(all []schema) []*shape {
	var out []*shape
	for i := range all {
		s := &all[i]
		for len(out) <= int(s.key) {
			out = append(out, nil)
		}
		if out[s.key] != nil {
			panic(fmt.Sprintf("wire: key %d is in the table twice", s.key))
		}
		sh := &shape{schema: s}
		for v := s.min; v <= s.max; v++ {
			sh.programs = append(sh.programs, compile(s.fields, v, v >= s.flexible, true))
		}
		out[s.key] = sh
	}
	return out
}

func shapeOf(key int16) *shape {
	if key < 0 || int(key) >= len(shapes) {
		return nil
	}
	return shapes[key]
}

// Versions gives the versions of a key whose bodies this package reads, ok is
// false for a key it does not. What is advertised is the broker's decision.
func Versions(key int16) (first, last int16, ok bool) {
	s := shapeOf(key)
	if s == nil {
		return 0, 0, false
	}
	return s.min, s.max, true
}

// Name is Kafka's name for a key, or "api key N".
func Name(key int16) string {
	if s := shapeOf(key); s != nil {
		return s.name
	}
	return fmt.Sprintf("api key %d", key)
}

// Flexible reports whether a version of a key is flexible (KIP-482); false for
// unknown keys.
func Flexible(key, version int16) bool {
	s := shapeOf(key)
	return s != nil && version >= s.flexible
}
