package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kgo"

	"ringmain/cmd/ringmain/internal/connection"
	"ringmain/cmd/ringmain/internal/line"
	"ringmain/cmd/ringmain/internal/position"
	"ringmain/cmd/ringmain/internal/show"
	"ringmain/cmd/ringmain/internal/tail"
)

// consumeFlags are the flags of consume as they were given.
type consumeFlags struct {
	partitions    []int32
	offsets       []string
	fromBeginning bool
	fromEnd       bool
	fromTime      string
	untilTime     string
	last          int64
	count         int64
	exit          bool
	format        string
	keySep        string
	delimiter     string
	showNull      bool
	jsonLines     bool
	isolation     string
	unbuffered    bool
	group         string
	protocol      string
	commit        string
}

func newConsumeCmd() *cobra.Command {
	t := &target{}
	var f consumeFlags
	cmd := &cobra.Command{
		Use:   "consume TOPIC",
		Short: "Read the records of a topic",
		Long: "Read the records of a topic, from its beginning unless told otherwise, until\n" +
			"interrupted or until the end that was asked for. Without --group no group is joined\n" +
			"and no offset is committed.\n\n" +
			"Groups (--group): the group gives this member its share of the partitions. Each is\n" +
			"read from the group's committed offset; where to start, as above, holds for partitions\n" +
			"without one. An interrupt commits what was printed, and leaves the group at once.\n\n" +
			"Offsets (--offset): beginning, end, a number, -N for the last N of each partition,\n" +
			"s@TIME to start and e@TIME to end at a time. A time is milliseconds since 1970, a\n" +
			"date such as 2026-01-31T09:00:00Z, or a duration before now such as 15m or 7d.\n\n" +
			"Format (--format): %s value, %k key, %h headers, %t topic, %p partition, %o offset,\n" +
			"%T timestamp, %e leader epoch, %S and %K lengths of value and key (-1 for null),\n" +
			"%R length of the value as four bytes, %% a percent sign; \\n \\r \\t \\0 \\xHH.",
		Example: "  ringmain consume orders --exit\n" +
			"  ringmain consume orders --partition 0 --offset 1500 --count 10\n" +
			"  ringmain consume orders --last 5 --exit --format '%p:%o %k=%s\\n'\n" +
			"  ringmain consume orders --from-time 15m --key-separator :\n" +
			"  ringmain consume orders --exit --output json\n" +
			"  ringmain consume orders --group billing --commit batch",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, t, args[0]) },
	}
	t.flags(cmd)
	fl := cmd.Flags()
	fl.Int32SliceVarP(&f.partitions, "partition", "p", nil, "partitions to read, repeatable or with commas (default: all)")
	fl.StringArrayVarP(&f.offsets, "offset", "o", nil, "where to start, or to end: see above; repeatable")
	fl.BoolVar(&f.fromBeginning, "from-beginning", false, "start at the beginning (the default)")
	fl.BoolVar(&f.fromEnd, "from-end", false, "only what comes from now on")
	fl.StringVar(&f.fromTime, "from-time", "", "start at a `TIME`")
	fl.StringVar(&f.untilTime, "until-time", "", "end before a `TIME`")
	fl.Int64Var(&f.last, "last", 0, "start `N` records before the end of each partition")
	fl.Int64VarP(&f.count, "count", "c", 0, "stop after so many records; 0: no limit")
	fl.BoolVarP(&f.exit, "exit", "e", false, "stop at the end, as it is when the command starts")
	fl.StringVarP(&f.format, "format", "f", "", "format string: see above")
	fl.StringVarP(&f.keySep, "key-separator", "K", "", "print the key and this before the value")
	fl.StringVarP(&f.delimiter, "delimiter", "D", `\n`, "what to print after each record")
	fl.BoolVarP(&f.showNull, "show-null", "Z", false, "print null keys and values as NULL instead of nothing")
	fl.BoolVarP(&f.jsonLines, "json-lines", "J", false, "print one JSON object per line, as records come")
	fl.StringVar(&f.isolation, "isolation", "read_committed", "read_committed leaves out records of open and aborted transactions; read_uncommitted does not")
	fl.BoolVarP(&f.unbuffered, "unbuffered", "u", false, "write each record at once")
	fl.StringVarP(&f.group, "group", "G", "", "read as a member of this group")
	fl.StringVar(&f.protocol, "protocol", "classic", "of the group: classic, or consumer (KIP-848, Kafka 4.0 or newer)")
	fl.StringVar(&f.commit, "commit", "auto", "when to commit what was printed: auto (every 5 seconds and at the end), batch (each time it was written), never")
	cmd.MarkFlagsMutuallyExclusive("group", "partition")
	cmd.MarkFlagsMutuallyExclusive("offset", "from-beginning", "from-end", "from-time", "last")
	cmd.MarkFlagsMutuallyExclusive("format", "key-separator", "json-lines")
	cmd.MarkFlagsMutuallyExclusive("format", "delimiter")
	return cmd
}

