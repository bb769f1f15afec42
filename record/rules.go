package record

// Rules are what a topic's configuration says about its batches. Immutable and
// shared; the key is named behind each field.
type Rules struct {
	MaxMessageBytes      int32 // max.message.bytes: largest batch as sent, and as stored
	SegmentBytes         int32 // segment.bytes
	Compacted            bool  // cleanup.policy has compact: every record needs a key
	LogAppendTime        bool  // message.timestamp.type
	TimestampBeforeMaxMs int64 // message.timestamp.before.max.ms
	TimestampAfterMaxMs  int64 // message.timestamp.after.max.ms
	CompressionProducer  bool  // compression.type=producer: store as sent
	Compression          Codec // compression.type otherwise; None for uncompressed
	CompressionLevel     int   // compression.<codec>.level; 0 is the codec's default
}

// target is the codec in which a batch sent with codec c is stored.
func (r *Rules) target(c Codec) Codec {
	if r.CompressionProducer {
		return c
	}
	return r.Compression
}

// Heavy reports whether validating records means decompressing or compressing,
// so that it must not run on a connection's loop. It believes the header of the
// first batch and is cheap; bytes that are no batch are not heavy.
func Heavy(records []byte, rules *Rules) bool {
	if len(records) < HeaderSize || int8(records[posMagic]) != Magic {
		return false
	}
	c := Batch(records).Codec()
	return c != None || rules.target(c) != None
}
