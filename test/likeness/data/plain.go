package data

import (
	"fmt"
	"hash/crc32"
	"reflect"
	"sort"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"ringmain/test/peer"
)

// plain flattens an answer to path -> value. Lists are named by what they are about,
// where their order has no meaning.
func (s *script) plain(d *side, resp kmsg.Response) map[string]string {
	m := map[string]string{}
	if resp == nil {
		m[""] = "closed"
		return m
	}
	s.flatten(d, resp.Key(), m, "", reflect.ValueOf(resp).Elem())
	return m
}

func (s *script) flatten(d *side, key int16, m map[string]string, path string, v reflect.Value) {
	name := path[strings.LastIndexByte(path, '.')+1:]
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			m[path] = "null"
			return
		}
		s.flatten(d, key, m, path, v.Elem())
	case reflect.Struct:
		for i := range v.NumField() {
			field := v.Type().Field(i).Name
			switch field {
			case "Version", "ThrottleMillis":
			case "UnknownTags":
				m[path+".tags"] = fmt.Sprint(v.Field(i).Addr().Interface().(*kmsg.Tags).Len())
			default:
				s.flatten(d, key, m, path+"."+field, v.Field(i))
			}
		}
	case reflect.Array:
		id := v.Interface().([16]byte)
		if topic, ok := d.names[id]; ok {
			m[path] = "id:" + topic
		} else {
			m[path] = fmt.Sprintf("%x", id)
		}
	case reflect.Slice:
		if v.IsNil() {
			m[path] = "nil"
			return
		}
		if b, ok := v.Interface().([]byte); ok {
			m[path] = s.batches(b)
			return
		}
		m[path+"#"] = fmt.Sprint(v.Len())
		for i := range v.Len() {
			s.flatten(d, key, m, path+"["+s.label(d, key, v.Index(i), i)+"]", v.Index(i))
		}
	case reflect.String:
		x := v.String()
		if strings.HasSuffix(name, "ErrorMessage") && x != "" {
			x = "text"
		}
		m[path] = strings.ReplaceAll(x, s.prefix, "$")
	case reflect.Bool:
		m[path] = fmt.Sprint(v.Bool())
	default:
		m[path] = s.number(d, key, name, v.Int())
	}
}

// label names an element: by itself where order means nothing, else by its place.
func (s *script) label(d *side, key int16, v reflect.Value, i int) string {
	if v.Kind() != reflect.Struct || key == 1 {
		return fmt.Sprint(i)
	}
	for _, f := range []string{"Topic", "Partition", "ProducerID", "BatchIndex"} {
		x := v.FieldByName(f)
		if !x.IsValid() {
			continue
		}
		if f == "Topic" && x.String() == "" {
			id := v.FieldByName("TopicID")
			if id.IsValid() {
				return d.names[id.Interface().([16]byte)]
			}
		}
		if x.Kind() == reflect.String {
			return strings.TrimPrefix(x.String(), s.prefix)
		}
		return fmt.Sprint(x.Int())
	}
	return fmt.Sprint(i)
}

func (s *script) number(d *side, key int16, name string, x int64) string {
	switch name {
	case "SessionID":
		if x == int64(d.session) && x != 0 {
			return "session"
		}
		if x > 0 {
			return "new session"
		}
	case "LogAppendTime", "Timestamp", "LastTimestamp":
		return s.time(x)
	case "ProducerID":
		if x >= 0 && key == 22 {
			return "producer"
		}
	}
	return fmt.Sprint(x)
}

func (s *script) time(x int64) string {
	switch {
	case x <= 0:
		return fmt.Sprint(x)
	case x >= s.begun-1000 && x <= s.begun+600_000:
		return "now"
	}
	return fmt.Sprintf("base%+d", x-s.base)
}

// deleteHorizon is the attribute that says that a batch has one.
const deleteHorizon = 0x40

// batches describes records, one line for each batch and record; a cut batch is left out.
func (s *script) batches(b []byte) string {
	if b == nil {
		return "nil"
	}
	var out []string
	all, _ := peer.Parse(b)
	for _, x := range all {
		if x.Count == 0 {
			continue // emptied by compaction: see docs/deviations.md
		}
		size, base, by := fmt.Sprint(x.Size), s.time(x.BaseTimestamp), int64(0)
		if s.packed { // a batch that is encoded anew may count from another time
			size, base, by = "?", "?", x.BaseTimestamp-s.base
		}
		if s.cleansed {
			x.Attributes &^= deleteHorizon
		}
		line := fmt.Sprintf("{%d epoch %d attr %x last %d count %d base %s max %s pid %d/%d seq %d size %s", x.BaseOffset, x.LeaderEpoch, x.Attributes, x.LastOffsetDelta, x.Count,
			base, s.time(x.MaxTimestamp), x.ProducerID, x.ProducerEpoch, x.Sequence, size)
		if !x.ChecksumOK {
			line += " BADCRC"
		}
		if x.Err != nil {
			line += " unreadable"
		}
		for _, r := range x.Records {
			if x.LastOffsetDelta >= x.Count {
				line += fmt.Sprintf(" %d", r.OffsetDelta)
			}
			line += fmt.Sprintf(" (%s=%s%+d", short(r.Key), short(r.Value), r.Delta+by)
			for _, h := range r.Headers {
				line += fmt.Sprintf(" %s:%s", h.Key, short(h.Value))
			}
			line += ")"
		}
		out = append(out, line+"}")
	}
	return strings.Join(out, " ")
}

func short(b []byte) string {
	switch {
	case b == nil:
		return "null"
	case len(b) > 12:
		return fmt.Sprintf("%d:%08x", len(b), crc32.ChecksumIEEE(b))
	}
	return string(b)
}

// compare reports what differs between the two answers and is no listed deviation.
func (s *script) compare(what string, out [2]kmsg.Response) {
	k, o := s.plain(s.sides[0], out[0]), s.plain(s.sides[1], out[1])
	var lines []string
	for path, x := range k {
		y, ok := o[path]
		if !ok {
			y = "-absent-"
		}
		if x != y && !s.allowed(path, x, y) {
			lines = append(lines, fmt.Sprintf("%s: kafka %s | ours %s", path, x, y))
		}
	}
	for path, y := range o {
		if _, ok := k[path]; !ok && !s.allowed(path, "-absent-", y) {
			lines = append(lines, fmt.Sprintf("%s: kafka -absent- | ours %s", path, y))
		}
	}
	if len(lines) > 0 {
		sort.Strings(lines)
		if len(lines) > 12 {
			lines = append(lines[:12], "...")
		}
		s.differ("%s:\n  %s", what, strings.Join(lines, "\n  "))
	}
}

// allowed are the deviations of docs/deviations.md that any script may meet.
func (s *script) allowed(path, kafka, ours string) bool {
	switch {
	case strings.HasSuffix(path, "ErrorMessage") && kafka == "null" && ours == "text":
		return true
	case strings.HasSuffix(path, "ErrorCode") && kafka == "-1" && ours != "0":
		return true
	case s.loose && strings.HasSuffix(path, "RecordBatches"):
		return strings.HasPrefix(ours, kafka) || strings.HasPrefix(kafka, ours)
	case s.blind:
		return strings.HasPrefix(path, ".Topics[a].Partitions[") // the caller compares
	}
	return false
}
