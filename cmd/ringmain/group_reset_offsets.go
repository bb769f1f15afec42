package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kadm"

	"ringmain/cmd/ringmain/internal/connection"
	"ringmain/cmd/ringmain/internal/group"
	"ringmain/cmd/ringmain/internal/position"
	"ringmain/cmd/ringmain/internal/show"
)

// resetOffset is one item of the result of group reset-offsets.
type resetOffset struct {
	group.Move
	Executed bool     `json:"executed"`
	Error    *outcome `json:"error"`
}

type offsetReset struct {
	all        bool
	topics     []string
	allTopics  bool
	toEarliest bool
	toLatest   bool
	toCurrent  bool
	toOffset   int64
	shiftBy    int64
	toDatetime string
	byDuration string
	fromFile   string
	execute    bool
	dryRun     bool
	export     bool
}

// resetWays are the flags of which exactly one is given.
var resetWays = []string{"to-earliest", "to-latest", "to-current", "to-offset", "shift-by", "to-datetime", "by-duration", "from-file"}

func newGroupResetOffsetsCmd(t *target) *cobra.Command {
	var o offsetReset
	cmd := &cobra.Command{
		Use:   "reset-offsets GROUP...",
		Short: "Show, or set, new committed offsets of groups without members",
		Long: "Show, or with --execute set, new committed offsets of groups without members. A group\n" +
			"that does not exist yet is made by its offsets. Offsets outside of a log become the\n" +
			"nearest one in it.\n\n" +
			"Which partitions: --topic TOPIC or --topic TOPIC:0,1,2, repeatable; or --all-topics,\n" +
			"all that have a committed offset. A file of --from-file names its own: lines of\n" +
			"topic,partition,offset or group,topic,partition,offset, as --export writes them.\n\n" +
			"A time is milliseconds since 1970, a date such as 2026-01-31T09:00:00Z (without a\n" +
			"zone: local), or a duration before now such as 15m, 7d or PT15M.",
		Example: "  ringmain group reset-offsets billing --topic orders --to-earliest\n" +
			"  ringmain group reset-offsets billing --topic orders:0,2 --shift-by -100 --execute\n" +
			"  ringmain group reset-offsets billing --all-topics --to-datetime 2026-01-31T09:00:00Z --execute\n" +
			"  ringmain group reset-offsets billing --all-topics --to-current --export > offsets.csv\n" +
			"  ringmain group reset-offsets billing --from-file offsets.csv --execute",
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd, t, args) },
	}
	f := cmd.Flags()
	f.BoolVar(&o.all, "all", false, "all groups that have committed offsets")
	f.StringArrayVar(&o.topics, "topic", nil, "`TOPIC` or TOPIC:0,1,2, repeatable")
	f.BoolVar(&o.allTopics, "all-topics", false, "all partitions with a committed offset")
	f.BoolVar(&o.toEarliest, "to-earliest", false, "to the start of the log")
	f.BoolVar(&o.toLatest, "to-latest", false, "to the end of the log")
	f.BoolVar(&o.toCurrent, "to-current", false, "to the committed offset; the end where there is none")
	f.Int64Var(&o.toOffset, "to-offset", 0, "to an `OFFSET`")
	f.Int64Var(&o.shiftBy, "shift-by", 0, "by `N` records, back if N is negative")
	f.StringVar(&o.toDatetime, "to-datetime", "", "to the first record of a `TIME` or later")
	f.StringVar(&o.byDuration, "by-duration", "", "to the first record that is no older than a `DURATION`")
	f.StringVar(&o.fromFile, "from-file", "", "to the offsets in a `FILE`; - reads standard input")
	f.BoolVar(&o.execute, "execute", false, "do it; otherwise it is only shown")
	f.BoolVar(&o.dryRun, "dry-run", false, "only show it (the default)")
	f.BoolVar(&o.export, "export", false, "print lines of CSV for --from-file instead of a table")
	cmd.MarkFlagsMutuallyExclusive(resetWays...)
	cmd.MarkFlagsMutuallyExclusive("topic", "all-topics", "from-file")
	cmd.MarkFlagsMutuallyExclusive("execute", "dry-run")
	return cmd
}

// target reads where to go.
func (o *offsetReset) target(cmd *cobra.Command) (group.Target, error) {
	given := func(flag string) bool { return cmd.Flags().Changed(flag) }
	switch {
	case o.toEarliest:
		return group.Target{Way: group.ToEarliest}, nil
	case o.toLatest:
		return group.Target{Way: group.ToLatest}, nil
	case o.toCurrent:
		return group.Target{Way: group.ToCurrent}, nil
	case given("to-offset"):
		if o.toOffset < 0 {
			return group.Target{}, usagef("--to-offset %d must be 0 or more", o.toOffset)
		}
		return group.Target{Way: group.ToOffset, Offset: o.toOffset}, nil
	case given("shift-by"):
		return group.Target{Way: group.ShiftBy, Offset: o.shiftBy}, nil
	case given("to-datetime"), given("by-duration"):
		flag, text := "--to-datetime", o.toDatetime
		if given("by-duration") {
			flag, text = "--by-duration", o.byDuration
		}
		ms, err := position.ParseTime(text, time.Now())
		if err != nil {
			return group.Target{}, usagef("%s: %w", flag, err)
		}
		return group.Target{Way: group.ToTime, TimeMs: ms}, nil
	case given("from-file"):
		return group.Target{Way: group.FromFile}, nil
	}
	return group.Target{}, usagef("say where to: one of --%s", strings.Join(resetWays, ", --"))
}

