package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kerr"

	"ringmain/bench"
	"ringmain/bench/result"
	"ringmain/bench/workload"
	"ringmain/cmd/ringmain/internal/connection"
	"ringmain/cmd/ringmain/internal/show"
)

// instrument is what measures: package bench, or in tests something that is
// done at once.
type instrument struct {
	run      func(context.Context, bench.Options) (*result.Document, error)
	findKnee func(context.Context, bench.Options, bench.SLO) (*result.Document, error)
}

// benchFlags are the flags of bench as they were given.
type benchFlags struct {
	load     loadFlags
	existing bool
	keep     bool
	pids     []int
	metrics  string
	json     string
	hlog     string
	report   string
	findKnee bool
	slo      string
	verbose  bool
}

func newBenchCmd(with instrument) *cobra.Command {
	t := &target{}
	var f benchFlags
	cmd := &cobra.Command{
		Use:   "bench [WORKLOAD]",
		Short: "Measure a broker, and check that it loses nothing",
		Long: "Put a load on a broker and measure what it does: throughput, latency, costs. The load\n" +
			"is a builtin workload (ringmain bench list), a workload file, or with --kind the\n" +
			"defaults of a kind; every key of a workload has a flag that overrides it.\n\n" +
			"The load goes to topics that are made for it and deleted in the end. Latency is counted\n" +
			"from the time at which a request was meant to be sent (corrected) and from the time at\n" +
			"which it was (uncorrected); at rate max there is no such time, and both are the same.",
		Example: "  ringmain bench produce-64k\n" +
			"  ringmain bench produce-64k --rate 50MB --duration 1m --pid $(pidof ringmain)\n" +
			"  ringmain bench e2e-10k --json run.json --report run.html --hlog run.hlog\n" +
			"  ringmain bench one-record-per-request --find-knee --slo p99=10ms\n" +
			"  ringmain bench --kind produce --record-size uniform:100:2KiB --codec zstd --engine franz",
		Args:        cobra.MaximumNArgs(1),
		Annotations: map[string]string{besideCommands: "a workload"},
		RunE:        func(cmd *cobra.Command, args []string) error { return f.run(cmd, t, args, with) },
	}
	t.ownFlags(cmd, "bootstrap", "command-config", "output", "timeout")
	f.load.flags(cmd)
	fl := cmd.Flags()
	fl.BoolVar(&f.existing, "existing", false, "the topic of --topic is there already, and records may be written to it; it stays")
	fl.BoolVar(&f.keep, "keep", false, "leave the topics that were made")
	fl.IntSliceVar(&f.pids, "pid", nil, "process ids `N[,N]` of the servers on this host, to count their costs")
	fl.StringVar(&f.metrics, "metrics", "", "`URL` of the server's metrics, to count its costs from there")
	fl.StringVar(&f.json, "json", "", "write the result to `FILE` (docs/format/bench.md)")
	fl.StringVar(&f.hlog, "hlog", "", "write the histograms of every second to `FILE`, in HdrHistogram's log format")
	fl.StringVar(&f.report, "report", "", "write a page with curves to `FILE.html`")
	fl.BoolVar(&f.findKnee, "find-knee", false, "search the highest rate that holds --slo, instead of one rate")
	fl.StringVar(&f.slo, "slo", "p99=10ms", "`BOUND` of the corrected latency for --find-knee")
	fl.BoolVarP(&f.verbose, "verbose", "v", false, "say on standard error what is being done")
	cmd.AddCommand(
		newBenchListCmd(),
		newBenchShowCmd(),
		newBenchVerifyCmd(),
		newBenchCompareCmd(),
		newBenchReportCmd(),
		newBenchABCmd(with),
		newBenchTableCmd(with),
	)
	cmd.SetUsageFunc(groupedUsage(cmd, []flagGroup{
		{"Load", append(slices.Clone(loadGroup), "topic-config", "existing", "keep")},
		{"Records", recordGroup},
		{"Producing", produceGroup},
		{"Fetching", fetchGroup},
		{"Pace", paceGroup},
		{"The highest rate within a bound", []string{"find-knee", "slo"}},
		{"Costs of the server", []string{"pid", "metrics"}},
		{"Results", []string{"output", "json", "hlog", "report", "verbose"}},
		{"Cluster", []string{"bootstrap", "command-config", "timeout"}},
	}))
	return cmd
}

