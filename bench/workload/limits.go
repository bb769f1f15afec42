package workload

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// The limits of a Spec. They are far beyond what makes sense on one machine and
// keep a slip of the keyboard from filling a disk or a memory.
const (
	MaxTopics         = 1000
	MaxPartitions     = 100_000 // of all topics together
	MaxReplication    = 32
	MaxRecordBytes    = 64 << 20
	MaxBatchBytes     = 64 << 20
	MaxKeyBytes       = 4096
	MaxConnections    = 200_000
	MaxConsumers      = 10_000
	MaxInFlight       = 10_000
	MaxFetchBytes     = 1 << 30
	MaxFetchWait      = time.Minute
	MaxLinger         = time.Minute
	MaxFillBytes      = 16 << 40
	MaxRecordsPerSec  = 1e9
	MaxDuration       = 7 * 24 * time.Hour
	MinDuration       = 100 * time.Millisecond
	MaxNameLength     = 249 // as Kafka's topics
	maxIdempotentSent = 5   // more are not kept in order
)

// Codecs are the names of the codecs, and the levels each has; 0 is always
// allowed and is the codec's default.
var codecLevels = map[string][2]int{
	"none": {0, 0}, "gzip": {1, 9}, "snappy": {0, 0}, "lz4": {1, 9}, "zstd": {1, 22},
}

// Validate says everything that is wrong with s, not just the first thing.
func (s Spec) Validate() error {
	v := &validation{}
	v.oneOf("kind", string(s.Kind), kindNames()...)
	v.oneOf("engine", s.Engine, Replay, Franz)
	v.within("topics", int64(s.Topics), 1, MaxTopics)
	v.within("partitions", int64(s.Partitions), 1, MaxPartitions)
	v.that(s.Topics*s.Partitions <= MaxPartitions, "%d topics of %d partitions are more than %d partitions", s.Topics, s.Partitions, MaxPartitions)
	v.that(s.Topic == "" || s.Topics == 1, "topic %q is one topic, and topics is %d; name none to have them made", s.Topic, s.Topics)
	v.that(len(s.Topic) <= MaxNameLength, "topic has %d characters; %d are allowed", len(s.Topic), MaxNameLength)
	v.within("replication_factor", int64(s.ReplicationFactor), 1, MaxReplication)
	v.within("connections", int64(s.Connections), 1, MaxConnections)
	v.within("in_flight", int64(s.InFlight), 1, MaxInFlight)
	v.that(s.Duration >= MinDuration && s.Duration <= MaxDuration, "duration %v is not from %v to %v", s.Duration, MinDuration, MaxDuration)
	v.that(s.WarmUp >= 0 && s.WarmUp <= MaxDuration, "warm_up %v is not from 0 to %v", s.WarmUp, MaxDuration)
	v.that(finite(s.Rate.Records) && finite(s.Rate.Bytes) && (s.Rate.Records == 0 || s.Rate.Bytes == 0), "rate %v is neither records nor bytes a second", s.Rate)
	s.validateRecords(v)
	s.validateProducing(v)
	s.validateFetching(v)
	if len(v.faults) == 0 {
		return nil
	}
	return fmt.Errorf("workload %s: %w", pickName(s.Name), errors.Join(v.faults...))
}

func (s Spec) validateRecords(v *validation) {
	v.that(s.Record.Min() >= 0 && s.Record.Max() <= MaxRecordBytes, "record_size %v is not from 0 to %d bytes", s.Record, MaxRecordBytes)
	v.that(s.Rate.Bytes == 0 || s.Record.Mean() > 0, "a rate in bytes cannot be reached with records that have none")
	if n := s.Rate.RecordsPerSecond(max(s.Record.Mean(), 1)); n > MaxRecordsPerSec {
		v.that(false, "rate %v is more than %.0f records a second; use max", s.Rate, float64(MaxRecordsPerSec))
	}
	v.oneOf("keys", s.Key.Form, NoKeys, UniformKeys, ZipfKeys)
	if s.Key.Form != NoKeys {
		v.within("key_size", int64(s.Key.Bytes), 1, MaxKeyBytes)
		v.that(s.Key.Keys >= 1, "keys %v: at least one key is needed", s.Key)
		if room := math.Pow(16, float64(s.Key.Bytes)); float64(s.Key.Keys) > room {
			v.that(false, "keys %v: there are only %.0f keys of %d bytes", s.Key, room, s.Key.Bytes)
		}
	}
	v.that(s.Compressibility >= 0 && s.Compressibility <= 1, "compressibility %v is not from 0 to 1", s.Compressibility)
}

