package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kerr"

	"ringmain/cmd/ringmain/internal/connection"
	"ringmain/cmd/ringmain/internal/show"
)

// deletedTopic is one item of the result of topic delete.
type deletedTopic struct {
	Topic   string   `json:"topic"`
	Deleted bool     `json:"deleted"`
	Error   *outcome `json:"error"`
}

func newTopicDeleteCmd(t *target) *cobra.Command {
	var ifExists bool
	cmd := &cobra.Command{
		Use:     "delete TOPIC...",
		Short:   "Delete topics and all their records",
		Example: "  ringmain topic delete orders\n  ringmain topic delete scratch --if-exists",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, c, done, err := t.ask(cmd)
			if err != nil {
				return err
			}
			defer done()
			resp, err := c.Admin.DeleteTopics(ctx, args...)
			if err != nil {
				return fmt.Errorf("delete topics: %w", c.Explain(err))
			}
			items := []deletedTopic{}
			var failures []error
			grid := show.NewGrid("TOPIC", "RESULT")
			for _, r := range resp.Sorted() {
				err := connection.RefusedErr(fmt.Sprintf("delete topic %q", r.Topic), r.Err, r.ErrMessage)
				item := deletedTopic{Topic: r.Topic, Deleted: err == nil, Error: outcomeOf(err)}
				switch {
				case err == nil:
					grid.Row(r.Topic, "deleted")
				case ifExists && errors.Is(err, kerr.UnknownTopicOrPartition):
					item.Error = nil
					grid.Row(r.Topic, "does not exist")
				default:
					failures = append(failures, err)
				}
				items = append(items, item)
			}
			return printed(cmd, t, items, grid, failures)
		},
	}
	cmd.Flags().BoolVar(&ifExists, "if-exists", false, "a topic that does not exist is not an error")
	return cmd
}