// check is for what is wrong before anything is sent.
func (f *benchFlags) check(cmd *cobra.Command, s workload.Spec) error {
	shape := "" // a flag that only makes sense for a topic that is made
	for _, name := range []string{"partitions", "topics", "replication-factor"} {
		if cmd.Flags().Changed(name) {
			shape = name
		}
	}
	switch {
	case s.Topic != "" && s.Kind.Produces() && !f.existing:
		return usagef("topic %q may be somebody's; say with --existing that records may be written to it, or leave --topic out to have one made", s.Topic)
	case s.Topic == "" && f.existing:
		return usagef("--existing needs --topic NAME: without a topic one is made")
	case f.existing && f.keep:
		return usagef("--keep is for topics that are made; an existing one always stays")
	case f.existing && len(s.TopicConfig) > 0:
		return usagef("--topic-config is for topics that are made; change an existing one with 'ringmain config set topic %s KEY=VALUE'", s.Topic)
	case s.Topic != "" && shape != "":
		return usagef("--%s is for topics that are made; %q keeps what it has", shape, s.Topic)
	case cmd.Flags().Changed("slo") && !f.findKnee:
		return usagef("--slo %s needs --find-knee", f.slo)
	}
	for _, pid := range f.pids {
		if pid < 1 {
			return usagef("--pid %d must be 1 or more", pid)
		}
	}
	return writable(map[string]string{"json": f.json, "hlog": f.hlog, "report": f.report})
}

// options are the measurement as asked, without the way to the cluster.
func (f *benchFlags) options(cmd *cobra.Command, s workload.Spec) bench.Options {
	return bench.Options{
		Spec: s, Existing: f.existing, Keep: f.keep, PIDs: f.pids, Metrics: f.metrics,
		Tool: result.Build(currentBuild()), Log: benchLog(cmd, f.verbose),
	}
}

func (f *benchFlags) run(cmd *cobra.Command, t *target, args []string, with instrument) error {
	spec, err := f.load.spec(cmd, args)
	if err != nil {
		return err
	}
	if err := f.check(cmd, spec); err != nil {
		return err
	}
	var slo bench.SLO
	if f.findKnee {
		if slo, err = bench.ParseSLO(f.slo); err != nil {
			return usagef("--slo: %w", err)
		}
		if err := bench.CheckSearch(&spec); err != nil {
			return usagef("--find-knee: %w", err)
		}
	}
	format, err := t.format()
	if err != nil {
		return err
	}
	ctx, c, done, err := t.open(cmd)
	if err != nil {
		return err
	}
	defer done()
	o := f.options(cmd, spec)
	o.Client, o.Bootstrap = c.Opts(), strings.Split(c.Bootstrap(), ",")
	endLog, err := f.openLog(&o)
	if err != nil {
		return err
	}
	gauge := show.NewGauge(cmd.ErrOrStderr())
	o.Progress = drawing(gauge, "")
	var d *result.Document
	if f.findKnee {
		d, err = with.findKnee(ctx, o, slo)
	} else {
		d, err = with.run(ctx, o)
	}
	gauge.Stop()
	failures := []error{explained(c, err), endLog()}
	if d == nil {
		return errors.Join(failures...)
	}
	if format == show.JSON {
		failures = append(failures, d.Write(cmd.OutOrStdout()))
	} else {
		failures = append(failures, writeDocument(cmd.OutOrStdout(), d))
	}
	failures = append(failures, f.save(d))
	if err == nil { // else it says why the result cannot be used
		failures = append(failures, unusable(d))
	}
	return errors.Join(failures...)
}

