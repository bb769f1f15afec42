package main

import (
	"github.com/spf13/cobra"

	"ringmain/bench/workload"
	"ringmain/cmd/ringmain/internal/show"
)

func newBenchShowCmd() *cobra.Command {
	t := &target{}
	cmd := &cobra.Command{
		Use:   "show WORKLOAD",
		Short: "Print a workload as the file that it is",
		Long: "Print a workload as the file that it is: a start for one of your own. With --output\n" +
			"json it is printed with every key, also those that it leaves to the defaults.",
		Example: "  ringmain bench show produce-64k > mine.yaml\n" +
			"  ringmain bench show e2e-10k --output json",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			format, err := t.format()
			if err != nil {
				return err
			}
			s, err := loadWorkload(cmd.Parent(), args[0])
			if err != nil {
				return err
			}
			if format == show.JSON {
				return show.Document(cmd.OutOrStdout(), s)
			}
			text, err := workload.Source(args[0])
			if err != nil {
				return err
			}
			_, err = cmd.OutOrStdout().Write(text)
			return err
		},
	}
	t.ownFlags(cmd, "output")
	return cmd
}
