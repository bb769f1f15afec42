package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kgo"

	"ringmain/cmd/ringmain/internal/feed"
	"ringmain/cmd/ringmain/internal/line"
	"ringmain/cmd/ringmain/internal/position"
	"ringmain/cmd/ringmain/internal/show"
)

// produceFlags are the flags of produce as they were given.
type produceFlags struct {
	partition   int32
	keySep      string
	key         string
	headers     []string
	delimiter   string
	compression string
	acks        string
	timestamp   string
	count       int64
	nullEmpty   bool
	wholeFiles  bool
	tee         bool
	quiet       bool
	idempotent  bool
	maxBytes    int32
	linger      time.Duration
}

func newProduceCmd() *cobra.Command {
	t := &target{}
	var f produceFlags
	cmd := &cobra.Command{
		Use:   "produce TOPIC [FILE...]",
		Short: "Write lines to a topic, one record each",
		Long: "Write lines to a topic, one record each, from files or from standard input.\n" +
			"Records with a key go to the partition that Java clients would choose. A topic that\n" +
			"does not exist is created if the broker has auto.create.topics.enable.",
		Example: "  echo hello | ringmain produce orders\n" +
			"  ringmain produce orders --key-separator : --compression zstd orders.txt\n" +
			"  ringmain produce orders --partition 2 --key k1 --header source=shop < orders.txt\n" +
			"  ringmain produce pictures --whole-files a.jpg b.jpg",
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, t, args[0], args[1:]) },
	}
	t.flags(cmd)
	fl := cmd.Flags()
	fl.Int32VarP(&f.partition, "partition", "p", -1, "partition to write to; -1: by key, or spread")
	fl.StringVarP(&f.keySep, "key-separator", "K", "", "what separates the key from the value in a line (escapes such as \\t)")
	fl.StringVarP(&f.key, "key", "k", "", "key of records whose line has none")
	fl.StringArrayVarP(&f.headers, "header", "H", nil, "header `NAME=VALUE` of every record, repeatable; without = its value is null")
	fl.StringVarP(&f.delimiter, "delimiter", "D", `\n`, "what ends a record in the input (escapes such as \\0)")
	fl.StringVarP(&f.compression, "compression", "z", "none", "none, gzip, snappy, lz4 or zstd")
	fl.StringVar(&f.acks, "acks", "all", "who must have a record before it counts: all, 1 (the leader) or 0 (nobody)")
	fl.StringVar(&f.timestamp, "timestamp", "", "timestamp of every record: milliseconds, a date, or a duration before now (default: now)")
	fl.Int64VarP(&f.count, "count", "c", 0, "stop after so many records; 0: no limit")
	fl.BoolVarP(&f.nullEmpty, "null-empty", "Z", false, "send empty keys and values as null")
	fl.BoolVar(&f.wholeFiles, "whole-files", false, "send each file as one record")
	fl.BoolVarP(&f.tee, "tee", "T", false, "copy the values to standard output")
	fl.BoolVarP(&f.quiet, "quiet", "q", false, "print nothing when it went well")
	fl.BoolVar(&f.idempotent, "idempotent", true, "let the broker drop what a retry sends twice (needs --acks all)")
	fl.Int32Var(&f.maxBytes, "max-message-bytes", 1_000_012, "largest batch, in bytes; also the longest line")
	fl.DurationVar(&f.linger, "linger", 5*time.Millisecond, "how long to wait for more records before sending")
	return cmd
}

// shape checks the flags that say how a line becomes a record.
func (f *produceFlags) shape(cmd *cobra.Command, topic string) (feed.Shape, error) {
	s := feed.Shape{Topic: topic, Partition: f.partition, TimestampMs: -1, NullEmpty: f.nullEmpty}
	if f.partition < -1 {
		return s, usagef("--partition %d must be 0 or more, or -1", f.partition)
	}
	var err error
	if f.keySep != "" {
		if s.KeySeparator, err = line.Separator(f.keySep); err != nil {
			return s, usagef("--key-separator: %w", err)
		}
	}
	if cmd.Flags().Changed("key") {
		s.Key = []byte(f.key)
	}
	for _, h := range f.headers {
		header, err := feed.ParseHeader(h)
		if err != nil {
			return s, usagef("--header: %w", err)
		}
		s.Headers = append(s.Headers, header)
	}
	if f.timestamp != "" {
		if s.TimestampMs, err = position.ParseTime(f.timestamp, time.Now()); err != nil {
			return s, usagef("--timestamp: %w", err)
		}
	}
	return s, nil
}

