package main

import (
	"github.com/spf13/cobra"
)

func newLogCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "log",
		Short: "Look into the files of a data directory, check and repair them",
		Example: "  ringmain log dump ringmain-data/orders-0/00000000000000000000.log\n" +
			"  ringmain log verify --data-dir ringmain-data",
		RunE: needCommand,
	}
	cmd.AddCommand(newLogDumpCmd(), newLogVerifyCmd(), newLogRepairCmd())
	return cmd
}
