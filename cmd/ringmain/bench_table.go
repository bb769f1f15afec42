package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"ringmain/bench/facts"
	"ringmain/bench/result"
	"ringmain/bench/workload"
	"ringmain/cmd/ringmain/internal/show"
	"ringmain/perf"
	"ringmain/perf/table"
	"ringmain/perf/trial"
)

// tableFlags are the flags of bench table as they were given.
type tableFlags struct {
	a, b     contender
	against  string
	rows     []string
	rounds   int
	pause    time.Duration
	duration string
	warmUp   string
	start    string
	dir      string
	json     string
	report   string
	verbose  bool
	list     bool
}

func newBenchTableCmd(with instrument) *cobra.Command {
	t := &target{}
	f := tableFlags{a: contender{letter: "a"}, b: contender{letter: "b"}}
	cmd := &cobra.Command{
		Use:   "table",
		Short: "Measure the table of the hot path, and hold it against its bounds",
		Long: "Measure the rows of the hot path on two sides in turns and hold side B, ours, against what\n" +
			"is promised. With --against kafka side A is Apache Kafka and each row has bounds for the\n" +
			"ratio of the medians. With --against earlier side A is an earlier build, than which\n" +
			fmt.Sprintf("nothing may be worse by a tenth; a verdict needs %d rounds of each side.\n\n", perf.MinPairs) +
			"'make perf' starts both sides and calls this. The exit code is 1 when a bound does not hold.",
		Example: "  ringmain bench table --list\n" +
			"  ringmain bench table --a 127.0.0.1:19092 --a-pid 41 --b 127.0.0.1:9092 --b-pid 42 --rows P5,P7\n" +
			"  ringmain bench table --against earlier --a-bin old/ringmain --b-bin bin/ringmain --json table.json",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd, t, with) },
	}
	t.ownFlags(cmd, "command-config", "output", "timeout")
	f.a.flags(cmd)
	f.b.flags(cmd)
	fl := cmd.Flags()
	fl.StringVar(&f.a.called, "a-name", "", "`NAME` of side A in the results")
	fl.StringVar(&f.b.called, "b-name", "", "`NAME` of side B in the results")
	fl.StringVar(&f.against, "against", string(table.Kafka), "`BOUNDS` to hold: kafka or earlier")
	fl.StringSliceVar(&f.rows, "rows", nil, "`ROW,...` to measure, P1 to P13; without it all")
	fl.IntVar(&f.rounds, "rounds", 0, fmt.Sprintf("`ROUNDS` of each side; 0 takes 3 against Kafka, %d against an earlier build", perf.MinPairs))
	fl.DurationVar(&f.pause, "pause", 3*time.Second, "wait before each round, for what the one before left to be removed")
	fl.StringVar(&f.duration, "duration", "", "measured `TIME` of a round, instead of the loads' own")
	fl.StringVar(&f.warmUp, "warm-up", "", "`TIME` of a round before that, instead of the loads' own")
	fl.StringVar(&f.start, "start", "", "`PATH` of the ringmain whose start and idle memory are measured (P11); without it they are not")
	fl.StringVar(&f.dir, "data-dir", ".", "`DIRECTORY` in which builds that are started keep their data, which is removed in the end")
	fl.BoolVar(&f.list, "list", false, "print the rows that would be measured with their bounds, and measure nothing")
	fl.StringVar(&f.json, "json", "", "write the table to `FILE` (docs/format/bench.md)")
	fl.StringVar(&f.report, "report", "", "write a page with the table and one result of each side of each row to `FILE.html`")
	fl.BoolVarP(&f.verbose, "verbose", "v", false, "say on standard error what is being done")
	cmd.SetUsageFunc(groupedUsage(cmd, []flagGroup{
		{"Side A, what we are held against", append(f.a.flagNames(), "a-name")},
		{"Side B, ours", append(f.b.flagNames(), "b-name", "start")},
		{"Table", []string{"against", "rows", "rounds", "pause", "duration", "warm-up", "data-dir", "list"}},
		{"Results", []string{"output", "json", "report", "verbose"}},
		{"Clusters", []string{"command-config", "timeout"}},
	}))
	return cmd
}

func (f *tableFlags) check() error {
	for _, c := range []*contender{&f.a, &f.b} {
		if err := c.check(); err != nil {
			return err
		}
	}
	if f.start != "" {
		path, err := exec.LookPath(f.start)
		if err != nil {
			return usagef("--start: %w", err)
		}
		if f.start, err = filepath.Abs(path); err != nil {
			return usagef("--start: %w", err)
		}
	}
	if info, err := os.Stat(f.dir); err != nil || !info.IsDir() {
		return usagef("--data-dir %s is not a directory that is there", f.dir)
	}
	if err := f.adjust(new(workload.Spec)); err != nil {
		return err
	}
	return writable(map[string]string{"json": f.json, "report": f.report})
}

