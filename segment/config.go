package segment

import "math"

// Config is what a log needs of a topic's configuration. Zero values of
// limits mean "none" where Kafka's key allows -1.
type Config struct {
	SegmentBytes         int32 // segment.bytes
	SegmentMs            int64 // segment.ms; 0 never rolls by time
	SegmentJitterMs      int64 // segment.jitter.ms
	IndexIntervalBytes   int32 // index.interval.bytes
	IndexMaxBytes        int32 // segment.index.bytes
	RetentionMs          int64 // retention.ms; negative keeps for ever
	RetentionBytes       int64 // retention.bytes; negative keeps everything
	DeleteDelayMs        int64 // file.delete.delay.ms
	DeletePolicy         bool  // cleanup.policy has "delete"
	CompactPolicy        bool  // cleanup.policy has "compact"
	DeleteRetentionMs    int64 // delete.retention.ms
	MinCompactionLagMs   int64 // min.compaction.lag.ms
	MaxCompactionLagMs   int64 // max.compaction.lag.ms
	Preallocate          bool  // preallocate: reserve blocks ahead, size unchanged
	ProducerExpirationMs int64 // producer.id.expiration.ms
}

// DefaultConfig has Kafka's defaults.
func DefaultConfig() Config {
	return Config{
		SegmentBytes:         1 << 30,
		SegmentMs:            7 * 24 * 3600 * 1000,
		IndexIntervalBytes:   4096,
		IndexMaxBytes:        10 << 20,
		RetentionMs:          7 * 24 * 3600 * 1000,
		RetentionBytes:       -1,
		DeleteDelayMs:        60_000,
		DeletePolicy:         true,
		DeleteRetentionMs:    86_400_000,
		MaxCompactionLagMs:   math.MaxInt64,
		ProducerExpirationMs: 86_400_000,
	}
}

// withFloor keeps nonsense from becoming a division or an endless roll.
func (c Config) withFloor() Config {
	if c.SegmentBytes <= 0 {
		c.SegmentBytes = 1 << 30
	}
	if c.IndexIntervalBytes < 0 {
		c.IndexIntervalBytes = 0
	}
	if c.IndexMaxBytes <= 0 {
		c.IndexMaxBytes = 10 << 20
	}
	if c.ProducerExpirationMs <= 0 {
		c.ProducerExpirationMs = 86_400_000
	}
	return c
}
