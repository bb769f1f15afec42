package table

import (
	"context"
	"errors"
	"fmt"
	"time"

	"ringmain/bench/facts"
	"ringmain/bench/result"
	"ringmain/bench/workload"
	"ringmain/perf"
)

// Bounds are what we are held against.
type Bounds string

const (
	// Kafka: the bounds of the rows, as ratios of medians.
	Kafka Bounds = "kafka"
	// Earlier: an earlier build, than which nothing may be worse.
	Earlier Bounds = "earlier"
)

// Counts are the rounds of each side that a comparison takes at least, and as a rule.
func (b Bounds) Counts() (least, usual int) {
	if b == Earlier {
		return perf.MinPairs, perf.MinPairs
	}
	return 1, 3
}

// maxRounds bounds a table that nobody would wait for.
const maxRounds = 100

// Plan is how a table is measured.
type Plan struct {
	Rows    []Row
	Against Bounds
	Rounds  int
	// Pause comes before every round: what the one before deleted is gone then,
	// and its cost with it.
	Pause time.Duration
	Seed  uint64 // of who goes first against an earlier build
	Tool  result.Build
	Base  string // names of the sides
	Ours  string
	// Adjust changes a row's load; nil: it is as its file says.
	Adjust func(*workload.Spec) error
	// Sides are the ways to measure the two loads of a row.
	Sides func(row Row, base, ours workload.Spec) (a, b perf.Contender)
	// Start starts our build once and measures that; nil: rows of the start are left
	// out.
	Start func(ctx context.Context) (perf.Reading, error)
	// Before, if set, is told of each row before it begins; Round of each round.
	Before func(row Row, n, rows int)
	Round  func(round, rounds int)
}

// Check says what is wrong with a plan before any time is spent on it.
func (p Plan) Check() error {
	least, _ := p.Against.Counts()
	switch {
	case p.Against != Kafka && p.Against != Earlier:
		return fmt.Errorf("bounds %q are not known; use %s or %s", p.Against, Kafka, Earlier)
	case p.Rounds < least || p.Rounds > maxRounds:
		return fmt.Errorf("%d rounds must be from %d to %d against %s", p.Rounds, least, maxRounds, p.Against)
	case p.Pause < 0:
		return fmt.Errorf("the pause %v must be 0s or more", p.Pause)
	}
	return nil
}

// Measure measures the table, row by row. A row that cannot be measured is noted
// as such, and the next one follows; only the end of ctx ends it, with the rows
// that were complete.
func Measure(ctx context.Context, p Plan) (Table, error) {
	t := Table{
		Format: Format, Kind: Kind, Tool: p.Tool, When: time.Now(), Machine: facts.OfMachine(), Against: p.Against,
		Base: p.Base, Ours: p.Ours, Rounds: p.Rounds, Holds: true, Rows: []Measured{},
	}
	if err := p.Check(); err != nil {
		return t, err
	}
	var rows []Row
	for _, r := range p.Rows {
		if r.Workload != "" || p.Start != nil {
			rows = append(rows, r)
		}
	}
	for i, r := range rows {
		if p.Before != nil {
			p.Before(r, i+1, len(rows))
		}
		m, err := p.row(ctx, r, t)
		if ctx.Err() != nil {
			return t, fmt.Errorf("interrupted in row %s, %d of %d: %w", r.Name, i+1, len(rows), context.Cause(ctx))
		}
		m.Row, m.Workload = r.Name, r.Workload
		if err != nil {
			m.Failure = err.Error()
		}
		t.add(m)
	}
	return t, nil
}

func (p Plan) row(ctx context.Context, r Row, before Table) (Measured, error) {
	if r.Workload == "" {
		return p.start(ctx, r, before)
	}
	spec, err := r.load()
	if err != nil {
		return Measured{}, err
	}
	if p.Adjust != nil {
		if err := p.Adjust(&spec); err != nil {
			return Measured{}, err
		}
	}
	if p.Against == Earlier {
		return p.againstEarlier(ctx, r, spec)
	}
	kafka, ours := r.besideKafka(spec)
	a, b := p.Sides(r, kafka, ours)
	return p.turns(ctx, r, before, a, b)
}

