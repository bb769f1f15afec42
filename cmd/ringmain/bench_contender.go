package main

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"ringmain/bench"
	"ringmain/bench/result"
	"ringmain/bench/workload"
	"ringmain/cmd/ringmain/internal/connection"
	"ringmain/cmd/ringmain/internal/show"
	"ringmain/perf"
	"ringmain/perf/trial"
)

// contender is one side of bench ab: a broker that runs, or a build to start.
type contender struct {
	letter    string
	called    string // instead of its address or build; "": that
	address   string
	pids      []int
	metrics   string
	binary    string
	overrides []string
}

func (c *contender) flags(cmd *cobra.Command) {
	f, upper := cmd.Flags(), strings.ToUpper(c.letter)
	f.StringVar(&c.address, c.letter, "", "broker "+upper+" that runs, `HOST:PORT,...`")
	f.IntSliceVar(&c.pids, c.letter+"-pid", nil, "its process ids `N[,N]` on this host, to count its costs")
	f.StringVar(&c.metrics, c.letter+"-metrics", "", "`URL` of its metrics, to count its costs from there")
	f.StringVar(&c.binary, c.letter+"-bin", "", "build "+upper+" to start: `PATH` of a ringmain")
	f.StringArrayVar(&c.overrides, c.letter+"-override", nil, "`KEY=VALUE` of that build's configuration, repeatable")
}

func (c *contender) flagNames() []string {
	return []string{c.letter, c.letter + "-pid", c.letter + "-metrics", c.letter + "-bin", c.letter + "-override"}
}

// check is for what is wrong with the flags of one side.
func (c *contender) check() error {
	switch {
	case c.address != "" && c.binary != "":
		return usagef("side %s: --%s %s and --%s-bin %s are two brokers; give one of them", c.letter, c.letter, c.address, c.letter, c.binary)
	case c.address == "" && c.binary == "":
		return usagef("side %s: give --%s HOST:PORT of a broker that runs, or --%s-bin PATH of a build to start", c.letter, c.letter, c.letter)
	case c.binary == "" && len(c.overrides) > 0:
		return usagef("--%s-override needs --%s-bin: a broker that runs keeps its configuration", c.letter, c.letter)
	case c.binary != "" && (len(c.pids) > 0 || c.metrics != ""):
		return usagef("--%s-pid and --%s-metrics are for a broker that runs; the costs of a build that is started are counted anyway", c.letter, c.letter)
	}
	if _, err := keyValues(c.overrides); err != nil {
		return fmt.Errorf("--%s-override: %w", c.letter, err)
	}
	for _, pid := range c.pids {
		if pid < 1 {
			return usagef("--%s-pid %d must be 1 or more", c.letter, pid)
		}
	}
	if c.binary != "" {
		path, err := exec.LookPath(c.binary)
		if err != nil {
			return usagef("--%s-bin: %w", c.letter, err)
		}
		if c.binary, err = filepath.Abs(path); err != nil {
			return usagef("--%s-bin: %w", c.letter, err)
		}
		return nil
	}
	if _, err := connection.ParseBootstrap(c.address); err != nil {
		return usagef("--%s: %w", c.letter, err)
	}
	return nil
}

// name tells the sides apart, and says what each is.
func (c *contender) name() string {
	if c.called != "" {
		return c.called
	}
	if c.binary == "" {
		return c.letter + ": " + c.address
	}
	return strings.Join(append([]string{c.letter + ": " + c.binary}, c.overrides...), " ")
}

// match is an A/B comparison under way.
type match struct {
	cmd   *cobra.Command
	t     *target
	with  instrument
	spec  workload.Spec
	dir   string // of the data of builds that are started
	gauge *show.Gauge
	round string // which of how many
	log   bool
}

// contend is c's side of the match; what it measures is kept in side.
func (m *match) contend(c *contender, side *benchSide) perf.Contender {
	side.name = c.name()
	return perf.Contender{Name: side.name, Round: func(ctx context.Context) (perf.Reading, error) {
		d, err := m.measure(ctx, c)
		if err == nil {
			err = unusable(d)
		}
		if err != nil {
			return nil, err
		}
		side.docs = append(side.docs, d)
		return perf.ReadingOf(d), nil
	}}
}

// measure is one round of one side. A build is started for each round anew: what
// it has gathered in memory and on the disk would be another load for it, and
// where its memory happens to lie another machine.
func (m *match) measure(ctx context.Context, c *contender) (d *result.Document, err error) {
	o := bench.Options{
		Spec: m.spec, PIDs: c.pids, Metrics: c.metrics,
		Tool: result.Build(currentBuild()), Log: benchLog(m.cmd, m.log),
		Progress: drawing(m.gauge, m.round+", "+c.letter+": "),
	}
	to := *m.t
	to.bootstrap, to.from = c.address, "--"+c.letter
	if c.binary != "" {
		m.gauge.Show(m.round+", "+c.letter+": start", 0, "")
		b, err := trial.Build{Binary: c.binary, Overrides: c.overrides, DataDir: filepath.Join(m.dir, c.letter)}.Start(ctx)
		if err != nil {
			return nil, err
		}
		defer func() {
			if closing := b.Close(); err == nil {
				err = closing
			}
		}()
		// Its topics go with its data.
		o.PIDs, o.Metrics, o.Keep = []int{b.PID()}, b.Metrics(), true
		to.bootstrap, to.from, to.commandConfig = b.Address(), "", ""
	}
	_, conn, done, err := to.open(m.cmd)
	if err != nil {
		return nil, err
	}
	defer done()
	o.Client, o.Bootstrap = conn.Opts(), strings.Split(conn.Bootstrap(), ",")
	d, err = m.with.run(ctx, o)
	return d, explained(conn, err)
}
