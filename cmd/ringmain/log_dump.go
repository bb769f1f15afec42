package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"ringmain/cmd/ringmain/internal/show"
	"ringmain/controller"
	"ringmain/node"
	"ringmain/segment"
)

func newLogDumpCmd() *cobra.Command {
	var o segment.DumpOptions
	var t target
	cmd := &cobra.Command{
		Use:   "dump FILE...",
		Short: "Print files of a data directory as text",
		Long: "Print files of a data directory as text: segments, indexes, snapshots, checkpoints,\n" +
			"journals, the list of log directories, and the metadata log with its checkpoints and\n" +
			"votes. With --output json, of journals only, each line is a document: a commit.\n" +
			"The files are only read, and a broker may be using them. Damage is reported where it\n" +
			"lies, and by the exit code 1.",
		Example: "  ringmain log dump ringmain-data/orders-0/00000000000000000000.log\n" +
			"  ringmain log dump --records --from-offset 1500 --batches 3 ringmain-data/orders-0/00000000000000000000.log\n" +
			"  ringmain log dump ringmain-data/orders-0/leader-epoch-checkpoint\n" +
			"  ringmain log dump --output json ringmain-data/ringmain-journal-0",
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.FromOffset < 0 {
				return usagef("--from-offset %d must be 0 or more", o.FromOffset)
			}
			if o.MaxBatches < 0 {
				return usagef("--batches %d must be 0 or more", o.MaxBatches)
			}
			format, err := t.format()
			if err != nil {
				return err
			}
			o.JSON = format == show.JSON
			var failures []error
			for i, path := range args {
				if len(args) > 1 && !o.JSON {
					fmt.Fprintf(cmd.OutOrStdout(), "%s==> %s\n", pick(i > 0, "\n", ""), path)
				}
				if err := dumpFile(cmd.OutOrStdout(), path, o); err != nil {
					failures = append(failures, err)
				}
			}
			return errors.Join(failures...)
		},
	}
	t.ownFlags(cmd, "output")
	cmd.Flags().BoolVar(&o.Records, "records", false, "of segments and journals, print every record")
	cmd.Flags().Int64Var(&o.FromOffset, "from-offset", 0, "of segments, leave out batches that end before this offset")
	cmd.Flags().IntVar(&o.MaxBatches, "batches", 0, "of segments, stop after so many batches; 0: all")
	return cmd
}

// dumpFile asks the package that the file belongs to.
func dumpFile(out io.Writer, path string, o segment.DumpOptions) error {
	switch {
	case o.JSON:
	case controller.CanDump(path):
		return controller.DumpFile(out, path)
	case node.CanDump(path):
		return node.DumpFile(out, path)
	}
	return segment.DumpFile(out, path, o)
}
