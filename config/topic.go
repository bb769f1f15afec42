package config

// Topic is what holds for one topic.
type Topic struct {
	SegmentBytes           int32
	SegmentMs              int64
	SegmentJitterMs        int64
	IndexMaxBytes          int32 // segment.index.bytes
	IndexIntervalBytes     int32
	FlushMessages          int64
	FlushMs                int64
	RetentionMs            int64 // -1: for ever
	RetentionBytes         int64 // negative: no limit
	FileDeleteDelayMs      int64
	Preallocate            bool
	Delete, Compact        bool // cleanup.policy
	DeleteRetentionMs      int64
	MinCompactionLagMs     int64
	MaxCompactionLagMs     int64
	MinCleanableDirtyRatio float64

	MaxMessageBytes      int32
	MaxDecompressedBytes int32 // of one record
	Compression          string
	GzipLevel, LZ4Level  int
	ZstdLevel            int
	LogAppendTime        bool // message.timestamp.type
	TimestampBeforeMaxMs int64
	TimestampAfterMaxMs  int64
	MinInSyncReplicas    int32
	UncleanElection      bool
	Durability           Durability

	LeaderThrottled, FollowerThrottled []string // partition:broker, or *
}

// ResolveTopic works out what holds for a topic from what it sets itself, the
// broker's file and the broker's dynamic configuration (that for all brokers
// overlaid with that for this one).
func ResolveTopic(topicOverrides map[string]string, server *Server, dynamicBroker map[string]string) Topic {
	return Layers{Server: server, Broker: dynamicBroker}.Topic(topicOverrides)
}

// Topic works out what holds for a topic that sets overrides itself. A value
// that does not pass its check gives way to the broker's.
func (l Layers) Topic(overrides map[string]string) Topic {
	r := topicReader{layers: l, overrides: overrides}
	t := Topic{
		SegmentBytes:           r.int("segment.bytes"),
		SegmentMs:              r.long("segment.ms"),
		SegmentJitterMs:        r.long("segment.jitter.ms"),
		IndexMaxBytes:          r.int("segment.index.bytes"),
		IndexIntervalBytes:     r.int("index.interval.bytes"),
		FlushMessages:          r.long("flush.messages"),
		FlushMs:                r.long("flush.ms"),
		RetentionMs:            r.long("retention.ms"),
		RetentionBytes:         r.long("retention.bytes"),
		FileDeleteDelayMs:      r.long("file.delete.delay.ms"),
		Preallocate:            r.bool("preallocate"),
		DeleteRetentionMs:      r.long("delete.retention.ms"),
		MinCompactionLagMs:     r.long("min.compaction.lag.ms"),
		MaxCompactionLagMs:     r.long("max.compaction.lag.ms"),
		MinCleanableDirtyRatio: r.double("min.cleanable.dirty.ratio"),
		MaxMessageBytes:        r.int("max.message.bytes"),
		MaxDecompressedBytes:   r.int("max.decompressed.message.bytes"),
		Compression:            r.text("compression.type"),
		GzipLevel:              int(r.long("compression.gzip.level")),
		LZ4Level:               int(r.long("compression.lz4.level")),
		ZstdLevel:              int(r.long("compression.zstd.level")),
		LogAppendTime:          r.text("message.timestamp.type") == "LogAppendTime",
		TimestampBeforeMaxMs:   r.long("message.timestamp.before.max.ms"),
		TimestampAfterMaxMs:    r.long("message.timestamp.after.max.ms"),
		MinInSyncReplicas:      r.int("min.insync.replicas"),
		UncleanElection:        r.bool("unclean.leader.election.enable"),
		Durability:             durability(r.text("ringmain.durability")),
		LeaderThrottled:        r.list("leader.replication.throttled.replicas"),
		FollowerThrottled:      r.list("follower.replication.throttled.replicas"),
	}
	if n := r.int("internal.segment.bytes"); n > 0 {
		t.SegmentBytes = n
	}
	for _, policy := range r.list("cleanup.policy") {
		t.Delete = t.Delete || policy == "delete"
		t.Compact = t.Compact || policy == "compact"
	}
	return t
}

type topicReader struct {
	layers    Layers
	overrides map[string]string
}

func (r topicReader) value(name string) any {
	d := topicTable.byName[name]
	if text, ok := r.overrides[name]; ok {
		if v, err := d.validate(text); err == nil {
			return v
		}
	}
	text, ok := r.layers.topicDefault(d)
	if !ok {
		return nil
	}
	v, err := d.validate(text)
	if err != nil {
		// A broker's own value outside the topic's range, such as an
		// unlimited time below -1: the number still says what is meant.
		v, _ = d.parse(text)
	}
	return v
}

func (r topicReader) long(name string) int64     { n, _ := r.value(name).(int64); return n }
func (r topicReader) int(name string) int32      { return int32(r.long(name)) }
func (r topicReader) double(name string) float64 { f, _ := r.value(name).(float64); return f }
func (r topicReader) bool(name string) bool      { b, _ := r.value(name).(bool); return b }
func (r topicReader) text(name string) string    { t, _ := r.value(name).(string); return t }
func (r topicReader) list(name string) []string  { l, _ := r.value(name).([]string); return l }
