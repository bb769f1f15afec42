package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"ringmain/cmd/ringmain/internal/connection"
	"ringmain/cmd/ringmain/internal/show"
)

// grownTopic is one item of the result of topic add-partitions.
type grownTopic struct {
	Topic      string   `json:"topic"`
	Partitions int      `json:"partitions"`
	Error      *outcome `json:"error"`
}

func newTopicAddPartitionsCmd(t *target) *cobra.Command {
	var total, add int
	cmd := &cobra.Command{
		Use:   "add-partitions TOPIC",
		Short: "Give a topic more partitions",
		Long: "Give a topic more partitions: up to a total, or a number of new ones. Records that\n" +
			"are there stay where they are, and keys may go to other partitions from then on.\n" +
			"A topic cannot have fewer partitions than before.",
		Example: "  ringmain topic add-partitions orders --partitions 6\n" +
			"  ringmain topic add-partitions orders --add 3",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if total <= 0 && add <= 0 {
				return usagef("give --partitions TOTAL or --add NUMBER, more than 0")
			}
			ctx, c, done, err := t.ask(cmd)
			if err != nil {
				return err
			}
			defer done()
			name := args[0]
			meta, err := c.Admin.Metadata(ctx, name)
			if err != nil {
				return c.Explain(err)
			}
			what := fmt.Sprintf("add partitions to topic %q", name)
			if err := connection.RefusedErr(what, meta.Topics[name].Err, ""); err != nil {
				return err
			}
			want := total
			if add > 0 {
				want = len(meta.Topics[name].Partitions) + add
			}
			resp, err := c.Admin.UpdatePartitions(ctx, want, name)
			if err != nil {
				return fmt.Errorf("%s: %w", what, c.Explain(err))
			}
			err = connection.RefusedErr(what, resp[name].Err, resp[name].ErrMessage)
			item := grownTopic{Topic: name, Partitions: want, Error: outcomeOf(err)}
			grid := show.NewGrid("TOPIC", "PARTITIONS")
			if err != nil {
				item.Partitions = len(meta.Topics[name].Partitions)
				return printed(cmd, t, item, nil, []error{err})
			}
			grid.Row(name, want)
			return printed(cmd, t, item, grid, nil)
		},
	}
	cmd.Flags().IntVarP(&total, "partitions", "p", 0, "new total number of partitions")
	cmd.Flags().IntVar(&add, "add", 0, "number of partitions to add")
	cmd.MarkFlagsMutuallyExclusive("partitions", "add")
	return cmd
}