// rows reads the file, by group; the lines without one are those of the only group.
func (o *offsetReset) rows(cmd *cobra.Command, groups []string) (map[string][]group.Row, error) {
	in := cmd.InOrStdin()
	if o.fromFile != "-" {
		f, err := os.Open(o.fromFile)
		if err != nil {
			return nil, usagef("--from-file: %w", err)
		}
		defer f.Close()
		in = f
	}
	rows, err := group.ReadRows(in)
	if err != nil {
		return nil, usagef("--from-file %s: %w", o.fromFile, err)
	}
	by := map[string][]group.Row{}
	for _, r := range rows {
		if r.Group == "" {
			if len(groups) != 1 {
				return nil, usagef("--from-file %s: lines without a group need exactly one group on the command line", o.fromFile)
			}
			r.Group = groups[0]
		}
		by[r.Group] = append(by[r.Group], r)
	}
	for _, id := range groups {
		if len(by[id]) == 0 {
			return nil, usagef("--from-file %s has no offsets of group %q", o.fromFile, id)
		}
	}
	return by, nil
}

func (o *offsetReset) run(cmd *cobra.Command, t *target, args []string) error {
	if err := groupNames(args, o.all); err != nil {
		return err
	}
	to, err := o.target(cmd)
	if err != nil {
		return err
	}
	format, err := t.format()
	if err != nil {
		return err
	}
	if o.export && format == show.JSON {
		return usagef("--export prints CSV; give it or --output json, not both")
	}
	var scope group.Scope
	var rows map[string][]group.Row
	switch {
	case to.Way == group.FromFile:
		if rows, err = o.rows(cmd, args); err != nil {
			return err
		}
	case o.allTopics:
	case len(o.topics) == 0:
		return usagef("say which partitions: --topic TOPIC, --topic TOPIC:0,1,2 or --all-topics")
	default:
		if scope, err = scopeOf(o.topics); err != nil {
			return err
		}
	}
	ctx, c, done, err := t.ask(cmd)
	if err != nil {
		return err
	}
	defer done()
	groups, failures, err := group.Idle(ctx, c, args)
	if err != nil {
		return err
	}
	items := []resetOffset{}
	for i := range groups {
		g := &groups[i]
		moves, err := o.plan(ctx, c, g, to, scope, rows)
		if err != nil {
			failures = append(failures, fmt.Errorf("reset offsets of group %q: %w", g.Group, err))
			continue
		}
		done, failed := o.apply(ctx, c, g.Group, moves)
		items, failures = append(items, done...), append(failures, failed...)
	}
	if o.export {
		return o.writeCSV(cmd, items, failures, len(groups) > 1)
	}
	if !o.execute && len(items) > 0 && format == show.Table {
		warn(cmd, "nothing is changed yet; --execute does it")
	}
	grid := show.NewGrid("GROUP", "TOPIC", "PARTITION", "OFFSET", "NEW", "LAG", "RESULT", "NOTE")
	for _, m := range items {
		result := pick(m.Executed, "set", "planned")
		if m.Error != nil {
			result = "failed"
		}
		grid.Row(m.Group, m.Topic, m.Partition, offsetCell(m.Current), m.New, m.Lag, result, orDash(m.Note))
	}
	return printed(cmd, t, items, grid, failures)
}

func (o *offsetReset) plan(ctx context.Context, c *connection.Conn, g *group.Group, to group.Target, scope group.Scope, rows map[string][]group.Row) ([]group.Move, error) {
	if to.Way == group.FromFile {
		return group.PlanRows(ctx, c, g, rows[g.Group])
	}
	return group.PlanReset(ctx, c, g, to, scope)
}

// apply commits the moves of one group if that was asked for.
func (o *offsetReset) apply(ctx context.Context, c *connection.Conn, id string, moves []group.Move) (items []resetOffset, failures []error) {
	for _, m := range moves {
		items = append(items, resetOffset{Move: m})
	}
	if !o.execute || len(moves) == 0 {
		return items, nil
	}
	offsets := kadm.Offsets{}
	for _, m := range moves {
		offsets.AddOffset(m.Topic, m.Partition, m.New, -1)
	}
	answer, err := c.Admin.CommitOffsets(ctx, id, offsets)
	for i := range items {
		m := &items[i]
		fail := err
		if err == nil {
			r, ok := answer.Lookup(m.Topic, m.Partition)
			if fail = r.Err; !ok {
				fail = fmt.Errorf("the coordinator did not answer for it")
			}
		} else {
			fail = c.Explain(err)
		}
		if fail = connection.RefusedErr(fmt.Sprintf("reset partition %d of topic %q for group %q", m.Partition, m.Topic, id), fail, ""); fail != nil {
			m.Error, failures = outcomeOf(fail), append(failures, fail)
			continue
		}
		m.Executed = true
	}
	if err != nil { // one sentence for all of them
		failures = failures[:1]
	}
	return items, failures
}

func (o *offsetReset) writeCSV(cmd *cobra.Command, items []resetOffset, failures []error, withGroup bool) error {
	var moves []group.Move
	for _, m := range items {
		moves = append(moves, m.Move)
	}
	if err := group.WriteRows(cmd.OutOrStdout(), moves, withGroup); err != nil {
		return fmt.Errorf("print the result: %w", err)
	}
	return errors.Join(failures...)
}
