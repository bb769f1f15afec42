package franz

import (
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
	"github.com/twmb/franz-go/pkg/kgo"

	"ringmain/bench/load"
	"ringmain/bench/workload"
	"ringmain/record"
)

const (
	// minBatchBytes is the smallest bound of a batch that franz-go takes.
	minBatchBytes = 512
	// recordRoom is more than a record needs in a batch beside its key and value.
	recordRoom = 64
	// readRoom is more than an answer needs beside what was asked for: a first
	// batch that is longer is answered as a whole.
	readRoom = 64 << 20
	// maxWireBytes is the longest request and answer that franz-go takes.
	maxWireBytes = 1 << 30
	// A client of an open loop that is ahead of the broker keeps so many records,
	// and all together so many bytes; then it waits.
	openRecords = 10_000
	openBytes   = 256 << 20
)

// clientOptions are those of every client: how to reach the cluster, and nothing
// sent beside the load.
func clientOptions(env *load.Env, more ...kgo.Opt) []kgo.Opt {
	opts := append([]kgo.Opt{}, env.Client...)
	if len(env.Client) == 0 {
		opts = append(opts, kgo.SeedBrokers(env.Bootstrap...))
	}
	return append(append(opts, kgo.DisableClientMetrics()), more...)
}

func producerOptions(s *workload.Spec) []kgo.Opt {
	largest := s.Record.Max() + keyBytes(s) + recordRoom
	batch := max(s.BatchBytes, largest+record.HeaderSize, minBatchBytes)
	opts := []kgo.Opt{
		kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.ProducerLinger(s.Linger),
		kgo.ProducerBatchMaxBytes(int32(batch)),
		kgo.BrokerMaxWriteBytes(int32(min(maxWireBytes, batch+readRoom))),
		kgo.ProducerBatchCompression(codec(s.Codec, s.Level)),
		kgo.RequiredAcks(acks(s.Acks)),
	}
	if !s.Idempotent {
		opts = append(opts, kgo.DisableIdempotentWrite(), kgo.MaxProduceRequestsInflightPerBroker(s.InFlight))
	}
	bound, group := roomOf(s)
	// More than ever are in it: room decides.
	return append(opts, kgo.MaxBufferedRecords(2*(bound+group)))
}

// roomOf is how many records a producer has under way, and how many of them it
// sends together. A closed loop has its requests full of batches; an open loop
// has more, to be able to go on while the broker is slow, and sends what is due.
func roomOf(s *workload.Spec) (bound, group int) {
	batch := recordsPerBatch(s)
	if s.Rate.Max() {
		return s.InFlight * batch, batch
	}
	bytes := openBytes / s.Connections / max(1, int(s.Record.Mean())+keyBytes(s))
	return max(s.InFlight*batch, min(openRecords, bytes)), 1
}

// recordsPerBatch is how many records of mean size fit into a batch.
func recordsPerBatch(s *workload.Spec) int {
	// What a record of some hundred bytes takes beside its key and value.
	const beside = 8
	each := int(s.Record.Mean()) + keyBytes(s) + beside
	return max(1, (s.BatchBytes-record.HeaderSize)/each)
}

func keyBytes(s *workload.Spec) int {
	if s.Key.Form == workload.NoKeys {
		return 0
	}
	return s.Key.Bytes
}

func acks(n int) kgo.Acks {
	switch n {
	case 0:
		return kgo.NoAck()
	case 1:
		return kgo.LeaderAck()
	}
	return kgo.AllISRAcks()
}

// codec is the codec with the level that a workload names; franz-go wants the
// levels of the libraries.
func codec(name string, level int) kgo.CompressionCodec {
	switch name {
	case "gzip":
		c := kgo.GzipCompression()
		if level != 0 {
			c = c.WithLevel(level)
		}
		return c
	case "snappy":
		return kgo.SnappyCompression()
	case "lz4":
		c := kgo.Lz4Compression()
		if level != 0 {
			c = c.WithLevel(int(lz4.Level1) << (level - 1))
		}
		return c
	case "zstd":
		c := kgo.ZstdCompression()
		if level != 0 {
			c = c.WithLevel(int(zstd.EncoderLevelFromZstd(level)))
		}
		return c
	}
	return kgo.NoCompression()
}

func consumerOptions(s *workload.Spec, from map[string]map[int32]kgo.Offset) []kgo.Opt {
	opts := []kgo.Opt{
		kgo.ConsumePartitions(from),
		kgo.FetchMaxBytes(int32(s.FetchMaxBytes)),
		kgo.FetchMaxPartitionBytes(int32(s.FetchMaxBytes)),
		kgo.FetchMinBytes(int32(s.FetchMinBytes)),
		kgo.FetchMaxWait(s.FetchMaxWait),
		kgo.BrokerMaxReadBytes(int32(min(maxWireBytes, s.FetchMaxBytes+readRoom))),
		// An answer that says no is part of what is measured, also when the client
		// knows what to do.
		kgo.KeepRetryableFetchErrors(),
		// The end of a log can be a record that is not data, and reading up to
		// there must be seen.
		kgo.KeepControlRecords(),
		// Records that are gone before they were read are a fault to be seen, not
		// to be passed over.
		kgo.ConsumeResetOffset(kgo.NoResetOffset()),
	}
	if s.FetchMode == workload.Random {
		// What is fetched ahead would be thrown away.
		opts = append(opts, kgo.MaxConcurrentFetches(0))
	}
	return opts
}
