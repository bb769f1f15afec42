package groups

import (
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// plain turns an answer into values that are equal on two brokers that answer alike:
// member ids have their names, lists whose order means nothing are sorted, and texts for
// people count only as there or not.
func (s *sequence) plain(side int, resp kmsg.Response) map[string]any {
	return s.plainStruct(side, reflect.ValueOf(resp).Elem())
}

func (s *sequence) plainStruct(side int, v reflect.Value) map[string]any {
	out := map[string]any{}
	for i := range v.NumField() {
		switch name := v.Type().Field(i).Name; name {
		case "Version", "ThrottleMillis", "UnknownTags", "Host", "Port":
		case "ErrorMessage":
			out[name] = !v.Field(i).IsNil()
		default:
			out[name] = s.plainValue(side, name, v.Field(i))
		}
	}
	return out
}

func (s *sequence) plainValue(side int, name string, v reflect.Value) any {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return nil
		}
		return s.plainValue(side, name, v.Elem())
	case reflect.Struct:
		return s.plainStruct(side, v)
	case reflect.String:
		text := v.String()
		if name == "MemberID" || name == "LeaderID" {
			text = s.ids[side].name(text)
		}
		return strings.ReplaceAll(text, s.prefix, "$")
	case reflect.Array:
		return s.pair.topicName(side, v.Interface().([16]byte))
	case reflect.Slice:
		if b, ok := v.Interface().([]byte); ok {
			return fmt.Sprintf("%q", b)
		}
		list := []any{}
		for i := range v.Len() {
			g, listed := v.Index(i).Interface().(kmsg.ListGroupsResponseGroup)
			if !listed || strings.Contains(g.Group, s.prefix) { // others have groups too
				list = append(list, s.plainValue(side, name, v.Index(i)))
			}
		}
		return sorted(joined(list))
	}
	return v.Interface()
}

func sorted(list []any) []any {
	slices.SortStableFunc(list, func(a, b any) int { return cmp.Compare(show(a), show(b)) })
	return list
}

// joined joins entries for one topic: an answer may name it once for each partition.
func joined(list []any) []any {
	var out []any
	place := map[string]int{}
	for _, x := range list {
		entry, _ := x.(map[string]any)
		partitions, ok := entry["Partitions"].([]any)
		if !ok {
			return list
		}
		topic := show([]any{entry["Topic"], entry["TopicID"]})
		i, seen := place[topic]
		if !seen {
			place[topic] = len(out)
			out = append(out, x)
			continue
		}
		first := out[i].(map[string]any)
		first["Partitions"] = sorted(append(first["Partitions"].([]any), partitions...))
	}
	return out
}

func show(x any) string {
	b, err := json.Marshal(x)
	if err != nil {
		panic(err) // plain values only
	}
	return string(b)
}

// differences lists the fields in which two plain values differ, with what each has.
func differences(path string, a, b any) (list []string) {
	am, isMap := a.(map[string]any)
	bm, _ := b.(map[string]any)
	if isMap {
		for name := range am {
			list = append(list, differences(path+"."+name, am[name], bm[name])...)
		}
		slices.Sort(list)
		return list
	}
	al, isList := a.([]any)
	bl, _ := b.([]any)
	if isList && len(al) == len(bl) {
		for i := range al {
			list = append(list, differences(path+"[]", al[i], bl[i])...)
		}
		return list
	}
	if x, y := show(a), show(b); x != y {
		list = append(list, fmt.Sprintf("%s: %s, %s", path, x, y))
	}
	return list
}
