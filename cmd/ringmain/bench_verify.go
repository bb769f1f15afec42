package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"ringmain/bench"
	"ringmain/bench/audit"
	"ringmain/bench/workload"
	"ringmain/cmd/ringmain/internal/show"
)

// verifyFlags are the flags of bench verify as they were given.
type verifyFlags struct {
	topic       string
	existing    bool
	partitions  int32
	replication int16
	configs     []string
	recordSize  string
	batchBytes  string
	codec       string
	rate        string
	records     int64
	duration    time.Duration
	state       string
	resume      string
	remove      bool
	patience    time.Duration
	verbose     bool
}

// verifyFor is how long records are written when nobody says when to stop.
const verifyFor = 10 * time.Second

func newBenchVerifyCmd() *cobra.Command {
	t := &target{}
	var f verifyFlags
	cmd := &cobra.Command{
		Use:   "verify",
		Short: "Check that a broker keeps what it acknowledges",
		Long: "Write records that can be told apart, with acks=all, read back all that was acknowledged\n" +
			"and check it: nothing lost, twice, out of order or damaged. Brokers may be killed and\n" +
			"restarted meanwhile.\n\n" +
			"With --state the account is kept in a file, and the check goes on later with --resume:\n" +
			"after a power cut, on another machine. The topic stays until --remove. A topic in which\n" +
			"something is wrong always stays.",
		Example: "  ringmain bench verify --duration 30s\n" +
			"  ringmain bench verify --records 1000000 --state account.json\n" +
			"  ringmain bench verify --resume account.json\n" +
			"  ringmain bench verify --resume account.json --duration 10s --remove",
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd, t) },
	}
	t.ownFlags(cmd, "bootstrap", "command-config", "output", "timeout")
	fl := cmd.Flags()
	fl.StringVar(&f.topic, "topic", "", "`NAME` of the topic; made if --existing does not say that it is there (default: a new name)")
	fl.BoolVar(&f.existing, "existing", false, "the topic is there already, and records may be written to it; it stays")
	fl.Int32Var(&f.partitions, "partitions", 8, "partitions of the topic that is made")
	fl.Int16Var(&f.replication, "replication-factor", -1, "replicas of each partition; -1 leaves it to the broker")
	fl.StringArrayVar(&f.configs, "topic-config", nil, "config `KEY=VALUE` of the topic that is made, repeatable")
	fl.StringVar(&f.recordSize, "record-size", "1KiB", "bytes of a record's value, a `SIZE` of at least "+fmt.Sprint(audit.StampBytes))
	fl.StringVar(&f.batchBytes, "batch-bytes", "64KiB", "longest batch, a `SIZE`")
	fl.StringVar(&f.codec, "codec", "none", "compression: none, gzip, snappy, lz4 or zstd")
	fl.StringVar(&f.rate, "rate", "max", "records a second or bytes a second (100MB), or max: as fast as they are acknowledged")
	fl.Int64Var(&f.records, "records", 0, "stop writing after so many records; 0: no limit")
	fl.DurationVar(&f.duration, "duration", 0, "stop writing after this time (default 10s, without --records and --resume)")
	fl.StringVar(&f.state, "state", "", "keep the account in a new `FILE`, to resume from")
	fl.StringVar(&f.resume, "resume", "", "go on with the account in `FILE`; without --records and --duration nothing more is written")
	fl.BoolVar(&f.remove, "remove", false, "delete the topic that was made, and the account, when nothing is wrong")
	fl.DurationVar(&f.patience, "patience", 2*time.Minute, "how long the brokers may be away")
	fl.BoolVarP(&f.verbose, "verbose", "v", false, "say on standard error what is being done")
	cmd.MarkFlagsMutuallyExclusive("state", "resume")
	for _, fixed := range []string{"topic", "existing", "partitions", "replication-factor", "topic-config", "record-size"} {
		cmd.MarkFlagsMutuallyExclusive("resume", fixed)
	}
	for _, made := range []string{"partitions", "replication-factor", "topic-config", "remove"} {
		cmd.MarkFlagsMutuallyExclusive("existing", made)
	}
	return cmd
}

// options checks the flags and returns what they ask for.
func (f *verifyFlags) options(cmd *cobra.Command) (bench.VerifyOptions, error) {
	o := bench.VerifyOptions{
		Topic: f.topic, Existing: f.existing, Partitions: f.partitions, Replication: f.replication,
		Records: f.records, Duration: f.duration,
		StatePath: cmp.Or(f.resume, f.state), Resume: f.resume != "", Remove: f.remove,
		Patience: f.patience, Log: benchLog(cmd, f.verbose),
	}
	if o.Records == 0 && o.Duration == 0 && !o.Resume {
		o.Duration = verifyFor
	}
	if f.remove && o.StatePath == "" {
		return o, usagef("--remove needs --state or --resume: without an account the topic is deleted anyway")
	}
	if f.resume != "" {
		if _, err := os.Stat(f.resume); err != nil {
			return o, usagef("--resume: there is no account: %w", err)
		}
	}
	size, err := workload.ParseBytes(f.recordSize)
	if err != nil {
		return o, usagef("--record-size: %w", err)
	}
	o.ValueBytes = int(size)
	batch, err := workload.ParseBytes(f.batchBytes)
	if err != nil || batch < 1 || batch > workload.MaxBatchBytes {
		return o, usagef("--batch-bytes %q is not a size from 1 to %s", f.batchBytes, workload.FormatBytes(workload.MaxBatchBytes))
	}
	o.BatchBytes = int32(batch)
	rate, err := workload.ParseRate(f.rate)
	if err != nil {
		return o, usagef("--rate: %w", err)
	}
	o.Rate = rate.RecordsPerSecond(float64(max(size, 1)))
	codec, ok := codecs[f.codec]
	if !ok {
		return o, usagef("--codec %q is not known; use none, gzip, snappy, lz4 or zstd", f.codec)
	}
	o.Codec = codec
	configs, err := keyValues(f.configs)
	if err != nil {
		return o, err
	}
	for _, kv := range configs {
		if o.TopicConfig == nil {
			o.TopicConfig = map[string]*string{}
		}
		o.TopicConfig[kv[0]] = &kv[1]
	}
	if err := o.Check(); err != nil {
		return o, usageError{err}
	}
	return o, writable(map[string]string{"state": f.state})
}

