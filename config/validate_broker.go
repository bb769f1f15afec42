package config

import (
	"fmt"
	"slices"
	"strings"
)

// ValidateBroker checks what is to be set for this broker or, with cluster, for
// all brokers: next is all of it, set names the keys that the request sets or
// alters (deleting a key is always allowed), and l is what holds now. Errors
// are *InvalidError, nearly all of them bad requests as in Kafka.
func (l Layers) ValidateBroker(next map[string]string, cluster bool, set []string) error {
	layers := l
	if cluster {
		layers.Cluster = next
	} else {
		layers.Broker = next
	}
	if err := checkWhere(set, cluster); err != nil {
		return err
	}
	for _, name := range sortedNames(next) {
		if err := checkDynamicValue(name, next[name]); err != nil {
			return err
		}
	}
	if err := checkBroker(layers); err != nil {
		if invalid, ok := err.(*InvalidError); ok {
			invalid.BadRequest = true
		}
		return err
	}
	return checkThreads(l, layers, set)
}

// resident are keys Kafka changes at run time and we do not, because what they
// govern is not there: they would be stored and do nothing.
var resident = []string{"listeners", "listener.security.protocol.map", "config.providers", "cordoned.log.dirs", "metric.reporters"}

// stores are the keys of TLS that Kafka changes for one listener at a time only.
var stores = []string{"ssl.keystore.", "ssl.truststore.", "ssl.key.password"}

// checkWhere refuses keys that cannot be changed, or not at this place.
func checkWhere(set []string, cluster bool) error {
	var fixed, unprefixed, single, security []string
	for _, name := range set {
		base, _, prefixed := listenerKey(name)
		if !prefixed {
			base = name
		}
		d, known := brokerTable.byName[base]
		if !known {
			if strings.HasPrefix(name, ownPrefix) {
				return &InvalidError{Key: name, BadRequest: true, Message: "Unknown broker config name: " + name}
			}
			continue
		}
		switch {
		case slices.Contains(resident, base) && !(cluster && d.Update == PerBroker), d.Update == ReadOnly && !prefixed:
			fixed = append(fixed, name)
		case !prefixed && slices.ContainsFunc(stores, func(s string) bool { return strings.HasPrefix(base, s) }):
			unprefixed = append(unprefixed, name)
		case d.Update == PerBroker && cluster:
			single = append(single, name)
		case strings.HasPrefix(base, "ssl."), strings.HasPrefix(base, "sasl."), base == "principal.builder.class":
			security = append(security, name)
		}
	}
	for _, refusal := range []struct {
		names   []string
		message string
	}{
		{fixed, "Cannot update these configs dynamically: "},
		{unprefixed, "These security configs can be dynamically updated only per-listener using the listener prefix: "},
		{single, "Cannot update these configs at default cluster level, broker id must be specified: "},
		// Kafka stores these and applies them to its listeners. Stored here
		// they would let people believe that they hold.
		{security, "This broker has PLAINTEXT listeners only and cannot apply these security configs: "},
	} {
		if len(refusal.names) > 0 {
			return &InvalidError{Key: refusal.names[0], BadRequest: true,
				Message: refusal.message + "[" + strings.Join(refusal.names, ", ") + "]"}
		}
	}
	return nil
}

// checkDynamicValue checks one value; keys nobody knows take any, as in Kafka.
func checkDynamicValue(name, text string) error {
	base, _, prefixed := listenerKey(name)
	if !prefixed {
		base = name
	}
	d, known := brokerTable.byName[base]
	if !known {
		return nil
	}
	v, err := d.validate(text)
	if err == nil {
		err = d.checkRepeats(text)
	}
	if invalid, ok := err.(*InvalidError); ok {
		invalid.BadRequest = true
		return err
	}
	// A file may say 0 and have a broker that nobody reaches; a running one keeps a way in.
	if n, ok := v.(int64); ok && n == 0 && (base == "max.connections" || base == "max.connection.creation.rate") {
		return &InvalidError{Key: name, Value: text, BadRequest: true, Message: "Invalid " + base + " 0"}
	}
	return nil
}

