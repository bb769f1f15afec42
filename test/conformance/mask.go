package conformance

import (
	"fmt"
	"hash/crc32"
	"reflect"
	"regexp"
	"sort"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"ringmain/test/peer"
)

// mask turns an answer into plain values that are equal on two brokers that behave
// alike. Fields with a zero value are left out; a null is left out too, an empty
// string or list behind a null is kept.
func (s *script) mask(resp kmsg.Response) any {
	m := s.maskStruct(resp.Key(), reflect.ValueOf(resp).Elem())
	if resp.Key() == 18 {
		m["Version"] = int64(resp.GetVersion()) // the form of the answer is not always that of the request
	}
	return m
}

var prose = map[string]bool{"ErrorMessage": true, "Documentation": true, "BatchIndexErrorMessage": true, "TopicConfigErrorMessage": true}

func (s *script) maskStruct(key int16, v reflect.Value) map[string]any {
	m := map[string]any{}
	for i := range v.NumField() {
		name := v.Type().Field(i).Name
		switch name {
		case "Version", "ThrottleMillis":
			continue
		case "UnknownTags":
			if n := v.Field(i).Addr().Interface().(*kmsg.Tags).Len(); n > 0 {
				m[name] = n
			}
			continue
		}
		if x := s.maskValue(key, name, v.Field(i)); x != nil {
			m[name] = x
		}
	}
	if key == 32 {
		s.maskConfig(v, m)
	}
	return m
}

func (s *script) maskValue(key int16, name string, v reflect.Value) any {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return nil
		}
		if x := s.maskValue(key, name, v.Elem()); x != nil {
			return x
		}
		return "" // a pointer to an empty string
	case reflect.Struct:
		return s.maskStruct(key, v)
	case reflect.Bool:
		if v.Bool() {
			return true
		}
		return nil
	case reflect.String:
		return s.maskString(key, name, v.String())
	case reflect.Array:
		id := v.Interface().([16]byte)
		if id == ([16]byte{}) {
			return nil
		}
		if topic, ok := s.ids[id]; ok {
			return "id:" + topic
		}
		return "id"
	case reflect.Slice:
		if v.IsNil() {
			return nil
		}
		if b, ok := v.Interface().([]byte); ok {
			if name == "RecordBatches" {
				return s.maskBatches(b)
			}
			return s.maskOpaque(b)
		}
		list := []any{}
		for i := range v.Len() {
			if s.mine(key, v.Index(i)) {
				list = append(list, s.maskValue(key, name, v.Index(i)))
			}
		}
		s.order(key, name, list)
		return joined(list)
	case reflect.Uint16:
		return s.maskNumber(key, name, int64(v.Uint()))
	default:
		return s.maskNumber(key, name, v.Int())
	}
}

func (s *script) maskString(key int16, name, x string) any {
	switch {
	case x == "":
		return nil
	case prose[name]:
		return "text"
	case name == "Host":
		return "host"
	case name == "ClusterID":
		return "cluster"
	case name == "LogDir" || (key == 35 && name == "Dir"):
		return "dir"
	case name == "Listener" || (key == 55 && name == "Name"):
		return "listener"
	case name == "MemberID" || name == "LeaderID":
		x = s.maskID(x)
	}
	return strings.ReplaceAll(x, s.prefix, "$")
}

func (s *script) maskNumber(key int16, name string, x int64) any {
	if x == 0 {
		return nil
	}
	switch name {
	case "Port":
		return "port"
	case "ProducerID":
		return s.tag("producer", x)
	case "SessionID":
		return s.tag("session", x)
	case "LogAppendTime", "Timestamp", "LastTimestamp":
		return s.maskTime(x)
	case "FinalizedFeaturesEpoch", "TotalBytes", "UsableBytes":
		return known(x)
	case "LeaderEpoch", "HighWatermark", "LogEndOffset", "LastCaughtUpTimestamp", "LastFetchTimestamp":
		if key == 55 {
			return known(x)
		}
	}
	return x
}

