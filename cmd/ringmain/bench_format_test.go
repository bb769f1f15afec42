package main

import (
	"encoding/json"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"ringmain/bench"
	"ringmain/bench/result"
	"ringmain/bench/workload"
	"ringmain/perf"
	"ringmain/perf/table"
)

// fieldsOf adds the names of all fields of JSON documents of a type, however deep,
// also of those that are left out where they are empty.
func fieldsOf(t *testing.T, at reflect.Type, fields map[string]bool) {
	t.Helper()
	switch at.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array:
		fieldsOf(t, at.Elem(), fields)
	case reflect.Map:
		fieldsOf(t, at.Elem(), fields) // its keys are data
	case reflect.Struct:
		switch at {
		case reflect.TypeFor[workload.Spec]():
			s := workload.Defaults(workload.Produce)
			s.Topic, s.TopicConfig = "t", map[string]string{}
			s.TopicConfig["k"] = "v"
			text, err := json.Marshal(s)
			if err != nil {
				t.Fatal(err)
			}
			var all map[string]any
			if err := json.Unmarshal(text, &all); err != nil {
				t.Fatal(err)
			}
			for name := range all {
				fields[name] = true
			}
			return
		}
		if at.Implements(reflect.TypeFor[json.Marshaler]()) || reflect.PointerTo(at).Implements(reflect.TypeFor[json.Marshaler]()) {
			return // a text
		}
		for i := range at.NumField() {
			f := at.Field(i)
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			switch {
			case !f.IsExported() || name == "-":
				continue
			case f.Anonymous && name == "":
			case name == "":
				t.Errorf("%v.%s has no name in documents", at, f.Name)
			default:
				fields[name] = true
			}
			fieldsOf(t, f.Type, fields)
		}
	}
}

// Every field that can be written is on the page, and every field of the page's tables can
// be written.
func TestThePageOfFormatsHasEveryFieldAndNoOther(t *testing.T) {
	text, err := os.ReadFile("../../docs/format/bench.md")
	if err != nil {
		t.Fatal(err)
	}
	fields := map[string]bool{}
	for _, at := range []reflect.Type{
		reflect.TypeFor[result.Document](), reflect.TypeFor[perf.Comparison](), reflect.TypeFor[table.Table](), reflect.TypeFor[bench.VerifyReport](),
	} {
		fieldsOf(t, at, fields)
	}
	if len(fields) < 150 {
		t.Errorf("there are only %d fields", len(fields))
	}
	for name := range fields {
		if !strings.Contains(string(text), "`"+name+"`") {
			t.Errorf("docs/format/bench.md does not describe `%s`", name)
		}
	}
	word := regexp.MustCompile("`([^`]+)`")
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(line, "|")
		if len(cells) < 3 || !strings.HasPrefix(line, "| `") {
			continue
		}
		for _, m := range word.FindAllStringSubmatch(cells[1], -1) {
			if !fields[m[1]] {
				t.Errorf("docs/format/bench.md describes `%s`, which nothing writes", m[1])
			}
		}
	}
}
