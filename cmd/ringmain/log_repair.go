package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"ringmain/segment"
)

func newLogRepairCmd() *cobra.Command {
	s := &storage{}
	var yes bool
	cmd := &cobra.Command{
		Use:   "repair [TOPIC[-PARTITION]...]",
		Short: "Cut what is damaged out of a node's directories, and make the rest whole",
		Long: "Check everything as log verify does, and say what would be done about each thing that\n" +
			"is wrong: which bytes would leave which file, which offsets are lost, what would be made\n" +
			"again. With --yes it is done.\n\n" +
			"Nothing is deleted. Bytes that leave a file are in another one beside it first, whose\n" +
			"name ends in .damaged. Lost offsets are never given to other records. What has no copy\n" +
			"here (the metadata log, votes) is left to somebody who has one.\n\n" +
			"Copy the directory before; on a cluster, let the other replicas serve meanwhile.",
		Example: "  ringmain log repair\n" +
			"  ringmain log repair --data-dir /var/lib/ringmain orders-0\n" +
			"  ringmain log repair --data-dir /var/lib/ringmain orders-0 --yes",
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			v, out, err := s.run(cmd, args)
			if err != nil {
				return err
			}
			defer v.Close()
			var left []segment.Finding
			for _, f := range out.Findings {
				if f.Repair == "" {
					left = append(left, f)
				}
			}
			failed := harm(left, "beyond repair here")
			if yes {
				if err := v.Repair(); err != nil {
					return err
				}
				out.Repaired = len(left) == 0
			}
			if err := s.print(cmd, out, failed); err != nil {
				return err
			}
			if s.output == "table" && !yes && len(out.Findings) > len(left) {
				fmt.Fprintln(cmd.OutOrStdout(), "nothing was changed; --yes does what the last column says")
			}
			return nil
		},
	}
	s.flags(cmd)
	cmd.Flags().BoolVar(&yes, "yes", false, "do it")
	return cmd
}
