package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"ringmain/cmd/ringmain/internal/show"
	"ringmain/perf"
)

// abFlags are the flags of bench ab as they were given.
type abFlags struct {
	load    loadFlags
	a, b    contender
	rounds  int
	seed    uint64
	dir     string
	verbose bool
	comparisonFlags
}

func newBenchABCmd(with instrument) *cobra.Command {
	t := &target{}
	f := abFlags{a: contender{letter: "a"}, b: contender{letter: "b"}}
	cmd := &cobra.Command{
		Use:   "ab [WORKLOAD]",
		Short: "Compare two brokers, or two builds of ringmain, in turns",
		Long: "Measure two sides in turns and compare B with A, so that what changes on the machine\n" +
			"meanwhile changes both. A side is a broker that runs (--a, --b) or a build of ringmain\n" +
			"(--a-bin, --b-bin), which is started for each of its rounds on free ports and with an empty\n" +
			"data directory, and ended after it. Who goes first in each pair of rounds is drawn by lot.\n\n" +
			fmt.Sprintf("A verdict needs %d pairs; more find smaller differences. Each round takes the workload's\n", perf.MinPairs) +
			"warm-up and duration.",
		Example: "  ringmain bench ab produce-64k --a 127.0.0.1:9092 --b 127.0.0.1:9192\n" +
			"  ringmain bench ab e2e-10k --a-bin old/ringmain --b-bin bin/ringmain --duration 10s --report ab.html\n" +
			"  ringmain bench ab produce-64k --a-bin ringmain --b-bin ringmain --b-override ringmain.event.loops=1",
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, t, args, with) },
	}
	t.ownFlags(cmd, "command-config", "output", "timeout")
	f.load.flagsBut(cmd, "topic", "seed")
	f.a.flags(cmd)
	f.b.flags(cmd)
	fl := cmd.Flags()
	fl.IntVar(&f.rounds, "rounds", perf.MinPairs, fmt.Sprintf("`PAIRS` of rounds, one of each side, from %d to %d", perf.MinPairs, perf.MaxPairs))
	fl.Uint64Var(&f.seed, "seed", 0, "of the lot that says who goes first; 0 takes one by chance")
	fl.StringVar(&f.dir, "data-dir", ".", "`DIRECTORY` in which builds that are started keep their data, which is removed in the end")
	fl.BoolVarP(&f.verbose, "verbose", "v", false, "say on standard error what is being done")
	f.comparisonFlags.flags(cmd)
	cmd.SetUsageFunc(groupedUsage(cmd, []flagGroup{
		{"Side A, the base", f.a.flagNames()},
		{"Side B", f.b.flagNames()},
		{"Comparison", []string{"rounds", "seed", "least", "data-dir"}},
		{"Load", append(but(loadGroup, "topic"), "topic-config")},
		{"Records", recordGroup},
		{"Producing", produceGroup},
		{"Fetching", fetchGroup},
		{"Pace", but(paceGroup, "seed")},
		{"Results", []string{"output", "json", "report", "verbose"}},
		{"Clusters", []string{"command-config", "timeout"}},
	}))
	return cmd
}

func (f *abFlags) check() error {
	for _, c := range []*contender{&f.a, &f.b} {
		if err := c.check(); err != nil {
			return err
		}
	}
	if info, err := os.Stat(f.dir); err != nil || !info.IsDir() {
		return usagef("--data-dir %s is not a directory that is there", f.dir)
	}
	return f.comparisonFlags.check()
}

func (f *abFlags) run(cmd *cobra.Command, t *target, args []string, with instrument) error {
	if _, err := t.format(); err != nil {
		return err
	}
	spec, err := f.load.spec(cmd, args)
	if err != nil {
		return err
	}
	if spec.Topic != "" {
		return usagef("the workload names topic %q; both sides get topics of their own here, so take it out", spec.Topic)
	}
	if err := f.check(); err != nil {
		return err
	}
	plan := perf.Plan{Pairs: f.rounds, Seed: f.seed, Least: f.least, Figures: perf.Figures()}
	if plan.Seed == 0 {
		plan.Seed = rand.Uint64()
	}
	if err := plan.Check(); err != nil {
		return usagef("--rounds: %w", err)
	}
	m := &match{cmd: cmd, t: t, with: with, spec: spec, gauge: show.NewGauge(cmd.ErrOrStderr()), log: f.verbose}
	if f.a.binary != "" || f.b.binary != "" {
		if m.dir, err = os.MkdirTemp(f.dir, "ringmain-ab-"); err != nil {
			return fmt.Errorf("make a directory for the data of the builds: %w", err)
		}
		defer os.RemoveAll(m.dir)
	}
	plan.Before = func(round, rounds int, _ string) { m.round = fmt.Sprintf("round %d of %d", round, rounds) }
	base := cmd.Context()
	if base == nil {
		base = context.Background()
	}
	ctx, stop := signal.NotifyContext(base, os.Interrupt, syscall.SIGTERM)
	defer stop()
	sides := make([]benchSide, 2)
	c, err := perf.AB(ctx, m.contend(&f.a, &sides[0]), m.contend(&f.b, &sides[1]), plan)
	m.gauge.Stop()
	if len(c.Sides) < 2 || len(c.Sides[0].Rounds) == 0 {
		return err
	}
	warnOf(cmd, sides)
	return errors.Join(f.finish(cmd, t, c, sides), err)
}
