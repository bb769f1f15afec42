package config

import "slices"

// Source says where a value comes from, with DescribeConfigs' numbers.
type Source int8

// The sources of DescribeConfigs.
const (
	SourceUnknown              Source = 0
	SourceTopic                Source = 1
	SourceDynamicBroker        Source = 2
	SourceDynamicDefaultBroker Source = 3
	SourceStatic               Source = 4
	SourceDefault              Source = 5
	SourceLogger               Source = 6
	SourceClientMetrics        Source = 7
	SourceGroup                Source = 8
)

// Layers are the places a broker's value may come from, the strongest first:
// what was set for this broker, for all brokers, in server.properties, and the
// defaults. The maps are read only and may be nil; so may Server.
type Layers struct {
	Server  *Server
	Broker  map[string]string // dynamic, for this broker (resource name = its id)
	Cluster map[string]string // dynamic, for all brokers (resource name "")
}

// families are keys that stand in for each other: the first one set holds.
var families = [][]string{
	{"log.retention.ms", "log.retention.minutes", "log.retention.hours"},
	{"log.roll.ms", "log.roll.hours"},
	{"log.roll.jitter.ms", "log.roll.jitter.hours"},
	{"log.flush.interval.ms", "log.flush.scheduler.interval.ms"},
}

// synonymNames returns the keys in whose order a broker's key is looked up,
// beginning with the key itself. A key set for one listener falls back to the
// plain one.
func synonymNames(name string) []string {
	for _, f := range families {
		if i := slices.Index(f, name); i >= 0 {
			return f[i:]
		}
	}
	if base, _, ok := listenerKey(name); ok {
		return []string{name, base}
	}
	return []string{name}
}

// synonyms lists every value a broker's key has, the one that holds first.
// Values are in normal form; those of sensitive keys are left out. As in Kafka
// the list is empty unless the key itself has a value somewhere.
func (l Layers) synonyms(name string) []Synonym {
	var list []Synonym
	sensitive := sensitiveBroker(name)
	for _, n := range synonymNames(name) {
		add := func(value string, ok bool, source Source) {
			if !ok || (len(list) == 0 && n != name) {
				return
			}
			s := Synonym{Name: n, Source: source, Null: sensitive}
			if !sensitive {
				s.Value = normalBroker(n, value)
			}
			list = append(list, s)
		}
		v, ok := l.Broker[n]
		add(v, ok, SourceDynamicBroker)
		v, ok = l.Cluster[n]
		add(v, ok, SourceDynamicDefaultBroker)
		v, ok = l.Server.static(n)
		add(v, ok, SourceStatic)
		if v, ok = l.Server.fallback(n); ok && defaultShown(n, len(list) > 0) {
			add(v, ok, SourceDefault)
		}
	}
	return list
}

// defaultShown tells whether a default belongs in the list of synonyms. Kafka
// has none for the keys it insists on, and shows none for internal ones.
func defaultShown(name string, set bool) bool {
	d := brokerTable.byName[name]
	return d == nil || !(d.Internal || d.Required && set)
}

// sensitiveBroker tells keys whose values are never shown: secrets, and keys
// nobody knows, which might be secrets of a plugin.
func sensitiveBroker(name string) bool {
	if base, _, ok := listenerKey(name); ok {
		name = base
	}
	d, known := brokerDef(name)
	return !known || d.Sensitive()
}

func normalBroker(name, value string) string {
	if base, _, ok := listenerKey(name); ok {
		name = base
	}
	if d, known := brokerDef(name); known {
		return d.normal(value)
	}
	return value
}

// raw returns the text of a broker's key that holds, without its family.
func (l Layers) raw(name string) (string, bool) {
	if v, ok := l.Broker[name]; ok {
		return v, true
	}
	if v, ok := l.Cluster[name]; ok {
		return v, true
	}
	if v, ok := l.Server.static(name); ok {
		return v, true
	}
	return l.Server.fallback(name)
}

// value returns the parsed value of a broker's key, nil for null. A dynamic
// value that does not parse (from a newer release, say) gives way to what lies
// below it, so that a broker always starts.
func (l Layers) value(name string) any {
	d := brokerTable.byName[name]
	for _, get := range []func() (string, bool){
		func() (string, bool) { v, ok := l.Broker[name]; return v, ok },
		func() (string, bool) { v, ok := l.Cluster[name]; return v, ok },
		func() (string, bool) { return l.Server.static(name) },
		func() (string, bool) { return l.Server.fallback(name) },
	} {
		if text, ok := get(); ok {
			if v, err := d.validate(text); err == nil {
				return v
			}
		}
	}
	return nil
}

func (l Layers) long(name string) (n int64, ok bool) { n, ok = l.value(name).(int64); return n, ok }

func (l Layers) number(name string) int64 { n, _ := l.long(name); return n }

func (l Layers) float(name string) float64 { f, _ := l.value(name).(float64); return f }

// topicDefault returns the text a topic's key has when the topic sets none;
// ok is false for null. It works out the families that Kafka has for times.
func (l Layers) topicDefault(d *Def) (string, bool) {
	const hour = 3600 * 1000
	var ms int64
	switch d.Name {
	case "retention.ms":
		ms = l.retentionMs()
	case "segment.ms":
		ms = l.firstOf("log.roll.ms", 1, "log.roll.hours", hour)
	case "segment.jitter.ms":
		ms = l.firstOf("log.roll.jitter.ms", 1, "log.roll.jitter.hours", hour)
	case "flush.ms":
		ms = l.firstOf("log.flush.interval.ms", 1, "log.flush.scheduler.interval.ms", 1)
	default:
		if d.ServerKey == "" {
			return d.Default, d.HasDefault()
		}
		v := l.value(d.ServerKey)
		return format(v), v != nil
	}
	return format(ms), true
}

func (l Layers) firstOf(name string, unit int64, other string, otherUnit int64) int64 {
	if n, ok := l.long(name); ok {
		return n * unit
	}
	return l.number(other) * otherUnit
}

// retentionMs is the broker's retention time; -1 keeps records for ever.
func (l Layers) retentionMs() int64 {
	const hour, minute = 3600 * 1000, 60 * 1000
	ms, ok := l.long("log.retention.ms")
	if !ok {
		if ms, ok = l.long("log.retention.minutes"); ok {
			ms *= minute
		} else {
			ms = l.number("log.retention.hours") * hour
		}
	}
	if ms < 0 {
		return -1
	}
	return ms
}
