package feed

import (
	"testing"
)

func TestShapeRecord(t *testing.T) {
	null := "<null>"
	text := func(b []byte) string {
		if b == nil {
			return null
		}
		return string(b)
	}
	cases := []struct {
		shape      Shape
		line       string
		key, value string
	}{
		{Shape{}, "hello", null, "hello"},
		{Shape{}, "", null, ""},
		{Shape{NullEmpty: true}, "", null, null},
		{Shape{KeySeparator: ":"}, "k:v:w", "k", "v:w"},
		{Shape{KeySeparator: ":"}, ":v", "", "v"},
		{Shape{KeySeparator: ":", NullEmpty: true}, ":v", null, "v"},
		{Shape{KeySeparator: ":", NullEmpty: true}, "k:", "k", null},
		{Shape{KeySeparator: ":"}, "none", null, "none"},
		{Shape{KeySeparator: ":", Key: []byte("fixed")}, "none", "fixed", "none"},
		{Shape{KeySeparator: ":", Key: []byte("fixed")}, "own:v", "own", "v"},
		{Shape{KeySeparator: "->"}, "a->b", "a", "b"},
	}
	for _, c := range cases {
		c.shape.TimestampMs = -1
		r := c.shape.Record([]byte(c.line))
		if text(r.Key) != c.key || text(r.Value) != c.value {
			t.Errorf("%+v of %q: key %q, value %q; want %q, %q", c.shape, c.line, text(r.Key), text(r.Value), c.key, c.value)
		}
		if !r.Timestamp.IsZero() {
			t.Errorf("a timestamp nobody asked for: %v", r.Timestamp)
		}
	}
	if r := (Shape{TimestampMs: 1234}).Record(nil); r.Timestamp.UnixMilli() != 1234 {
		t.Errorf("timestamp %v", r.Timestamp)
	}
}

func TestParseHeader(t *testing.T) {
	h, err := ParseHeader("a=b=c")
	if err != nil || h.Key != "a" || string(h.Value) != "b=c" {
		t.Errorf("got %v, %v", h, err)
	}
	if h, err = ParseHeader("a"); err != nil || h.Value != nil {
		t.Errorf("got %v, %v; want a null value", h, err)
	}
	if h, err = ParseHeader("a="); err != nil || h.Value == nil {
		t.Errorf("got %v, %v; want an empty value", h, err)
	}
	if _, err = ParseHeader("=x"); err == nil {
		t.Error("a header without a name was taken")
	}
}