func (f *verifyFlags) run(cmd *cobra.Command, t *target) error {
	o, err := f.options(cmd)
	if err != nil {
		return err
	}
	ctx, c, done, err := t.open(cmd)
	if err != nil {
		return err
	}
	defer done()
	o.Client = c.Opts()
	gauge := show.NewGauge(cmd.ErrOrStderr())
	if gauge != nil {
		o.Progress = func(p bench.VerifyProgress) { drawVerify(gauge, o, p) }
	}
	r, err := bench.Verify(ctx, o)
	gauge.Stop()
	if r == nil {
		return explained(c, err)
	}
	return errors.Join(printed(cmd, t, r, nil, nil), f.write(cmd, t, r), err)
}

// write prints the report for people.
func (f *verifyFlags) write(cmd *cobra.Command, t *target, r *bench.VerifyReport) error {
	if format, _ := t.format(); format == show.JSON {
		return nil
	}
	return writeVerify(cmd.OutOrStdout(), r)
}

// drawVerify shows how far a verification is. Writing is measured by the bound
// that comes first.
func drawVerify(g *show.Gauge, o bench.VerifyOptions, p bench.VerifyProgress) {
	seconds := max(p.Elapsed.Seconds(), 0.001)
	if p.Phase != "write" {
		share := 1.0
		if p.ToRead > 0 {
			share = float64(p.Read) / float64(p.ToRead)
		}
		g.Show(p.Phase, share, fmt.Sprintf("%s of %s records, %s/s", show.Count(p.Read), show.Count(p.ToRead), show.Count(int64(float64(p.Read)/seconds))))
		return
	}
	share := 0.0
	if o.Records > 0 {
		share = float64(p.Acked) / float64(o.Records)
	}
	if o.Duration > 0 {
		share = max(share, seconds/o.Duration.Seconds())
	}
	g.Show(p.Phase, share, fmt.Sprintf("%s records acknowledged, %s without an answer, %s/s", show.Count(p.Acked), show.Count(p.Sent-p.Acked), show.Count(int64(float64(p.Acked)/seconds))))
}

func writeVerify(w io.Writer, r *bench.VerifyReport) error {
	v := r.Verdict
	grid := show.NewGrid("VERIFIED", "")
	grid.Row("topic", r.Topic+", "+plural(r.Partitions, "partition")+pick(r.Kept, "", ", deleted"))
	if r.Written > 0 {
		grid.Row("written now", fmt.Sprintf("%d records in %v", r.Written, r.WriteTime.Round(time.Millisecond)))
		grid.Row("longest wait for an answer", r.LongestGap.Round(time.Millisecond))
	}
	if r.Sessions > 1 {
		grid.Row("written by", plural(r.Sessions, "run"))
	}
	if v.Sent > 0 { // else it was interrupted before there was a verdict
		grid.Row("acknowledged", v.Acked)
		grid.Row("not acknowledged", fmt.Sprintf("%d (may be there or not)", v.Unacked))
		grid.Row("read back", v.Seen)
		for _, fault := range audit.Faults {
			if n := v.Count(fault); n > 0 || fault == audit.Lost || fault == audit.Duplicate || fault == audit.OutOfOrder {
				grid.Row(string(fault), n)
			}
		}
	}
	if r.State != "" && r.Kept {
		grid.Row("account", r.State)
	}
	verdict := "everything acknowledged is there, once, in order and undamaged"
	switch {
	case v.Err() != nil:
		verdict = "NOT as it was acknowledged"
	case !r.OK:
		verdict = "not checked to the end"
	}
	grid.Row("verdict", verdict)
	if err := grid.Write(w); err != nil {
		return err
	}
	if len(v.Findings) > 0 {
		fmt.Fprintln(w)
		found := show.NewGrid("FAULT", "PARTITION", "OFFSET", "RECORDS", "PRODUCER", "SEQUENCE", "DETAIL")
		for _, x := range v.Findings {
			found.Row(x.Fault, x.Partition, offsetCell(x.Offset), x.Count, x.Producer, x.Sequence, orDash(x.Detail))
		}
		if err := found.Write(w); err != nil {
			return err
		}
	}
	for _, text := range r.Unreadable {
		fmt.Fprintf(w, "unreadable: %s\n", show.Plain(text))
	}
	return nil
}