// explained is what c says of an error of a measurement. Where a broker refused
// something, it is with what was asked, and with what the broker said.
func explained(c *connection.Conn, err error) error {
	if all, ok := err.(interface{ Unwrap() []error }); ok {
		var each []error
		for _, one := range all.Unwrap() {
			each = append(each, explained(c, one))
		}
		return errors.Join(each...)
	}
	var broken *bench.BrokenLoad
	var left *bench.LeftBehind
	if errors.As(err, &broken) || errors.As(err, &left) {
		return err // what was reached went away: how to reach it is not the question
	}
	said := c.Explain(err)
	var refusal *connection.Refusal
	var code *kerr.Error
	if !errors.As(said, &refusal) || !errors.As(err, &code) {
		return said
	}
	what, words, ok := strings.Cut(err.Error(), ": "+code.Error())
	if ok {
		refusal.What = what
	}
	if words = strings.Trim(words, ": "); words != "" {
		refusal.Message = words
	}
	return said
}

// openLog opens the histogram log, if one is asked for; whoever calls it calls
// the function that it returns in the end.
func (f *benchFlags) openLog(o *bench.Options) (end func() error, err error) {
	if f.hlog == "" {
		return func() error { return nil }, nil
	}
	file, err := os.Create(f.hlog)
	if err != nil {
		return nil, fmt.Errorf("write the histogram log: %w", err)
	}
	o.HLog = file
	return file.Close, nil
}

// save writes the files that were asked for.
func (f *benchFlags) save(d *result.Document) error {
	var failures []error
	if f.json != "" {
		failures = append(failures, d.WriteFile(f.json))
	}
	if f.report != "" {
		failures = append(failures, savePage(f.report, d.Workload.Name, []namedDocument{{d.Workload.Name, d}}, nil))
	}
	return errors.Join(failures...)
}

// unusable says why the result must not be used, if so.
func unusable(d *result.Document) error {
	if d.Verdict.OK {
		return nil
	}
	reasons := "it does not say why"
	if len(d.Verdict.Reasons) > 0 {
		reasons = strings.Join(d.Verdict.Reasons, "; ")
	}
	return fmt.Errorf("the result cannot be used: %s", reasons)
}

// drawing turns progress into what the gauge shows.
func drawing(g *show.Gauge, before string) func(bench.Progress) {
	if g == nil {
		return nil
	}
	return func(p bench.Progress) {
		figures := []string{}
		if p.Rates.Bytes > 0 {
			figures = append(figures, fmt.Sprintf("%.1f MB/s", p.Rates.Bytes/1e6))
		}
		if p.Rates.Requests > 0 {
			figures = append(figures, show.Count(int64(p.Rates.Requests))+" requests/s")
		}
		if p.P99 > 0 {
			figures = append(figures, "p99 "+duration(float64(p.P99)))
		}
		if p.Errors > 0 {
			figures = append(figures, show.Count(p.Errors)+" errors")
		}
		g.Show(before+p.Phase, p.Share, strings.Join(figures, ", "))
	}
}

// benchLog is where the measuring says what it does: nowhere, unless asked.
func benchLog(cmd *cobra.Command, verbose bool) *slog.Logger {
	if !verbose {
		return slog.New(slog.DiscardHandler)
	}
	return slog.New(slog.NewTextHandler(cmd.ErrOrStderr(), &slog.HandlerOptions{Level: slog.LevelDebug}))
}

// unknownWorkload says that a word is no workload, and what was probably meant.
func unknownWorkload(cmd *cobra.Command, word string) error {
	meant := near(word, workload.Builtin())
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() && len(near(word, []string{sub.Name()})) > 0 {
			meant = append(meant, cmd.CommandPath()+" "+sub.Name())
		}
	}
	for i, m := range meant {
		meant[i] = fmt.Sprintf("%q", m)
	}
	hint := ""
	if len(meant) > 0 {
		hint = "; did you mean " + strings.Join(slices.Compact(meant), " or ") + "?"
	}
	return usagef("%q is neither a workload, nor a file, nor a command of '%s'%s ('ringmain bench list' names the workloads)", word, cmd.CommandPath(), hint)
}
