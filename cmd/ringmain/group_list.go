package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"ringmain/cmd/ringmain/internal/group"
	"ringmain/cmd/ringmain/internal/show"
)

// groupStates and groupTypes are Kafka's words, in its spelling.
var (
	groupStates = []string{"PreparingRebalance", "CompletingRebalance", "Stable", "Dead", "Empty", "Assigning", "Reconciling", "NotReady"}
	groupTypes  = []string{"classic", "consumer", "share", "streams"}
)

func newGroupListCmd(t *target) *cobra.Command {
	var states, types []string
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List groups",
		Example: "  ringmain group list\n" +
			"  ringmain group list --state Stable,Empty --type consumer --output json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			var err error
			if states, err = inWords("--state", states, groupStates); err != nil {
				return err
			}
			if types, err = inWords("--type", types, groupTypes); err != nil {
				return err
			}
			ctx, c, done, err := t.ask(cmd)
			if err != nil {
				return err
			}
			defer done()
			items, err := group.List(ctx, c, states, types)
			if err != nil {
				return err
			}
			grid := show.NewGrid("GROUP", "TYPE", "PROTOCOL", "STATE", "COORDINATOR")
			for _, g := range items {
				grid.Row(g.Group, g.Type, orDash(g.ProtocolType), orDash(g.State), g.Coordinator)
			}
			return printed(cmd, t, items, grid, nil)
		},
	}
	f := cmd.Flags()
	f.StringArrayVar(&states, "state", nil, "only groups in these states, with commas: "+strings.Join(groupStates, ", "))
	f.StringArrayVar(&types, "type", nil, "only groups of these types, with commas: "+strings.Join(groupTypes, ", "))
	return cmd
}

// inWords brings the values of a flag into the spelling of the words that are known.
func inWords(flag string, values, all []string) ([]string, error) {
	out := words(values)
	for i, v := range out {
		at := slices.IndexFunc(all, func(w string) bool { return strings.EqualFold(w, v) })
		if at < 0 {
			return nil, usagef("%s %q is not known; use %s", flag, v, strings.Join(all, ", "))
		}
		out[i] = all[at]
	}
	return out, nil
}
