package config

import (
	"maps"
	"slices"
	"strings"
)

// Kind is the kind of resource a configuration belongs to, with Kafka's numbers.
type Kind int8

// The kinds that have dynamic configurations here.
const (
	KindTopic         Kind = 2
	KindBroker        Kind = 4
	KindClientMetrics Kind = 16
	KindGroup         Kind = 32
)

// Op is what IncrementalAlterConfigs does to a key (KIP-339).
type Op int8

// The operations, with Kafka's numbers.
const (
	OpSet      Op = 0
	OpDelete   Op = 1
	OpAppend   Op = 2
	OpSubtract Op = 3
)

// Change is one key of an IncrementalAlterConfigs request.
type Change struct {
	Key   string
	Op    Op
	Value string
	Null  bool // the request had no value
}

// IgnoredTopicKey tells keys of topics that Kafka removed in 4.0 and old tools
// still send. They are taken and dropped.
func IgnoredTopicKey(name string) bool {
	return name == "message.format.version" || name == "message.downconversion.enable"
}

// Apply works out what a resource sets after changes: current overlaid with
// them. holds gives the value that holds for a key now, from which APPEND and
// SUBTRACT start when the resource sets none (Layers.TopicHolds,
// Layers.BrokerHolds). The result is not validated; errors are *InvalidError.
func Apply(kind Kind, current map[string]string, holds func(key string) string, changes []Change) (map[string]string, error) {
	next := maps.Clone(current)
	if next == nil {
		next = map[string]string{}
	}
	if err := checkChanges(changes); err != nil {
		return nil, err
	}
	for _, c := range changes {
		switch c.Op {
		case OpSet:
			if !(kind == KindTopic && IgnoredTopicKey(c.Key)) {
				next[c.Key] = c.Value
			}
		case OpDelete:
			delete(next, c.Key)
		case OpAppend, OpSubtract:
			if !listKey(kind, c.Key) {
				verb := "APPEND"
				if c.Op == OpSubtract {
					verb = "SUBTRACT"
				}
				return nil, &InvalidError{Key: c.Key, Value: c.Value,
					Message: "Can't " + verb + " to key " + c.Key + " because its type is not LIST."}
			}
			old, set := next[c.Key]
			if !set && holds != nil {
				old = holds(c.Key)
			}
			next[c.Key] = alterList(old, c.Value, c.Op)
		default:
			return nil, &InvalidError{Key: c.Key, BadRequest: true, Message: "Unknown operation for configuration " + c.Key + "."}
		}
	}
	return next, nil
}

// checkChanges refuses what is wrong with a request whatever its keys are.
func checkChanges(changes []Change) error {
	seen := map[string]bool{}
	var nulls []string
	for _, c := range changes {
		if seen[c.Key] {
			return &InvalidError{Key: c.Key, BadRequest: true, Message: "Error due to duplicate config keys"}
		}
		seen[c.Key] = true
		if c.Null && c.Op != OpDelete {
			nulls = append(nulls, c.Key)
		}
	}
	if len(nulls) > 0 {
		return &InvalidError{Key: nulls[0], BadRequest: true, Message: "Null value not supported for : " + strings.Join(nulls, ", ")}
	}
	return nil
}

// listKey tells whether APPEND and SUBTRACT work on a key. As in Kafka they do
// on topics' and brokers' lists only.
func listKey(kind Kind, key string) bool {
	var d *Def
	switch kind {
	case KindTopic:
		d = topicTable.byName[key]
	case KindBroker:
		if base, _, ok := listenerKey(key); ok {
			key = base
		}
		d = brokerTable.byName[key]
	}
	return d != nil && d.Type == List
}

// alterList appends the items that are not there yet, or takes items away. An
// empty item that is to be appended stays, for validation to refuse it.
func alterList(old, change string, op Op) string {
	items := slices.DeleteFunc(listItems(old), func(item string) bool { return item == "" })
	for _, item := range listItems(change) {
		switch i := slices.Index(items, item); {
		case op == OpAppend && i < 0:
			items = append(items, item)
		case op == OpSubtract && i >= 0:
			items = slices.Delete(items, i, i+1)
		}
	}
	return strings.Join(items, ",")
}

// listItems cuts a list as Kafka does where it changes one: commas at its end
// stand for nothing, and an empty text is one empty item.
func listItems(text string) []string {
	items := splitItems(text)
	for len(items) > 0 && items[len(items)-1] == "" && text != "" {
		items = items[:len(items)-1]
	}
	return items
}

// TopicHolds gives the value of a topic's key that holds when the topic sets
// none.
func (l Layers) TopicHolds(key string) string {
	if d := topicTable.byName[key]; d != nil {
		v, _ := l.topicDefault(d)
		return v
	}
	return ""
}

// BrokerHolds gives the value of a broker's key that holds.
func (l Layers) BrokerHolds(key string) string {
	v, _ := l.raw(key)
	return v
}
