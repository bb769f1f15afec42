package node

import (
	"slices"
	"strings"
	"time"

	"ringmain/broker"
	"ringmain/coordinator/group"
	"ringmain/metrics"
	"ringmain/record"
)

// defaultPoolSize is how many requests that wait or compute may run at once
// where ringmain.pool.size does not say.
const defaultPoolSize = 16

// settings takes from server.properties what the broker needs.
func (n *Node) settings() broker.Settings {
	pool := n.cfg.PoolSize
	if pool == 0 {
		pool = defaultPoolSize
	}
	return broker.Settings{
		NodeID:                   n.cfg.NodeID,
		NumPartitions:            n.cfg.NumPartitions,
		DefaultReplicationFactor: n.cfg.ReplicationFactor,
		AutoCreateTopics:         n.cfg.AutoCreateTopics,
		DeleteTopics:             n.cfg.DeleteTopics,
		MaxRequestPartitions:     n.cfg.DescribePartitionLimit,
		MaxNewPartitions:         n.cfg.RequestMaxParts,
		MaxTransactionTimeoutMs:  n.cfg.Int("transaction.max.timeout.ms"),
		FetchMaxBytes:            n.cfg.FetchMaxBytes,
		FetchSessions:            n.cfg.FetchSessionSlots,
		PoolSize:                 pool,
		RetentionCheck:           time.Duration(n.cfg.RetentionCheckMs) * time.Millisecond,
		Groups:                   n.groupSettings(),
	}
}

// groupSettings takes what the group coordinator needs. A loop beyond the number of
// processors would only take turns with the others.
func (n *Node) groupSettings() broker.GroupSettings {
	c := n.cfg
	protocols := c.List("group.coordinator.rebalance.protocols")
	policy := strings.ToLower(c.Text("group.consumer.migration.policy"))
	return broker.GroupSettings{
		Config: group.Config{
			MaxMetadataBytes:        c.Int("offset.metadata.max.bytes"),
			RetentionMs:             c.Long("offsets.retention.minutes") * time.Minute.Milliseconds(),
			RetentionCheckMs:        c.Long("offsets.retention.check.interval.ms"),
			MinSessionTimeoutMs:     c.Int("group.min.session.timeout.ms"),
			MaxSessionTimeoutMs:     c.Int("group.max.session.timeout.ms"),
			InitialRebalanceDelayMs: c.Int("group.initial.rebalance.delay.ms"),
			MaxSize:                 c.Int("group.max.size"),
			ConsumerMaxSize:         c.Int("group.consumer.max.size"),
			Assignors:               c.List("group.consumer.assignors"),
			Migration: group.MigrationPolicy{
				Upgrade:   policy == "upgrade" || policy == "bidirectional",
				Downgrade: policy == "downgrade" || policy == "bidirectional",
			},
			RegexRefreshMs:   c.Long("group.consumer.regex.refresh.interval.ms"),
			ClassicProtocol:  slices.Contains(protocols, "classic"),
			ConsumerProtocol: slices.Contains(protocols, "consumer"),
		},
		Loops:             min(int(c.Int("group.coordinator.threads")), processors()),
		CommitTimeout:     time.Duration(c.Int("offsets.commit.timeout.ms")) * time.Millisecond,
		LoadBytes:         int(c.Int("offsets.load.buffer.size")),
		Codec:             record.Codec(c.Int("offsets.topic.compression.codec")),
		TopicPartitions:   c.Int("offsets.topic.num.partitions"),
		TopicReplication:  int16(c.Int("offsets.topic.replication.factor")),
		TopicSegmentBytes: c.Int("offsets.topic.segment.bytes"),
	}
}

// observer counts what shards do.
type observer struct{ set *metrics.Set }

// Appended implements partition.Observer.
func (o observer) Appended(_ int, _ int64, took time.Duration) { o.set.AppendLatency.Observe(took) }

// AppendFailed implements partition.Observer.
func (o observer) AppendFailed() { o.set.AppendErrors.Inc() }

// Synced implements partition.Observer.
func (o observer) Synced(files int, took time.Duration) {
	o.set.Syncs.Add(uint64(files))
	o.set.SyncLatency.Observe(took)
}

// SyncFailed implements partition.Observer.
func (o observer) SyncFailed() { o.set.SyncErrors.Inc() }
