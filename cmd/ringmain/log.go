package main

import (
	"github.com/spf13/cobra"
)

func newLogCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "log",
		Short:   "Look into the files of a data directory",
		Example: "  ringmain log dump ringmain-data/orders-0/00000000000000000000.log",
		RunE:    needCommand,
	}
	cmd.AddCommand(newLogDumpCmd())
	return cmd
}