// adjust gives a load the times that were asked for.
func (f *tableFlags) adjust(s *workload.Spec) error {
	for key, text := range map[string]string{"duration": f.duration, "warm_up": f.warmUp} {
		if text == "" {
			continue
		}
		if err := s.Set(key, text); err != nil {
			return usagef("--%s %q: %w", settingFlag(key), text, err)
		}
	}
	return nil
}

// plan is what the flags ask for, without the ways to measure.
func (f *tableFlags) plan() (table.Plan, error) {
	p := table.Plan{
		Against: table.Bounds(f.against), Rounds: f.rounds, Pause: f.pause, Seed: rand.Uint64(),
		Tool: result.Build(currentBuild()), Base: f.a.name(), Ours: f.b.name(), Adjust: f.adjust,
	}
	if p.Rounds == 0 {
		_, p.Rounds = p.Against.Counts()
	}
	var err error
	if p.Rows, err = table.Select(f.rows); err != nil {
		return p, usagef("--rows: %w", err)
	}
	if err := p.Check(); err != nil {
		return p, usagef("--against %s --rounds %d: %w", f.against, f.rounds, err)
	}
	return p, nil
}

func (f *tableFlags) run(cmd *cobra.Command, t *target, with instrument) error {
	if _, err := t.format(); err != nil {
		return err
	}
	if f.list {
		return f.listRows(cmd)
	}
	if err := f.check(); err != nil {
		return err
	}
	p, err := f.plan()
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp(f.dir, "ringmain-table-")
	if err != nil {
		return fmt.Errorf("make a directory for the data of the builds: %w", err)
	}
	defer os.RemoveAll(dir)
	base := cmd.Context()
	if base == nil {
		base = context.Background()
	}
	ctx, stop := signal.NotifyContext(base, os.Interrupt, syscall.SIGTERM)
	defer stop()

	gauge := show.NewGauge(cmd.ErrOrStderr())
	var measured []tablePart
	round := "" // which of how many, of which row
	part := func() *tablePart { return &measured[len(measured)-1] }
	p.Before = func(row table.Row, n, rows int) {
		gauge.Stop()
		fmt.Fprintf(cmd.ErrOrStderr(), "%d of %d: %s\n", n, rows, rowTitle(row))
		measured = append(measured, tablePart{title: rowTitle(row), sides: make([]benchSide, 2)})
		round = row.Name
	}
	p.Round = func(n, rounds int) { round = fmt.Sprintf("%s, round %d of %d", part().title, n, rounds) }
	p.Sides = func(_ table.Row, ofA, ofB workload.Spec) (perf.Contender, perf.Contender) {
		side := func(c *contender, s workload.Spec, into *benchSide) perf.Contender {
			m := &match{cmd: cmd, t: t, with: with, spec: s, dir: dir, gauge: gauge, log: f.verbose}
			contender := m.contend(c, into)
			measure := contender.Round
			contender.Round = func(ctx context.Context) (perf.Reading, error) {
				m.round = round
				return measure(ctx)
			}
			return contender
		}
		return side(&f.a, ofA, &part().sides[0]), side(&f.b, ofB, &part().sides[1])
	}
	if f.start != "" {
		p.Start = func(ctx context.Context) (perf.Reading, error) { return measureStart(ctx, f.start, dir) }
	}
	result, err := table.Measure(ctx, p)
	gauge.Stop()
	return errors.Join(f.finish(cmd, t, result, measured), err)
}

// listRows prints what would be measured. It needs no sides, so that who starts
// some learns before that what is wrong with the rest.
func (f *tableFlags) listRows(cmd *cobra.Command) error {
	if err := f.adjust(new(workload.Spec)); err != nil {
		return err
	}
	p, err := f.plan()
	if err != nil {
		return err
	}
	grid := show.NewGrid("ROW", "LOAD", "FIGURE", "BOUND BESIDE KAFKA")
	for _, r := range p.Rows {
		for _, b := range r.Bounds {
			grid.Row(r.Name, pick(r.Workload == "", "start", r.Workload), b.Figure, b)
		}
		for _, name := range r.Shown {
			grid.Row(r.Name, r.Workload, name, "-")
		}
	}
	return grid.Write(cmd.OutOrStdout())
}

// idleAfter is how long a broker has been idle when its memory is read.
const idleAfter = 3 * time.Second

// measureStart starts a build, which nobody asks for anything.
func measureStart(ctx context.Context, binary, dir string) (reading perf.Reading, err error) {
	b, err := trial.Build{Binary: binary, DataDir: filepath.Join(dir, "start")}.Start(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	select {
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case <-time.After(idleAfter):
	}
	usage, err := facts.Process(b.PID())
	if err != nil {
		return nil, err
	}
	return table.StartReading(b.Took().Seconds()*1e3, float64(usage.RSSBytes)/1e6), nil
}
