package config

import (
	"fmt"
	"slices"
)

// ValidateTopic checks what a topic sets itself, all of it together, against
// Kafka's defaults. See Layers.ValidateTopic.
func ValidateTopic(overrides map[string]string) error { return Layers{}.ValidateTopic(overrides) }

// ValidateTopic checks what a topic sets itself, all of it together, over what
// the broker would give it. Keys that old tools send and nobody needs
// (IgnoredTopicKey) pass. Errors are *InvalidError with Kafka's messages.
func (l Layers) ValidateTopic(overrides map[string]string) error {
	for _, name := range sortedNames(overrides) {
		if _, known := topicTable.byName[name]; !known && !IgnoredTopicKey(name) {
			return &InvalidError{Key: name, Value: overrides[name], Message: "Unknown topic config name: " + name}
		}
	}
	for i := range topicTable.defs {
		d := &topicTable.defs[i]
		if text, ok := overrides[d.Name]; ok {
			if _, err := d.validate(text); err != nil {
				return err
			}
		}
	}
	r := topicReader{layers: l, overrides: overrides}
	if r.bool("remote.storage.enable") {
		return &InvalidError{Key: "remote.storage.enable", Value: overrides["remote.storage.enable"],
			Message: "Tiered Storage functionality is disabled in the broker. Topic cannot be configured with remote log storage."}
	}
	low, high := r.long("min.compaction.lag.ms"), r.long("max.compaction.lag.ms")
	if low > high {
		return &InvalidError{Key: "min.compaction.lag.ms", Value: format(low),
			Message: fmt.Sprintf("conflict topic config setting min.compaction.lag.ms (%d) > max.compaction.lag.ms (%d)", low, high)}
	}
	return nil
}

func sortedNames(m map[string]string) []string {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