// known keeps of a number only whether it is known (not negative).
func known(x int64) any {
	if x < 0 {
		return x
	}
	return "some"
}

// maskTime tells times that the script chose by their distance from its base, and
// of the broker's own only that they are of this run.
func (s *script) maskTime(x int64) any {
	switch d := x - s.base; {
	case x <= 0:
		return x
	case x >= s.begun-60_000 && x < s.begun+600_000:
		return "now"
	case d > -1e12 && d < 1e12:
		return fmt.Sprintf("base%+d", d)
	}
	return x
}

// tag replaces a value that differs from run to run by its rank of appearance.
func (s *script) tag(kind string, x int64) any {
	if x < 0 {
		return x
	}
	if s.labels[kind] == nil {
		s.labels[kind] = map[int64]string{}
	}
	l, ok := s.labels[kind][x]
	if !ok {
		l = fmt.Sprintf("%s %d", kind, len(s.labels[kind])+1)
		s.labels[kind][x] = l
	}
	return l
}

// generated is the part of a member id that the broker makes: a UUID, or Kafka's short form of one.
var generated = regexp.MustCompile(`[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$|^[A-Za-z0-9_-]{22}$`)

// maskID replaces what the broker made of a member id by its rank of appearance.
func (s *script) maskID(id string) string {
	return generated.ReplaceAllStringFunc(id, func(x string) string {
		l, ok := s.members[x]
		if !ok {
			l = fmt.Sprintf("member %d", len(s.members)+1)
			s.members[x] = l
		}
		return l
	})
}

// maskBatches describes the records of a Fetch answer. The bytes of a cut batch at
// the end are left out: a broker may cut the last batch or leave it away.
func (s *script) maskBatches(b []byte) any {
	list := []any{}
	batches, _ := peer.Parse(b)
	for _, x := range batches {
		var records []string
		for _, r := range x.Records {
			line := fmt.Sprintf("%s=%s +%d", short(r.Key), short(r.Value), r.Delta)
			for _, h := range r.Headers {
				line += fmt.Sprintf(" %s:%s", h.Key, short(h.Value))
			}
			records = append(records, line)
		}
		m := map[string]any{
			"offset": x.BaseOffset, "epoch": x.LeaderEpoch, "attributes": x.Attributes, "last": x.LastOffsetDelta, "count": x.Count,
			"base": s.maskTime(x.BaseTimestamp), "max": s.maskTime(x.MaxTimestamp),
			"producer": s.tag("producer", x.ProducerID), "producerEpoch": x.ProducerEpoch, "sequence": x.Sequence,
			"records": records, "crc": x.ChecksumOK,
		}
		if x.Err != nil {
			m["unreadable"] = true
		}
		list = append(list, m)
	}
	return list
}

// maskOpaque shows bytes that belong to clients (metadata and assignments of groups); what is not text by its digits.
func (s *script) maskOpaque(b []byte) any {
	return strings.Trim(strconv.QuoteToASCII(strings.ReplaceAll(string(b), s.prefix, "$")), `"`)
}

func short(b []byte) string {
	switch {
	case b == nil:
		return "null"
	case len(b) > 24:
		return fmt.Sprintf("%d bytes %08x", len(b), crc32.ChecksumIEEE(b))
	}
	return string(b)
}

