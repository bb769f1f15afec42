package node

import (
	"time"

	"ringmain/broker"
	"ringmain/metrics"
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
