package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kmsg"

	"ringmain/cmd/ringmain/internal/connection"
	"ringmain/cmd/ringmain/internal/show"
	"ringmain/model"
)

// describedTopic is one item of the result of topic describe.
type describedTopic struct {
	Topic      string               `json:"topic"`
	TopicID    string               `json:"topic_id,omitempty"`
	Internal   bool                 `json:"internal"`
	Configs    map[string]string    `json:"configs"` // set for the topic itself
	Partitions []describedPartition `json:"partitions"`
}

// describedPartition has the offsets -1 when they could not be had.
type describedPartition struct {
	Partition   int32   `json:"partition"`
	Leader      int32   `json:"leader"`
	LeaderEpoch int32   `json:"leader_epoch"`
	Replicas    []int32 `json:"replicas"`
	ISR         []int32 `json:"isr"`
	Offline     []int32 `json:"offline_replicas"`
	StartOffset int64   `json:"start_offset"`
	EndOffset   int64   `json:"end_offset"`
	Error       string  `json:"error,omitempty"`
}

func newTopicDescribeCmd(t *target) *cobra.Command {
	return &cobra.Command{
		Use:   "describe TOPIC...",
		Short: "Show partitions, replicas, offsets and configs of topics",
		Example: "  ringmain topic describe orders\n" +
			"  ringmain topic describe orders audit --output json",
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, c, done, err := t.ask(cmd)
			if err != nil {
				return err
			}
			defer done()
			items, failures, err := describeTopics(ctx, c, args)
			if err != nil {
				return err
			}
			if format, _ := t.format(); format == show.Table {
				for i, item := range items {
					if i > 0 {
						fmt.Fprintln(cmd.OutOrStdout())
					}
					if err := item.write(cmd); err != nil {
						return err
					}
				}
			}
			return printed(cmd, t, items, nil, failures)
		},
	}
}

func describeTopics(ctx context.Context, c *connection.Conn, names []string) (items []describedTopic, failures []error, err error) {
	meta, err := c.Admin.Metadata(ctx, names...)
	if err != nil {
		return nil, nil, fmt.Errorf("describe topics: %w", c.Explain(err))
	}
	items = []describedTopic{}
	var existing []string
	for _, name := range names {
		d := meta.Topics[name]
		if d.Err != nil {
			failures = append(failures, connection.RefusedErr(fmt.Sprintf("describe topic %q", name), d.Err, ""))
			continue
		}
		existing = append(existing, name)
	}
	if len(existing) == 0 {
		return items, failures, nil
	}
	starts, startErr := c.Admin.ListStartOffsets(ctx, existing...)
	ends, endErr := c.Admin.ListEndOffsets(ctx, existing...)
	configs, configErr := c.Admin.DescribeTopicConfigs(ctx, existing...)
	for _, err := range []error{startErr, endErr, configErr} {
		if err != nil {
			failures = append(failures, fmt.Errorf("describe topics: %w", c.Explain(err)))
		}
	}
	for _, name := range existing {
		items = append(items, describedTopicOf(meta.Topics[name], starts, ends, configs))
	}
	return items, failures, nil
}

func describedTopicOf(d kadm.TopicDetail, starts, ends kadm.ListedOffsets, configs kadm.ResourceConfigs) describedTopic {
	item := describedTopic{Topic: d.Topic, Internal: d.IsInternal, Configs: map[string]string{}, Partitions: []describedPartition{}}
	if id := model.TopicID(d.ID); !id.IsZero() {
		item.TopicID = id.String()
	}
	for _, r := range configs {
		if r.Name != d.Topic {
			continue
		}
		for _, cfg := range r.Configs {
			if cfg.Source == kmsg.ConfigSourceDynamicTopicConfig {
				item.Configs[cfg.Key] = cfg.MaybeValue()
			}
		}
	}
	for _, p := range d.Partitions.Sorted() {
		dp := describedPartition{
			Partition: p.Partition, Leader: p.Leader, LeaderEpoch: p.LeaderEpoch,
			Replicas: list(p.Replicas), ISR: list(p.ISR), Offline: list(p.OfflineReplicas),
			StartOffset: -1, EndOffset: -1,
		}
		if o, ok := starts.Lookup(d.Topic, p.Partition); ok && o.Err == nil {
			dp.StartOffset = o.Offset
		}
		if o, ok := ends.Lookup(d.Topic, p.Partition); ok && o.Err == nil {
			dp.EndOffset = o.Offset
		}
		if p.Err != nil {
			dp.Error = p.Err.Error()
		}
		item.Partitions = append(item.Partitions, dp)
	}
	return item
}

// write prints one topic for people.
func (d describedTopic) write(cmd *cobra.Command) error {
	out := cmd.OutOrStdout()
	var configs []string
	for _, k := range slices.Sorted(maps.Keys(d.Configs)) {
		configs = append(configs, k+"="+d.Configs[k])
	}
	fmt.Fprintf(out, "topic %s  id %s  partitions %d  configs %s\n", show.Plain(d.Topic), orDash(d.TopicID), len(d.Partitions), show.Plain(orDash(strings.Join(configs, " "))))
	grid := show.NewGrid("PARTITION", "LEADER", "EPOCH", "REPLICAS", "ISR", "OFFLINE", "START", "END", "RECORDS")
	for _, p := range d.Partitions {
		records := int64(-1)
		if p.StartOffset >= 0 && p.EndOffset >= 0 {
			records = p.EndOffset - p.StartOffset
		}
		leader := offsetCell(int64(p.Leader))
		grid.Row(p.Partition, leader, offsetCell(int64(p.LeaderEpoch)), show.IDs(p.Replicas), show.IDs(p.ISR), show.IDs(p.Offline), offsetCell(p.StartOffset), offsetCell(p.EndOffset), offsetCell(records))
	}
	return grid.Write(out)
}

// list is ids, never null in JSON.
func list(ids []int32) []int32 {
	if ids == nil {
		return []int32{}
	}
	return ids
}
