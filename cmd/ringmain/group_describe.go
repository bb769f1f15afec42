package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"ringmain/cmd/ringmain/internal/group"
	"ringmain/cmd/ringmain/internal/show"
)

type groupDescription struct {
	all, members, state bool
}

func newGroupDescribeCmd(t *target) *cobra.Command {
	var d groupDescription
	cmd := &cobra.Command{
		Use:   "describe GROUP...",
		Short: "Show state, members, offsets and lag of groups",
		Long: "Show state, members, offsets and lag of groups. The table has the offsets unless\n" +
			"--members or --state asks for something else; JSON always has everything.",
		Example: "  ringmain group describe billing\n" +
			"  ringmain group describe billing --members\n" +
			"  ringmain group describe --all --state\n" +
			"  ringmain group describe --all --output json",
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return d.run(cmd, t, args) },
	}
	f := cmd.Flags()
	f.BoolVar(&d.all, "all", false, "all groups that have committed offsets (share groups have none)")
	f.BoolVar(&d.members, "members", false, "show the members and what they have")
	f.BoolVar(&d.state, "state", false, "show one line for each group")
	cmd.MarkFlagsMutuallyExclusive("members", "state")
	return cmd
}

func (d *groupDescription) run(cmd *cobra.Command, t *target, args []string) error {
	if err := groupNames(args, d.all); err != nil {
		return err
	}
	ctx, c, done, err := t.ask(cmd)
	if err != nil {
		return err
	}
	defer done()
	groups, failures, err := group.Describe(ctx, c, args)
	if err != nil {
		return err
	}
	if d.state {
		return printed(cmd, t, groups, stateGrid(groups), failures)
	}
	if format, _ := t.format(); format == show.Table {
		for i := range groups {
			if i > 0 {
				fmt.Fprintln(cmd.OutOrStdout())
			}
			if err := d.write(cmd, &groups[i]); err != nil {
				return err
			}
		}
	}
	return printed(cmd, t, groups, nil, failures)
}

func stateGrid(groups []group.Group) *show.Grid {
	grid := show.NewGrid("GROUP", "TYPE", "STATE", "ASSIGNOR", "COORDINATOR", "MEMBERS", "LAG")
	for i := range groups {
		g := &groups[i]
		grid.Row(g.Group, g.Type, g.State, orDash(g.Assignor), g.Coordinator, len(g.Members), lagCell(g))
	}
	return grid
}

// lagCell is the lag of the whole group, a dash where no partition has one.
func lagCell(g *group.Group) string {
	if !slices.ContainsFunc(g.Offsets, func(o group.Offset) bool { return o.Lag >= 0 }) {
		return "-"
	}
	return fmt.Sprint(g.Lag)
}

// write prints one group for people.
func (d *groupDescription) write(cmd *cobra.Command, g *group.Group) error {
	out := cmd.OutOrStdout()
	fmt.Fprintf(out, "group %s  type %s  state %s  assignor %s  coordinator %d  members %d  lag %s\n",
		show.Plain(g.Group), g.Type, show.Plain(g.State), show.Plain(orDash(g.Assignor)), g.Coordinator, len(g.Members), lagCell(g))
	var grid *show.Grid
	if d.members {
		grid = show.NewGrid("MEMBER", "INSTANCE", "CLIENT", "HOST", "PARTITIONS", "ASSIGNMENT", "MOVING TO")
		for i := range g.Members {
			m := &g.Members[i]
			grid.Row(m.MemberID, orDash(m.InstanceID), orDash(m.ClientID), orDash(m.Host), m.Partitions(), assignmentCell(m.Assignment), assignmentCell(m.Target))
		}
	} else {
		grid = show.NewGrid("TOPIC", "PARTITION", "OFFSET", "END", "LAG", "MEMBER", "CLIENT", "HOST", "NOTE")
		for _, o := range g.Offsets {
			grid.Row(o.Topic, o.Partition, offsetCell(o.Committed), offsetCell(o.End), offsetCell(o.Lag), orDash(o.MemberID), orDash(o.ClientID), orDash(o.Host), cmp.Or(o.Error, "-"))
		}
	}
	if grid.Len() == 0 {
		return nil
	}
	return grid.Write(out)
}

// assignmentCell is "orders(0,1) audit(2)".
func assignmentCell(assignment map[string][]int32) string {
	var parts []string
	for _, topic := range slices.Sorted(maps.Keys(assignment)) {
		parts = append(parts, topic+"("+show.IDs(assignment[topic])+")")
	}
	return orDash(strings.Join(parts, " "))
}
