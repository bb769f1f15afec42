package group

import (
	"bytes"
	"slices"
	"strings"
	"testing"
)

func TestTargets(t *testing.T) {
	at := Offset{Topic: "t", Partition: 1, Committed: 50, Start: 10, End: 100}
	none := at
	none.Committed = -1
	old := at
	old.Committed = 3
	cases := []struct {
		name   string
		to     Target
		o      Offset
		atTime int64
		want   int64
		note   string
	}{
		{"earliest", Target{Way: ToEarliest}, at, -1, 10, ""},
		{"latest", Target{Way: ToLatest}, at, -1, 100, ""},
		{"current", Target{Way: ToCurrent}, at, -1, 50, ""},
		{"current below the log", Target{Way: ToCurrent}, old, -1, 10, "3 is below the log"},
		{"current without any", Target{Way: ToCurrent}, none, -1, 100, "nothing is committed"},
		{"offset", Target{Way: ToOffset, Offset: 70}, none, -1, 70, ""},
		{"offset below", Target{Way: ToOffset, Offset: 0}, at, -1, 10, "0 is below the log"},
		{"offset above", Target{Way: ToOffset, Offset: 101}, at, -1, 100, "101 is above the log"},
		{"shift on", Target{Way: ShiftBy, Offset: 7}, at, -1, 57, ""},
		{"shift back", Target{Way: ShiftBy, Offset: -7}, at, -1, 43, ""},
		{"shift beyond all numbers", Target{Way: ShiftBy, Offset: 1<<63 - 1}, at, -1, 100, "above the log"},
		{"shift below all numbers", Target{Way: ShiftBy, Offset: -1 << 63}, at, -1, 10, "below the log"},
		{"time", Target{Way: ToTime}, at, 33, 33, ""},
		{"time after all records", Target{Way: ToTime}, at, -1, 100, "no record is that new"},
	}
	for _, c := range cases {
		got, note, err := c.to.At(c.o, c.atTime)
		if err != nil || got != c.want || !strings.Contains(note, c.note) || (note == "") != (c.note == "") {
			t.Errorf("%s: got %d, %q, %v; want %d, %q", c.name, got, note, err, c.want, c.note)
		}
	}
	if _, _, err := (Target{Way: ShiftBy, Offset: 1}).At(none, -1); err == nil {
		t.Error("shifted what is not committed")
	}
}

func TestScope(t *testing.T) {
	s, err := ParseScope([]string{"a", "b:0,2", "b:1"})
	if err != nil || len(s) != 2 || s["a"] != nil || !slices.Equal(s["b"], []int32{0, 2, 1}) {
		t.Errorf("got %v, %v", s, err)
	}
	for _, wrong := range [][]string{{""}, {":1"}, {"a:"}, {"a:x"}, {"a:-1"}, {"a", "a"}, {"a", "a:1"}, {"a:1", "a"}, {"a:1,1"}} {
		if s, err := ParseScope(wrong); err == nil {
			t.Errorf("ParseScope(%q) = %v; want an error", wrong, s)
		}
	}
}

func TestRows(t *testing.T) {
	rows, err := ReadRows(strings.NewReader("# by hand\norders,0,15\n\ng2, orders,1,0\n"))
	want := []Row{{"", "orders", 0, 15}, {"g2", "orders", 1, 0}}
	if err != nil || !slices.Equal(rows, want) {
		t.Errorf("got %v, %v", rows, err)
	}
	for in, text := range map[string]string{
		"": "no offsets", "a,1": "line 1 has 2 fields", "a,b,1,2,3": "5 fields", "a,x,1": `"x" is not a partition`, "a,0,1\na,-1,1": "line 2",
		"a,0,x": `"x" is not an offset`, "a,0,-1": "not an offset", "a,0,1\na,0,2": "twice",
	} {
		if rows, err := ReadRows(strings.NewReader(in)); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%q: got %v, %v; want %q", in, rows, err, text)
		}
	}
	moves := []Move{{Group: "g,1", Topic: "orders", Partition: 3, New: 9}}
	for withGroup, want := range map[bool]string{true: "\"g,1\",orders,3,9\n", false: "orders,3,9\n"} {
		var out bytes.Buffer
		if err := WriteRows(&out, moves, withGroup); err != nil || out.String() != want {
			t.Errorf("got %q, %v; want %q", out.String(), err, want)
		}
	}
}
