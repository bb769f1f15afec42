package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"ringmain/cmd/ringmain/internal/show"
	"ringmain/model"
)

// listedTopic is one item of the result of topic list.
type listedTopic struct {
	Topic             string `json:"topic"`
	TopicID           string `json:"topic_id,omitempty"`
	Partitions        int    `json:"partitions"`
	ReplicationFactor int    `json:"replication_factor"`
	Internal          bool   `json:"internal"`
}

func newTopicListCmd(t *target) *cobra.Command {
	var internal bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List topics",
		Example: "  ringmain topic list\n" +
			"  ringmain topic list --internal --output json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, c, done, err := t.ask(cmd)
			if err != nil {
				return err
			}
			defer done()
			meta, err := c.Admin.Metadata(ctx)
			if err != nil {
				return fmt.Errorf("list topics: %w", c.Explain(err))
			}
			items := []listedTopic{}
			grid := show.NewGrid("TOPIC", "PARTITIONS", "REPLICAS", "ID")
			for _, d := range meta.Topics.Sorted() {
				if d.IsInternal && !internal {
					continue
				}
				item := listedTopic{Topic: d.Topic, Partitions: len(d.Partitions), ReplicationFactor: d.Partitions.NumReplicas(), Internal: d.IsInternal}
				if id := model.TopicID(d.ID); !id.IsZero() {
					item.TopicID = id.String()
				}
				items = append(items, item)
				grid.Row(item.Topic, item.Partitions, item.ReplicationFactor, orDash(item.TopicID))
			}
			return printed(cmd, t, items, grid, nil)
		},
	}
	cmd.Flags().BoolVar(&internal, "internal", false, "show internal topics too")
	return cmd
}