// mine says whether an element of a list belongs into the record.
func (s *script) mine(key int16, v reflect.Value) bool {
	if v.Kind() != reflect.Struct {
		return true
	}
	text := func(field string) (string, bool) {
		f := v.FieldByName(field)
		if f.Kind() == reflect.Pointer && !f.IsNil() {
			f = f.Elem()
		}
		if f.Kind() != reflect.String {
			return "", false
		}
		return f.String(), true
	}
	switch x := v.Interface().(type) {
	case kmsg.ApiVersionsResponseApiKey:
		return served[x.ApiKey]
	case kmsg.ApiVersionsResponseSupportedFeature:
		return features[x.Name]
	case kmsg.ApiVersionsResponseFinalizedFeature:
		return features[x.Name]
	case kmsg.DescribeConfigsResponseResourceConfig:
		return !strings.HasPrefix(x.Name, "ringmain.")
	case kmsg.DescribeConfigsResponseResourceConfigConfigSynonym:
		return !strings.HasPrefix(x.Name, "ringmain.")
	case kmsg.CreateTopicsResponseTopicConfig:
		return !strings.HasPrefix(x.Name, "ringmain.")
	case kmsg.ListGroupsResponseGroup:
		return strings.Contains(x.Group, s.prefix)
	case kmsg.ListConfigResourcesResponseConfigResource:
		return !s.onlyOurs || x.Type == int8(brokerResource) || x.Type == int8(loggerResource) || strings.Contains(x.Name, s.prefix)
	}
	if s.onlyOurs {
		if topic, ok := text("Topic"); ok {
			return strings.Contains(topic, s.prefix)
		}
	}
	return true
}

// order sorts lists whose order means nothing to a client and is not the same on
// two brokers, or from run to run (Kafka's comes from hash tables). What an answer
// promises in order (the topics of DescribeTopicPartitions, batches) stays.
func (s *script) order(key int16, name string, list []any) {
	if key == 75 && name == "Topics" || len(list) < 2 {
		return
	}
	if name == "Partitions" {
		number := func(i int) (n int64) { n, _ = list[i].(int64); return n } // a zero was left out
		if _, ok := list[1].(int64); ok || list[1] == nil {
			sort.Slice(list, func(i, j int) bool { return number(i) < number(j) })
			return
		}
	}
	if name == "SubscribedTopics" {
		sort.Slice(list, func(i, j int) bool { return list[i].(string) < list[j].(string) })
		return
	}
	first, ok := list[0].(map[string]any)
	if !ok || first["records"] != nil {
		return
	}
	rank := func(x any) string {
		m, _ := x.(map[string]any)
		var b strings.Builder
		for _, field := range []string{"ApiKey", "ResourceType", "ResourceName", "Topic", "TopicID", "Type", "Name", "Group", "InstanceID", "MemberID", "Partition", "ProducerID"} {
			switch v := m[field].(type) {
			case int64:
				fmt.Fprintf(&b, "%020d|", v+1<<32)
			case string:
				b.WriteString(v + "|")
			default:
				fmt.Fprintf(&b, "%020d|", int64(1)<<32) // a zero was left out
			}
		}
		return b.String()
	}
	if name == "ConfigSynonyms" {
		return // the first is the one that counts
	}
	sort.SliceStable(list, func(i, j int) bool { return rank(list[i]) < rank(list[j]) })
}

// joined joins entries for the same topic that stand next to each other: an answer
// may name a topic once for each of its partitions.
func joined(list []any) []any {
	var out []any
	for _, x := range list {
		m, _ := x.(map[string]any)
		parts, ok := m["Partitions"].([]any)
		if n := len(out) - 1; ok && n >= 0 {
			last, _ := out[n].(map[string]any)
			before, ok := last["Partitions"].([]any)
			if ok && last["Topic"] == m["Topic"] && last["TopicID"] == m["TopicID"] && last["ErrorCode"] == m["ErrorCode"] {
				all := append(before, parts...)
				sort.SliceStable(all, func(i, j int) bool { return partitionOf(all[i]) < partitionOf(all[j]) })
				last["Partitions"] = all
				continue
			}
		}
		out = append(out, x)
	}
	if out == nil {
		return list
	}
	return out
}

func partitionOf(x any) int64 {
	m, _ := x.(map[string]any)
	n, _ := m["Partition"].(int64)
	return n
}