// options checks the flags that say what to read.
func (f *consumeFlags) options(cmd *cobra.Command, topic string) (tail.Options, error) {
	o := tail.Options{Topic: topic, Partitions: f.partitions, ExitAtEnd: f.exit, Count: f.count}
	offsets := f.offsets
	switch {
	case f.fromEnd:
		offsets = []string{"end"}
	case f.fromTime != "":
		offsets = []string{"s@" + f.fromTime}
	case cmd.Flags().Changed("last"):
		if f.last < 1 {
			return o, usagef("--last %d must be more than 0", f.last)
		}
		offsets = []string{fmt.Sprintf("-%d", f.last)}
	}
	if f.untilTime != "" {
		offsets = append(slices.Clone(offsets), "e@"+f.untilTime)
	}
	var err error
	if o.Range, err = position.ParseOffsets(offsets, time.Now()); err != nil {
		return o, usageError{err}
	}
	seen := map[int32]bool{}
	for _, p := range f.partitions {
		if p < 0 || seen[p] {
			return o, usagef("--partition %d is negative or given twice", p)
		}
		seen[p] = true
	}
	if f.count < 0 {
		return o, usagef("--count %d must be 0 or more", f.count)
	}
	switch f.isolation {
	case "read_committed":
		o.ReadCommitted = true
	case "read_uncommitted":
	default:
		return o, usagef("--isolation %q is not known; use read_committed or read_uncommitted", f.isolation)
	}
	return o, nil
}

// member checks the flags that say how to read in a group.
func (f *consumeFlags) member(cmd *cobra.Command) (tail.GroupOptions, error) {
	g := tail.GroupOptions{Group: f.group, Commit: tail.Commit(f.commit)}
	if f.group == "" {
		for _, flag := range []string{"group", "protocol", "commit"} {
			if cmd.Flags().Changed(flag) {
				return g, usagef("--%s needs a group: --group NAME", flag)
			}
		}
		return g, nil
	}
	switch f.protocol {
	case "classic":
	case "consumer":
		g.Consumer = true
	default:
		return g, usagef("--protocol %q is not known; use classic or consumer", f.protocol)
	}
	switch g.Commit {
	case tail.CommitAuto, tail.CommitBatch, tail.CommitNever:
		return g, nil
	}
	return g, usagef("--commit %q is not known; use auto, batch or never", f.commit)
}

// printer makes of a record what goes to standard output.
type printer interface {
	// Record appends the text of one record.
	Record(dst []byte, r *kgo.Record) ([]byte, error)
	// Close appends what ends the output.
	Close(dst []byte) []byte
}

func (f *consumeFlags) printer(t *target) (printer, error) {
	format, err := t.format()
	if err != nil {
		return nil, err
	}
	if format == show.JSON {
		if f.format != "" || f.keySep != "" || f.jsonLines {
			return nil, usagef("--output json prints one JSON document; --format, --key-separator and --json-lines have no place in it")
		}
		return &arrayPrinter{}, nil
	}
	if f.jsonLines {
		return jsonLinePrinter{}, nil
	}
	null := ""
	if f.showNull {
		null = "NULL"
	}
	text := f.format
	if text == "" {
		if _, err := line.Separator(f.delimiter); err != nil {
			return nil, usagef("--delimiter: %w", err)
		}
		text = "%s" + escapePercent(f.delimiter)
		if f.keySep != "" {
			text = "%k" + escapePercent(f.keySep) + text
		}
	}
	p, err := line.ParseFormat(text, null)
	if err != nil {
		return nil, usagef("--format: %w", err)
	}
	return linePrinter{p}, nil
}

func (f *consumeFlags) run(cmd *cobra.Command, t *target, topic string) error {
	o, err := f.options(cmd, topic)
	if err != nil {
		return err
	}
	g, err := f.member(cmd)
	if err != nil {
		return err
	}
	p, err := f.printer(t)
	if err != nil {
		return err
	}
	read, options := func(ctx context.Context, c *connection.Conn, h tail.Hooks) error { return tail.Run(ctx, c, o, h) }, tail.ClientOptions(o)
	if g.Group != "" {
		m := tail.NewMember(o, g)
		read, options = m.Run, m.ClientOptions()
	}
	ctx, c, done, err := t.open(cmd, options...)
	if err != nil {
		return err
	}
	defer done()
	out := &output{w: bufio.NewWriterSize(cmd.OutOrStdout(), 64<<10), p: p, unbuffered: f.unbuffered}
	var progress *show.Progress
	if !show.Terminal(cmd.OutOrStdout()) {
		defer func() { progress.Stop() }()
	}
	err = read(ctx, c, tail.Hooks{
		Record: func(r *kgo.Record) error { progress.Add(1); return out.record(r) },
		Idle:   out.w.Flush,
		Warn:   func(sentence string) { progress.Stop(); warn(cmd, "%s", sentence) },
		Plan: func(total int64) {
			// On a terminal the records themselves are the progress.
			if o.Count > 0 && (total == 0 || o.Count < total) {
				total = o.Count
			}
			if !show.Terminal(cmd.OutOrStdout()) {
				progress = show.NewProgress(cmd.ErrOrStderr(), "consume", "records", total)
			}
		},
	})
	if err == context.Canceled || errors.Is(err, context.Canceled) && g.Group == "" {
		err = nil // an interrupt is how reading without an end ends
	}
	// What was read is printed, and a document is completed, whatever happened.
	return errors.Join(err, out.close())
}

// output writes printed records.
type output struct {
	w          *bufio.Writer
	p          printer
	buf        []byte
	unbuffered bool
}

func (o *output) record(r *kgo.Record) (err error) {
	if o.buf, err = o.p.Record(o.buf[:0], r); err != nil {
		return err
	}
	if _, err := o.w.Write(o.buf); err != nil {
		return fmt.Errorf("write a record: %w", err)
	}
	if o.unbuffered {
		return o.w.Flush()
	}
	return nil
}

func (o *output) close() error {
	if _, err := o.w.Write(o.p.Close(nil)); err != nil {
		return fmt.Errorf("write the end: %w", err)
	}
	if err := o.w.Flush(); err != nil {
		return fmt.Errorf("write a record: %w", err)
	}
	return nil
}
