package config

import "sort"

// Entry is one key of a DescribeConfigs answer.
type Entry struct {
	Name      string
	Value     string
	Null      bool // the value is null: unset, or not to be shown
	ReadOnly  bool
	Sensitive bool
	Source    Source
	Type      Type
	Doc       string // empty for keys nobody knows
	Synonyms  []Synonym
}

// IsDefault is what version 0 of DescribeConfigs shows in place of the source.
func (e *Entry) IsDefault() bool { return e.Source == SourceDefault }

// Synonym is a value the key has or would have, the one that holds first.
type Synonym struct {
	Name   string
	Value  string
	Null   bool
	Source Source
}

// DescribeTopic lists every key of a topic that sets overrides itself.
func (l Layers) DescribeTopic(overrides map[string]string) []Entry {
	out := make([]Entry, 0, len(topicTable.visible()))
	for i := range topicTable.visible() {
		d := &topicTable.defs[i]
		var below []Synonym
		if d.ServerKey != "" {
			below = l.synonyms(d.ServerKey)
		}
		e := describe(d, overrides, SourceTopic, below)
		if e.Source != SourceTopic {
			v, ok := l.topicDefault(d)
			e.Value, e.Null = v, !ok
		}
		out = append(out, e)
	}
	return out
}

// DescribeGroup lists every key of a group that sets overrides itself. Internal keys
// are shown where they are set, by the group or by the broker.
func (l Layers) DescribeGroup(overrides map[string]string) []Entry {
	out := make([]Entry, 0, len(groupTable.defs))
	for i := range groupTable.defs {
		d := &groupTable.defs[i]
		e := describe(d, overrides, SourceGroup, l.belowGroup(d))
		if !d.Internal || e.Source != SourceDefault {
			out = append(out, e)
		}
	}
	return out
}

// belowGroup is what holds for a group that does not set the key itself.
func (l Layers) belowGroup(d *Def) []Synonym {
	if d.ServerKey == "" {
		return []Synonym{{Name: d.Name, Value: d.Default, Source: SourceDefault}}
	}
	below := l.synonyms(d.ServerKey)
	if d.Internal { // whose default the broker does not show
		below = append(below, Synonym{Name: d.ServerKey, Value: d.Default, Source: SourceDefault})
	}
	if d.Name == "streams.assignor.name" && len(below) > 0 {
		// The broker has a list, of which the first is the default.
		below[0].Value = firstItem(below[0].Value)
	}
	return below
}

func firstItem(list string) string {
	items, ok := splitList(list)
	if !ok || len(items) == 0 {
		return list
	}
	return items[0]
}

// DescribeClientMetrics lists every key of a subscription to client metrics.
func DescribeClientMetrics(overrides map[string]string) []Entry {
	out := make([]Entry, 0, len(clientMetricsDefs))
	for i := range clientMetricsTable.visible() {
		out = append(out, describe(&clientMetricsTable.defs[i], overrides, SourceClientMetrics, nil))
	}
	return out
}

// describe makes the entry of a key that its resource may set, with what lies
// below it.
func describe(d *Def, overrides map[string]string, own Source, below []Synonym) Entry {
	e := Entry{Name: d.Name, Type: d.Type, Doc: d.Doc, Sensitive: d.Sensitive(), Source: SourceDefault,
		Value: d.Default, Null: !d.HasDefault()}
	if v, ok := overrides[d.Name]; ok {
		e.Synonyms = append(e.Synonyms, Synonym{Name: d.Name, Value: d.normal(v), Source: own})
	}
	e.Synonyms = append(e.Synonyms, below...)
	if len(e.Synonyms) > 0 {
		first := e.Synonyms[0]
		e.Value, e.Null, e.Source = first.Value, first.Null, first.Source
	}
	return e
}

// DescribeBroker lists every key of the broker, and what was set beyond the
// keys it knows.
func (l Layers) DescribeBroker() []Entry {
	out := make([]Entry, 0, len(brokerTable.defs))
	for i := range brokerTable.visible() {
		out = append(out, l.brokerEntry(brokerTable.defs[i].Name))
	}
	for _, name := range l.extraNames() {
		out = append(out, l.brokerEntry(name))
	}
	return out
}

// extraNames are keys that are set and not in the table of shown keys.
func (l Layers) extraNames() []string {
	seen := map[string]bool{}
	var names []string
	for _, m := range []map[string]string{l.Broker, l.Cluster, l.static()} {
		for name := range m {
			d, known := brokerTable.byName[name]
			shown := known && !d.Internal
			// Kafka keeps its internal keys to itself unless they were made
			// to be changed at run time, as the replication rates are.
			hidden := known && d.Internal && d.Update == ReadOnly
			if !shown && !hidden && !seen[name] {
				seen[name] = true
				names = append(names, name)
			}
		}
	}
	sort.Strings(names)
	return names
}

func (l Layers) static() map[string]string {
	if l.Server == nil {
		return nil
	}
	return l.Server.values
}

func (l Layers) brokerEntry(name string) Entry {
	e := Entry{Name: name, ReadOnly: true, Sensitive: sensitiveBroker(name), Null: true, Source: SourceDefault}
	if d, known := brokerDef(name); known {
		e.ReadOnly = d.Update == ReadOnly
		e.Doc = d.Doc
		e.Type = d.Type
	} else if base, _, ok := listenerKey(name); ok && brokerTable.byName[base] != nil {
		e.Doc = brokerTable.byName[base].Doc
		e.Type = brokerTable.byName[base].Type
	}
	e.Synonyms = l.synonyms(name)
	if len(e.Synonyms) > 0 {
		first := e.Synonyms[0]
		e.Value, e.Null, e.Source = first.Value, first.Null, first.Source
	}
	return e
}

// DescribeBrokerDefaults lists what is set for all brokers (resource name "").
func (l Layers) DescribeBrokerDefaults() []Entry {
	names := make([]string, 0, len(l.Cluster))
	for name := range l.Cluster {
		names = append(names, name)
	}
	sort.Strings(names)
	only := Layers{Cluster: l.Cluster}
	out := make([]Entry, 0, len(names))
	for _, name := range names {
		e := only.brokerEntry(name)
		if len(e.Synonyms) > 1 {
			e.Synonyms = e.Synonyms[:1]
		}
		out = append(out, e)
	}
	return out
}