func (s Spec) validateProducing(v *validation) {
	v.within("batch_bytes", int64(s.BatchBytes), 1, MaxBatchBytes)
	v.that(s.Linger >= 0 && s.Linger <= MaxLinger, "linger %v is not from 0 to %v", s.Linger, MaxLinger)
	levels, ok := codecLevels[s.Codec]
	v.that(ok, "codec %q is not known; use none, gzip, snappy, lz4 or zstd", s.Codec)
	v.that(!ok || s.Level == 0 || s.Level >= levels[0] && s.Level <= levels[1], "level %d: %s has levels %d to %d", s.Level, s.Codec, levels[0], levels[1])
	v.that(s.Acks >= -1 && s.Acks <= 1, "acks %d is not -1 (all), 1 or 0", s.Acks)
	if s.Idempotent {
		v.that(s.Acks == -1, "idempotent needs acks -1 (all), not %d", s.Acks)
		v.that(s.InFlight <= maxIdempotentSent, "idempotent allows %d in_flight, not %d", maxIdempotentSent, s.InFlight)
	}
	v.that(s.Kind != EndToEnd || s.Acks != 0 || s.Rate.Records+s.Rate.Bytes > 0, "end to end at rate max with acks 0 has nothing that bounds it")
}

func (s Spec) validateFetching(v *validation) {
	v.within("consumers", int64(s.Consumers), 1, MaxConsumers)
	v.oneOf("fetch_mode", s.FetchMode, Tail, CatchUp, Random)
	v.within("fetch_max_bytes", int64(s.FetchMaxBytes), 1, MaxFetchBytes)
	v.within("fetch_min_bytes", int64(s.FetchMinBytes), 0, MaxFetchBytes)
	v.that(s.FetchMaxWait >= 0 && s.FetchMaxWait <= MaxFetchWait, "fetch_max_wait %v is not from 0 to %v", s.FetchMaxWait, MaxFetchWait)
	v.that(s.FillBytes >= 0 && s.FillBytes <= MaxFillBytes, "fill %d is not from 0 to %d bytes", s.FillBytes, int64(MaxFillBytes))
	v.that(!s.Fills() || s.Topic != "" || s.FillBytes > 0, "fetch_mode %s of a new topic needs a fill above 0: there would be nothing to fetch", s.FetchMode)
	v.that(s.Kind != EndToEnd || s.FetchMode == Tail, "end to end reads records as they come: fetch_mode must be tail, not %s", s.FetchMode)
}

// validation gathers faults.
type validation struct{ faults []error }

func (v *validation) that(ok bool, format string, args ...any) {
	if !ok {
		v.faults = append(v.faults, fmt.Errorf(format, args...))
	}
}

func (v *validation) within(key string, n, low, high int64) {
	v.that(n >= low && n <= high, "%s %d is not from %d to %d", key, n, low, high)
}

func (v *validation) oneOf(key, got string, allowed ...string) {
	v.that(slices.Contains(allowed, got), "%s %q is not known; use %s", key, got, strings.Join(allowed, ", "))
}

func kindNames() (names []string) {
	for _, k := range Kinds() {
		names = append(names, string(k))
	}
	return names
}

func finite(f float64) bool { return f >= 0 && !math.IsInf(f, 0) && !math.IsNaN(f) }

func pickName(name string) string {
	if name == "" {
		return "without a name"
	}
	return name
}