// checkBroker checks what several keys must have in common, and the few
// conditions that are no ranges. It holds for server.properties as well.
func checkBroker(l Layers) error {
	bad := func(name, message string) error {
		v, _ := l.raw(name)
		return &InvalidError{Key: name, Value: v, Message: message}
	}
	for _, name := range []string{"log.retention.ms", "log.retention.minutes", "log.retention.hours"} {
		if n, ok := l.long(name); ok && n == 0 {
			return bad(name, name+" must be unlimited (-1) or, greater than or equal to 1")
		}
	}
	if n, ok := l.long("log.roll.ms"); ok && n < 1 {
		return bad("log.roll.ms", "log.roll.ms must be greater than or equal to 1")
	}
	if n, ok := l.long("log.roll.jitter.ms"); ok && n < 0 {
		return bad("log.roll.jitter.ms", "log.roll.jitter.ms must be greater than or equal to 0")
	}
	overrides, _ := l.value("max.connections.per.ip.overrides").(string)
	perIP, err := parseOverrides(overrides)
	if err != nil {
		return bad("max.connections.per.ip.overrides", err.Error())
	}
	if l.number("max.connections.per.ip") == 0 && len(perIP) == 0 {
		return bad("max.connections.per.ip", "max.connections.per.ip can be set to zero only if max.connections.per.ip.overrides property is set.")
	}
	if n := l.number("log.cleaner.threads"); n < 1 {
		return bad("log.cleaner.threads", "Invalid value 0 for configuration log.cleaner.threads: Value must be at least 1")
	} else if l.number("log.cleaner.dedupe.buffer.size")/n <= 1<<20 {
		return bad("log.cleaner.dedupe.buffer.size", "log.cleaner.dedupe.buffer.size must be at least 1MB per cleaner thread.")
	}
	if protocols, _ := l.value("group.coordinator.rebalance.protocols").([]string); !slices.Contains(protocols, "classic") {
		return bad("group.coordinator.rebalance.protocols", "Disabling the 'classic' protocol is not supported.")
	}
	if assignors, _ := l.value("group.consumer.assignors").([]string); len(assignors) == 0 {
		return bad("group.consumer.assignors", "Configuration 'group.consumer.assignors' must not be empty. Valid values include: any non-empty value")
	}
	if n := l.number("queued.max.request.bytes"); n != -1 && n < l.number("socket.request.max.bytes") {
		return bad("queued.max.request.bytes", "queued.max.request.bytes must be -1 or at least socket.request.max.bytes")
	}
	if n := l.number("connections.max.idle.ms"); n >= 0 && l.number("connection.failed.authentication.delay.ms") >= n {
		return bad("connections.max.idle.ms", fmt.Sprintf("connections.max.idle.ms=%d must be more than connection.failed.authentication.delay.ms", n))
	}
	if err := checkLocalRetention(l, bad); err != nil {
		return err
	}
	for _, pair := range ordered {
		low, high := l.number(pair.low), l.number(pair.high)
		if low > high || pair.strict && low == high {
			relation := " must be less than or equal to "
			if pair.strict {
				relation = " must be less than "
			}
			return bad(pair.low, pair.low+relation+pair.high)
		}
	}
	return nil
}

// ordered are pairs of keys of which the first may not exceed the second.
var ordered = func() []struct {
	low, high string
	strict    bool
} {
	type pair = struct {
		low, high string
		strict    bool
	}
	pairs := []pair{
		{low: "replica.fetch.wait.max.ms", high: "replica.lag.time.max.ms"},
		{low: "group.min.session.timeout.ms", high: "group.max.session.timeout.ms"},
		{low: "group.streams.num.standby.replicas", high: "group.streams.max.standby.replicas"},
		{low: "group.streams.num.warmup.replicas", high: "group.streams.max.warmup.replicas"},
		{low: "group.streams.min.task.offset.interval.ms", high: "group.streams.task.offset.interval.ms"},
	}
	for _, group := range []string{"consumer", "share", "streams"} {
		for _, key := range []string{"session.timeout.ms", "heartbeat.interval.ms", "assignment.interval.ms"} {
			pairs = append(pairs, within(group, key)...)
		}
		pairs = append(pairs, pair{low: "group." + group + ".heartbeat.interval.ms", high: "group." + group + ".session.timeout.ms", strict: true})
	}
	for _, key := range []string{"record.lock.duration.ms", "delivery.count.limit", "partition.max.record.locks"} {
		pairs = append(pairs, within("share", key)...)
	}
	return pairs
}()

func within(group, key string) []struct {
	low, high string
	strict    bool
} {
	value, low, high := "group."+group+"."+key, "group."+group+".min."+key, "group."+group+".max."+key
	return []struct {
		low, high string
		strict    bool
	}{{low: low, high: high}, {low: low, high: value}, {low: value, high: high}}
}

func checkLocalRetention(l Layers, bad func(name, message string) error) error {
	for _, c := range []struct {
		local, total string
		limit        int64
	}{
		{"log.local.retention.ms", "log.retention.ms", l.retentionMs()},
		{"log.local.retention.bytes", "log.retention.bytes", l.number("log.retention.bytes")},
	} {
		n := l.number(c.local)
		if n == -2 || c.limit < 0 {
			continue
		}
		if n == -1 || n > c.limit {
			return bad(c.local, fmt.Sprintf("Invalid value %d for configuration %s: Value must not be more than %s property value: %d", n, c.local, c.total, c.limit))
		}
	}
	for _, c := range []struct {
		lag, local string
		total      int64
	}{
		{"log.remote.copy.lag.ms", "log.local.retention.ms", l.retentionMs()},
		{"log.remote.copy.lag.bytes", "log.local.retention.bytes", l.number("log.retention.bytes")},
	} {
		limit := l.number(c.local)
		if limit == -2 {
			limit = c.total
		}
		if n := l.number(c.lag); limit >= 0 && n > limit {
			return bad(c.lag, fmt.Sprintf("Invalid value %d for configuration %s: Value must not exceed %s (effective value: %d)", n, c.lag, c.local, limit))
		}
	}
	return nil
}

// checkThreads holds changes of thread counts to half and double, as Kafka
// does; the counts have no effect here, and tools that probe the rule see it.
func checkThreads(was, next Layers, set []string) error {
	for _, name := range []string{
		"num.io.threads", "num.network.threads", "num.replica.fetchers", "num.recovery.threads.per.data.dir", "background.threads", "log.cleaner.threads",
		"remote.log.manager.copier.thread.pool.size", "remote.log.manager.expiration.thread.pool.size", "remote.log.manager.follower.thread.pool.size", "remote.log.reader.threads",
	} {
		if !slices.Contains(set, name) {
			continue
		}
		old, n := was.number(name), next.number(name)
		problem := ""
		switch {
		case n > 2*old:
			problem = fmt.Sprintf("value should not be greater than double the current value %d", old)
		case n < old/2:
			problem = fmt.Sprintf("value should be at least half the current value %d", old)
		}
		if problem != "" {
			return &InvalidError{Key: name, Value: format(n), BadRequest: true,
				Message: fmt.Sprintf("Dynamic thread count update validation failed for %s=%d, %s", name, n, problem)}
		}
	}
	return nil
}
