package main

import (
	"fmt"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kadm"

	"ringmain/cmd/ringmain/internal/connection"
	"ringmain/cmd/ringmain/internal/position"
	"ringmain/cmd/ringmain/internal/show"
)

// trimmedPartition is one item of the result of topic delete-records.
type trimmedPartition struct {
	Topic       string   `json:"topic"`
	Partition   int32    `json:"partition"`
	StartOffset int64    `json:"start_offset"` // after the deletion; -1: unknown
	Error       *outcome `json:"error"`
}

func newTopicDeleteRecordsCmd(t *target) *cobra.Command {
	var before []string
	var all bool
	cmd := &cobra.Command{
		Use:   "delete-records TOPIC",
		Short: "Delete the records of a topic below given offsets",
		Long: "Delete the records of a topic below given offsets, partition by partition. The\n" +
			"log start offset moves up; nobody can read below it any more.",
		Example: "  ringmain topic delete-records orders --before 0:1500 --before 1:end\n" +
			"  ringmain topic delete-records orders --all",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			name := args[0]
			offsets := kadm.Offsets{}
			for _, b := range before {
				p, o, err := position.ParsePartitionOffset(b)
				if err != nil {
					return usagef("--before: %w", err)
				}
				if _, twice := offsets.Lookup(name, p); twice {
					return usagef("--before: partition %d is given twice", p)
				}
				offsets.AddOffset(name, p, o, -1)
			}
			if len(before) == 0 && !all {
				return usagef("say what to delete: --before PARTITION:OFFSET, or --all")
			}
			ctx, c, done, err := t.ask(cmd)
			if err != nil {
				return err
			}
			defer done()
			meta, err := c.Admin.Metadata(ctx, name)
			if err != nil {
				return c.Explain(err)
			}
			topic := meta.Topics[name]
			if err := connection.RefusedErr(fmt.Sprintf("delete records of topic %q", name), topic.Err, ""); err != nil {
				return err
			}
			if all {
				for p := range topic.Partitions {
					offsets.AddOffset(name, p, -1, -1)
				}
			}
			for p := range offsets[name] {
				if _, ok := topic.Partitions[p]; !ok {
					return fmt.Errorf("topic %q has no partition %d: it has %d, numbered from 0", name, p, len(topic.Partitions))
				}
			}
			resp, err := c.Admin.DeleteRecords(ctx, offsets)
			if err != nil {
				return fmt.Errorf("delete records: %w", c.Explain(err))
			}
			items := []trimmedPartition{}
			var failures []error
			grid := show.NewGrid("TOPIC", "PARTITION", "START")
			for _, r := range resp.Sorted() {
				err := connection.RefusedErr(fmt.Sprintf("delete records of partition %d of topic %q", r.Partition, r.Topic), r.Err, "")
				item := trimmedPartition{Topic: r.Topic, Partition: r.Partition, StartOffset: r.LowWatermark, Error: outcomeOf(err)}
				if err != nil {
					item.StartOffset = -1
					failures = append(failures, err)
				} else {
					grid.Row(r.Topic, r.Partition, r.LowWatermark)
				}
				items = append(items, item)
			}
			return printed(cmd, t, items, grid, failures)
		},
	}
	cmd.Flags().StringArrayVar(&before, "before", nil, "delete what lies before `PARTITION:OFFSET` (or PARTITION:end), repeatable")
	cmd.Flags().BoolVar(&all, "all", false, "delete all records of all partitions")
	cmd.MarkFlagsMutuallyExclusive("before", "all")
	return cmd
}
