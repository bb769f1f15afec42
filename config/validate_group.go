package config

import (
	"fmt"
	"slices"
	"strings"
)

// groupBounds are the broker's keys that bound a group's key; low or high may
// be missing.
var groupBounds = []struct{ key, low, high string }{
	bounds("consumer", "session.timeout.ms"),
	bounds("consumer", "heartbeat.interval.ms"),
	bounds("consumer", "assignment.interval.ms"),
	bounds("share", "session.timeout.ms"),
	bounds("share", "heartbeat.interval.ms"),
	bounds("share", "record.lock.duration.ms"),
	bounds("share", "delivery.count.limit"),
	bounds("share", "partition.max.record.locks"),
	bounds("share", "assignment.interval.ms"),
	bounds("streams", "session.timeout.ms"),
	bounds("streams", "heartbeat.interval.ms"),
	bounds("streams", "assignment.interval.ms"),
	{key: "streams.num.standby.replicas", high: "group.streams.max.standby.replicas"},
	{key: "streams.num.warmup.replicas", high: "group.streams.max.warmup.replicas"},
	{key: "streams.task.offset.interval.ms", low: "group.streams.min.task.offset.interval.ms"},
}

func bounds(group, key string) struct{ key, low, high string } {
	return struct{ key, low, high string }{group + "." + key, "group." + group + ".min." + key, "group." + group + ".max." + key}
}

// ValidateGroup checks what a group sets itself, all of it together, within
// the broker's bounds. Errors are *InvalidError with Kafka's messages.
func (l Layers) ValidateGroup(overrides map[string]string) error {
	for _, name := range sortedNames(overrides) {
		if _, known := groupTable.byName[name]; !known {
			return &InvalidError{Key: name, Value: overrides[name], Message: "Unknown group config name: " + name}
		}
	}
	for i := range groupTable.defs {
		d := &groupTable.defs[i]
		if text, ok := overrides[d.Name]; ok {
			if _, err := d.validate(text); err != nil {
				return err
			}
		}
	}
	for _, b := range groupBounds {
		text, ok := overrides[b.key]
		if !ok {
			continue
		}
		v, _ := groupTable.byName[b.key].parse(text)
		if problem := l.outside(v.(int64), b.low, b.high); problem != "" {
			return &InvalidError{Key: b.key, Value: text, Message: b.key + problem}
		}
	}
	for _, group := range []string{"consumer", "share", "streams"} {
		session, beat := group+".session.timeout.ms", group+".heartbeat.interval.ms"
		if s, h := l.groupNumber(overrides, session), l.groupNumber(overrides, beat); s <= h {
			return &InvalidError{Key: session, Value: overrides[session], Message: session + " must be greater than " + beat}
		}
	}
	return l.validateGroupNames(overrides)
}

func (l Layers) outside(n int64, low, high string) string {
	switch {
	case low == "":
		if most := l.number(high); n > most {
			return fmt.Sprintf(" must be less than or equal to %d", most)
		}
	case high == "":
		if least := l.number(low); n < least {
			return fmt.Sprintf(" must be greater than or equal to %d", least)
		}
	default:
		if least, most := l.number(low), l.number(high); n < least || n > most {
			return fmt.Sprintf(" must be in the range %d to %d inclusive.", least, most)
		}
	}
	return ""
}

func (l Layers) groupNumber(overrides map[string]string, name string) int64 {
	d := groupTable.byName[name]
	if text, ok := overrides[name]; ok {
		n, _ := d.parse(text)
		return n.(int64)
	}
	return l.number(d.ServerKey)
}

func (l Layers) validateGroupNames(overrides map[string]string) error {
	const assignor, letter, tags = "streams.assignor.name", "errors.deadletterqueue.topic.name", "streams.rack.aware.assignment.tags"
	if name, ok := overrides[assignor]; ok {
		registered, _ := l.value("group.streams.assignors").([]string)
		if asked := trim(name); !slices.Contains(registered, asked) {
			return &InvalidError{Key: assignor, Value: name, Message: fmt.Sprintf("%s '%s' is not a registered task assignor. Registered assignors are: [%s].", assignor, asked, strings.Join(registered, ", "))}
		}
	}
	if text, ok := overrides[tags]; ok && repeats(text) {
		return &InvalidError{Key: tags, Value: text, Message: tags + " must not contain duplicate tag keys."}
	}
	if name, ok := overrides[letter]; ok && strings.HasPrefix(trim(name), "__") {
		return &InvalidError{Key: letter, Value: name, Message: letter + ": DLQ topic name must not start with '__'"}
	}
	return nil
}
