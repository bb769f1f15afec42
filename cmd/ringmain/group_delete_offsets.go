package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kadm"

	"ringmain/cmd/ringmain/internal/connection"
	"ringmain/cmd/ringmain/internal/group"
	"ringmain/cmd/ringmain/internal/show"
)

// deletedOffset is one item of the result of group delete-offsets.
type deletedOffset struct {
	Group     string   `json:"group"`
	Topic     string   `json:"topic"`
	Partition int32    `json:"partition"`
	Offset    int64    `json:"offset"` // that was committed
	Deleted   bool     `json:"deleted"`
	Error     *outcome `json:"error"`
}

func newGroupDeleteOffsetsCmd(t *target) *cobra.Command {
	var topics []string
	cmd := &cobra.Command{
		Use:   "delete-offsets GROUP",
		Short: "Delete committed offsets of topics that a group reads no more",
		Example: "  ringmain group delete-offsets billing --topic orders\n" +
			"  ringmain group delete-offsets billing --topic orders:0,2 --topic audit",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			scope, err := scopeOf(topics)
			if err != nil {
				return err
			}
			if len(scope) == 0 {
				return usagef("say which offsets: --topic TOPIC or --topic TOPIC:0,1,2")
			}
			ctx, c, done, err := t.ask(cmd)
			if err != nil {
				return err
			}
			defer done()
			groups, failures, err := group.Describe(ctx, c, args)
			if err != nil {
				return err
			}
			if len(groups) == 0 {
				return errors.Join(failures...)
			}
			chosen, err := groups[0].Committed(scope)
			if err != nil {
				return err
			}
			set := kadm.TopicsSet{}
			for _, o := range chosen {
				set.Add(o.Topic, o.Partition)
			}
			answer, err := c.Admin.DeleteOffsets(ctx, args[0], set)
			if err != nil {
				return connection.RefusedErr(fmt.Sprintf("delete offsets of group %q", args[0]), c.Explain(err), "")
			}
			items := []deletedOffset{}
			grid := show.NewGrid("GROUP", "TOPIC", "PARTITION", "OFFSET", "RESULT")
			for _, o := range chosen {
				err := connection.RefusedErr(fmt.Sprintf("delete the offset of partition %d of topic %q of group %q", o.Partition, o.Topic, args[0]), answer[o.Topic][o.Partition], "")
				items = append(items, deletedOffset{Group: args[0], Topic: o.Topic, Partition: o.Partition, Offset: o.Committed, Deleted: err == nil, Error: outcomeOf(err)})
				if err != nil {
					failures = append(failures, err)
					continue
				}
				grid.Row(args[0], o.Topic, o.Partition, o.Committed, "deleted")
			}
			return printed(cmd, t, items, grid, failures)
		},
	}
	cmd.Flags().StringArrayVar(&topics, "topic", nil, "`TOPIC` or TOPIC:0,1,2, repeatable")
	return cmd
}