var codecs = map[string]kgo.CompressionCodec{
	"none":   kgo.NoCompression(),
	"gzip":   kgo.GzipCompression(),
	"snappy": kgo.SnappyCompression(),
	"lz4":    kgo.Lz4Compression(),
	"zstd":   kgo.ZstdCompression(),
}

// client checks the flags that say how to send, and returns the options.
func (f *produceFlags) client(cmd *cobra.Command) ([]kgo.Opt, error) {
	codec, ok := codecs[f.compression]
	if !ok {
		return nil, usagef("--compression %q is not known; use none, gzip, snappy, lz4 or zstd", f.compression)
	}
	if f.maxBytes < 1 {
		return nil, usagef("--max-message-bytes %d must be more than 0", f.maxBytes)
	}
	if f.linger < 0 || f.linger > time.Minute {
		return nil, usagef("--linger %v must be from 0 to 1m", f.linger)
	}
	opts := []kgo.Opt{
		feed.Partitioner(f.partition),
		kgo.ProducerBatchCompression(codec),
		kgo.ProducerBatchMaxBytes(f.maxBytes),
		kgo.BrokerMaxWriteBytes(max(100<<20, f.maxBytes)),
		kgo.ProducerLinger(f.linger),
		kgo.AllowAutoTopicCreation(),
		kgo.UnknownTopicRetries(10), // creating a topic takes a moment
	}
	switch f.acks {
	case "all", "-1":
		if !f.idempotent {
			opts = append(opts, kgo.DisableIdempotentWrite())
		}
		return append(opts, kgo.RequiredAcks(kgo.AllISRAcks())), nil
	case "0", "1":
		if f.idempotent && cmd.Flags().Changed("idempotent") {
			return nil, usagef("--idempotent needs --acks all")
		}
		acks := kgo.LeaderAck()
		if f.acks == "0" {
			acks = kgo.NoAck()
		}
		return append(opts, kgo.DisableIdempotentWrite(), kgo.RequiredAcks(acks)), nil
	}
	return nil, usagef("--acks %q is not known; use all, 1 or 0", f.acks)
}

func (f *produceFlags) run(cmd *cobra.Command, t *target, topic string, files []string) error {
	shape, err := f.shape(cmd, topic)
	if err != nil {
		return err
	}
	opts, err := f.client(cmd)
	if err != nil {
		return err
	}
	format, err := t.format()
	if err != nil {
		return err
	}
	if f.tee && format == show.JSON {
		return usagef("--tee writes values to standard output, where --output json writes its document; use one of them")
	}
	src, total, err := f.source(cmd, files)
	if err != nil {
		return err
	}
	ctx, c, done, err := t.open(cmd, opts...)
	if err != nil {
		return err
	}
	defer done()
	progress := show.NewProgress(cmd.ErrOrStderr(), "produce", "bytes", total)
	if total == 0 && show.Terminal(cmd.InOrStdin()) {
		progress = nil // somebody is typing; a bar would write over it
	}
	o := feed.Options{Shape: shape, Count: f.count, Patience: t.timeout, Acked: func(n int) { progress.Add(int64(n) + 1) }}
	if f.tee {
		sep, _ := line.Separator(f.delimiter)
		o.Sent = func(r *kgo.Record) error {
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "%s%s", r.Value, sep)
			return err
		}
	}
	result, err := feed.Run(ctx, c, src, o)
	progress.Stop()
	if err != nil && result.Records > 0 {
		err = fmt.Errorf("%w (%d records were acknowledged before)", err, result.Records)
	}
	return f.report(cmd, t, result, err)
}

// report prints what was produced, also when it ended in an error.
func (f *produceFlags) report(cmd *cobra.Command, t *target, r feed.Result, failure error) error {
	var failures []error
	if failure != nil {
		failures = append(failures, failure)
	}
	grid := show.NewGrid("PARTITION", "RECORDS", "FIRST OFFSET", "LAST OFFSET")
	for i, p := range r.Partitions {
		if f.acks == "0" { // nobody said where they are
			p.FirstOffset, p.LastOffset = -1, -1
			r.Partitions[i] = p
		}
		grid.Row(p.Partition, p.Records, offsetCell(p.FirstOffset), offsetCell(p.LastOffset))
	}
	if f.quiet || f.tee {
		if failure != nil {
			return failure
		}
		return nil
	}
	return printed(cmd, t, r, grid, failures)
}
