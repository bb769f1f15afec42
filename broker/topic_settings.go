package broker

import (
	"ringmain/config"
	"ringmain/partition"
	"ringmain/record"
	"ringmain/segment"
)

// settingsOf turns a topic's configuration into what replicas, logs and the
// validation of batches need of it.
func settingsOf(t *config.Topic, producerExpirationMs int64) *partition.Settings {
	s := &partition.Settings{
		Log: segment.Config{
			SegmentBytes:         t.SegmentBytes,
			SegmentMs:            t.SegmentMs,
			SegmentJitterMs:      t.SegmentJitterMs,
			IndexIntervalBytes:   t.IndexIntervalBytes,
			IndexMaxBytes:        t.IndexMaxBytes,
			RetentionMs:          t.RetentionMs,
			RetentionBytes:       t.RetentionBytes,
			DeleteDelayMs:        t.FileDeleteDelayMs,
			DeletePolicy:         t.Delete,
			CompactPolicy:        t.Compact,
			DeleteRetentionMs:    t.DeleteRetentionMs,
			MinCompactionLagMs:   t.MinCompactionLagMs,
			MaxCompactionLagMs:   t.MaxCompactionLagMs,
			Preallocate:          t.Preallocate,
			ProducerExpirationMs: producerExpirationMs,
		},
		Rules: record.Rules{
			MaxMessageBytes:      t.MaxMessageBytes,
			SegmentBytes:         t.SegmentBytes,
			Compacted:            t.Compact,
			LogAppendTime:        t.LogAppendTime,
			TimestampBeforeMaxMs: t.TimestampBeforeMaxMs,
			TimestampAfterMaxMs:  t.TimestampAfterMaxMs,
			CompressionProducer:  t.Compression == "producer",
		},
		MinInSyncReplicas: int(t.MinInSyncReplicas),
		PageCache:         t.Durability == config.PageCache,
		FlushMessages:     t.FlushMessages,
		FlushMs:           t.FlushMs,
		MinCleanableRatio: t.MinCleanableDirtyRatio,
	}
	switch t.Compression {
	case "producer", "uncompressed":
	default:
		// The value was checked when it was set: an unknown word is impossible.
		s.Rules.Compression, _ = record.ParseCodec(t.Compression)
	}
	switch s.Rules.Compression {
	case record.Gzip:
		s.Rules.CompressionLevel = t.GzipLevel
	case record.LZ4:
		s.Rules.CompressionLevel = t.LZ4Level
	case record.Zstd:
		s.Rules.CompressionLevel = t.ZstdLevel
	}
	return s
}
