package main

import (
	"github.com/spf13/cobra"
)

func newClusterCmd() *cobra.Command {
	t := &target{}
	cmd := &cobra.Command{
		Use:     "cluster",
		Short:   "Show the cluster and its brokers",
		Example: "  ringmain cluster describe",
		RunE:    needCommand,
	}
	t.flags(cmd)
	cmd.AddCommand(newClusterDescribeCmd(t))
	return cmd
}
