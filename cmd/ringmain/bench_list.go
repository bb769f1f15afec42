package main

import (
	"github.com/spf13/cobra"

	"ringmain/bench/workload"
	"ringmain/cmd/ringmain/internal/show"
)

// listedWorkload is one item of the result of bench list.
type listedWorkload struct {
	Name        string        `json:"name"`
	Kind        workload.Kind `json:"kind"`
	Description string        `json:"description"`
}

func newBenchListCmd() *cobra.Command {
	t := &target{}
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List the workloads that come with ringmain",
		Example: "  ringmain bench list\n  ringmain bench list --output json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			items := []listedWorkload{}
			grid := show.NewGrid("WORKLOAD", "KIND", "DESCRIPTION")
			for _, name := range workload.Builtin() {
				s, err := workload.Load(name)
				if err != nil {
					return err
				}
				items = append(items, listedWorkload{name, s.Kind, s.Description})
				grid.Row(name, s.Kind, s.Description)
			}
			return printed(cmd, t, items, grid, nil)
		},
	}
	t.ownFlags(cmd, "output")
	return cmd
}
