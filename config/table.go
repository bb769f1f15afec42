package config

import (
	"slices"
	"sort"
)

// table is a set of keys with their order. It is built once and never changed.
type table struct {
	defs   []Def // in the order of the answers; internal keys last
	byName map[string]*Def
}

// newTable puts Kafka's keys in the order in which Kafka lists them, and ours
// behind. Kafka's order is that of a Java hash table with the given number of
// buckets; tools print keys as they come, so theirs and ours can be compared
// line by line.
func newTable(buckets uint32, own []Def, groups ...[]Def) *table {
	t := &table{byName: map[string]*Def{}}
	for _, g := range groups {
		t.defs = append(t.defs, g...)
	}
	sort.SliceStable(t.defs, func(i, j int) bool {
		a, b := &t.defs[i], &t.defs[j]
		if a.Internal != b.Internal {
			return b.Internal
		}
		return javaBucket(a.Name, buckets) < javaBucket(b.Name, buckets)
	})
	for _, pair := range ties {
		t.moveAhead(pair[0], pair[1])
	}
	visible := len(t.defs)
	for visible > 0 && t.defs[visible-1].Internal {
		visible--
	}
	t.defs = slices.Insert(t.defs, visible, own...)
	for i := range t.defs {
		t.byName[t.defs[i].Name] = &t.defs[i]
	}
	return t
}

// ties are keys that share a bucket of Kafka's table where the first one was
// put in earlier. All other ties follow from the order of our own tables.
var ties = [][2]string{
	{"transaction.partition.verification.enable", "controller.quorum.auto.join.enable"},
	{"early.start.listeners", "controlled.shutdown.enable"},
	{"early.start.listeners", "share.coordinator.state.topic.compression.codec"},
	{"log.message.timestamp.before.max.ms", "group.share.min.partition.max.record.locks"},
	{"log.cleaner.min.cleanable.ratio", "group.share.min.record.lock.duration.ms"},
	{"compression.type", "group.streams.min.assignment.interval.ms"},
	{"producer.purgatory.purge.interval.requests", "controller.quorum.voters"},
	{"group.share.max.assignment.interval.ms", "controller.quota.window.num"},
	{"group.share.max.size", "controller.quorum.election.backoff.max.ms"},
	{"default.replication.factor", "group.streams.topology.description.plugin.class"},
	{"num.io.threads", "group.streams.max.size"},
	{"max.request.partition.size.limit", "offsets.topic.compression.codec"},
	{"sasl.mechanism.controller.protocol", "group.share.max.record.lock.duration.ms"},
	{"log.cleaner.enable", "controller.quorum.fetch.timeout.ms"},
	{"compression.lz4.level", "controller.quorum.fetch.max.bytes"},
	{"log.roll.hours", "controller.quorum.fetch.max.bytes"},
}

// moveAhead puts the key first right before the key second if it comes later.
func (t *table) moveAhead(first, second string) {
	i := slices.IndexFunc(t.defs, func(d Def) bool { return d.Name == second })
	j := slices.IndexFunc(t.defs, func(d Def) bool { return d.Name == first })
	if i >= 0 && j > i {
		d := t.defs[j]
		t.defs = slices.Insert(slices.Delete(t.defs, j, j+1), i, d)
	}
}

func javaBucket(name string, buckets uint32) uint32 {
	var h uint32
	for i := range len(name) {
		h = 31*h + uint32(name[i])
	}
	return (h ^ h>>16) & (buckets - 1)
}

// visible returns the keys that are shown.
func (t *table) visible() []Def {
	for i := range t.defs {
		if t.defs[i].Internal {
			return t.defs[:i]
		}
	}
	return t.defs
}

var (
	topicTable         = newTable(64, ownTopicDefs, topicDefs)
	groupTable         = newTable(32, nil, groupDefs)
	clientMetricsTable = newTable(16, nil, clientMetricsDefs)
	brokerTable        = newTable(512, ownDefs, remoteDefs, quorumDefs, networkDefs, replicationDefs, coordinatorDefs,
		brokerDefs, logDefs, transactionDefs, sslDefs, saslDefs, securityDefs)
)

// TopicDefs returns the keys of a topic in the order of DescribeConfigs, our
// own last. The slice must not be changed; the same holds for its siblings.
func TopicDefs() []Def { return topicTable.visible() }

// BrokerDefs returns the keys of a broker.
func BrokerDefs() []Def { return brokerTable.visible() }

// GroupDefs returns the keys of a consumer, share or streams group.
func GroupDefs() []Def { return groupTable.visible() }

// ClientMetricsDefs returns the keys of a subscription to client metrics.
func ClientMetricsDefs() []Def { return clientMetricsTable.visible() }

// BrokerDef returns the definition of a broker's key, internal ones included.
func BrokerDef(name string) (*Def, bool) {
	d, ok := brokerTable.byName[name]
	return d, ok
}

// TopicDef returns the definition of a topic's key, internal ones included.
func TopicDef(name string) (*Def, bool) {
	d, ok := topicTable.byName[name]
	return d, ok
}
