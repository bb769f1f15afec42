package conformance

import (
	"fmt"
	"reflect"
	"sort"
)

// difference is one field in which an answer is not the recorded one.
type difference struct {
	path       string // such as Topics[0].Partitions[1].ErrorCode
	kafka, our any    // nil where the field is absent, which means zero, false or null
}

func (d difference) String() string {
	return fmt.Sprintf("%s: Kafka %s, ours %s", d.path, show(d.kafka), show(d.our))
}

func show(x any) string {
	if x == nil {
		return "nothing (zero or null)"
	}
	text := quote(x)
	if len(text) > 300 {
		text = text[:300] + "..."
	}
	return text
}

// diff lists where two plain values differ.
func diff(path string, kafka, our any) []difference {
	if reflect.DeepEqual(kafka, our) {
		return nil
	}
	var out []difference
	switch k := kafka.(type) {
	case map[string]any:
		if o, ok := our.(map[string]any); ok {
			keys := map[string]bool{}
			for n := range k {
				keys[n] = true
			}
			for n := range o {
				keys[n] = true
			}
			var names []string
			for n := range keys {
				names = append(names, n)
			}
			sort.Strings(names)
			for _, n := range names {
				sub := n
				if path != "" {
					sub = path + "." + n
				}
				out = append(out, diff(sub, k[n], o[n])...)
			}
			return out
		}
	case []any:
		if o, ok := our.([]any); ok {
			if list, ok := byName(path, k, o); ok {
				return list
			}
			for i := range max(len(k), len(o)) {
				var a, b any
				if i < len(k) {
					a = k[i]
				}
				if i < len(o) {
					b = o[i]
				}
				out = append(out, diff(fmt.Sprintf("%s[%d]", path, i), a, b)...)
			}
			return out
		}
	}
	return []difference{{path, kafka, our}}
}

// byName compares lists of long named entries (configs) entry by entry, so that
// one that is missing does not make all behind it differ.
func byName(path string, k, o []any) ([]difference, bool) {
	index := func(list []any) (map[string]any, []string) {
		m, names := map[string]any{}, []string{}
		for _, x := range list {
			e, ok := x.(map[string]any)
			if !ok {
				return nil, nil
			}
			n, ok := e["Name"].(string)
			if _, twice := m[n]; !ok || twice {
				return nil, nil
			}
			m[n], names = x, append(names, n)
		}
		return m, names
	}
	ki, names := index(k)
	oi, others := index(o)
	if len(k) < 2 || ki == nil || oi == nil {
		return nil, false
	}
	for _, n := range others {
		if _, ok := ki[n]; !ok {
			names = append(names, n)
		}
	}
	var out []difference
	for _, n := range names {
		out = append(out, diff(fmt.Sprintf("%s[%s]", path, n), ki[n], oi[n])...)
	}
	return out, true
}