// start measures the row of the start, which has one side.
func (p Plan) start(ctx context.Context, r Row, before Table) (Measured, error) {
	var ours []perf.Reading
	for n := range p.Rounds {
		p.say(n+1, p.Rounds)
		err := p.rest(ctx)
		var reading perf.Reading
		if err == nil {
			reading, err = p.Start(ctx)
		}
		if err != nil {
			return r.lines(before, nil, ours), fmt.Errorf("round %d of %d: %w", n+1, p.Rounds, err)
		}
		ours = append(ours, reading)
	}
	return r.lines(before, nil, ours), nil
}

// turns measures the sides in alternating order. Who begins changes with every
// pair, so that being first costs neither side.
func (p Plan) turns(ctx context.Context, r Row, before Table, a, b perf.Contender) (Measured, error) {
	contenders, readings := [2]perf.Contender{a, b}, [2][]perf.Reading{}
	for n := range 2 * p.Rounds {
		who := (n + n/2) % 2
		p.say(n+1, 2*p.Rounds)
		err := p.rest(ctx)
		var reading perf.Reading
		if err == nil {
			reading, err = contenders[who].Round(ctx)
		}
		if err != nil {
			return r.lines(before, readings[0], readings[1]), fmt.Errorf("round %d of %d, %s: %w", n+1, 2*p.Rounds, contenders[who].Name, err)
		}
		readings[who] = append(readings[who], reading)
	}
	return r.lines(before, readings[0], readings[1]), nil
}

func (p Plan) say(round, rounds int) {
	if p.Round != nil {
		p.Round(round, rounds)
	}
}

// rest waits for the pause before a round.
func (p Plan) rest(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(p.Pause):
		return nil
	}
}

// lines are the figures of a row beside Kafka: those with bounds first.
func (r Row) lines(before Table, base, ours []perf.Reading) (m Measured) {
	for _, b := range r.Bounds {
		l := line(figure(b.Figure), base, ours)
		there := before.ours(b.Row, b.Figure)
		holds := b.holds(l.Ours, l.Ratio, there)
		l.Bound, l.Holds = b.String(), &holds
		switch {
		case l.Ours == nil, b.Value == 0 && b.Times == 0 && l.Ratio == nil:
			l.Why = "not measured"
		case b.Times > 0 && there == nil:
			l.Why = b.Row + " was not measured"
		}
		m.Lines = append(m.Lines, l)
	}
	for _, name := range r.Shown {
		m.Lines = append(m.Lines, line(figure(name), base, ours))
	}
	return m
}

func line(f perf.Figure, base, ours []perf.Reading) Line {
	l := Line{Figure: f, BaseRounds: values(base, f.Name), OursRounds: values(ours, f.Name)}
	l.Base, l.Ours = median(l.BaseRounds), median(l.OursRounds)
	if l.Base != nil && l.Ours != nil && *l.Base > 0 {
		ratio := *l.Ours / *l.Base
		l.Ratio = &ratio
	}
	return l
}

// againstEarlier has package perf judge the row's figures. A figure is worse when
// that is no noise and goes beyond the bound.
func (p Plan) againstEarlier(ctx context.Context, r Row, s workload.Spec) (Measured, error) {
	a, b := p.Sides(r, s, s)
	for _, c := range []*perf.Contender{&a, &b} {
		round := c.Round
		c.Round = func(ctx context.Context) (perf.Reading, error) {
			if err := p.rest(ctx); err != nil {
				return nil, err
			}
			return round(ctx)
		}
	}
	plan := perf.Plan{Pairs: p.Rounds, Seed: p.Seed, Least: leastWorse, Figures: perf.Figures()}
	plan.Before = func(round, rounds int, _ string) { p.say(round, rounds) }
	c, err := perf.AB(ctx, a, b, plan)
	if len(c.Sides) < 2 {
		return Measured{}, errors.Join(err, errors.New("nothing was compared"))
	}
	return judged(c), err
}
