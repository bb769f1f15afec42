package main

import (
	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func newTopicAlterCmd(t *target) *cobra.Command {
	var set, remove []string
	var validateOnly bool
	cmd := &cobra.Command{
		Use:   "alter TOPIC...",
		Short: "Change configs of topics",
		Long: "Change configs of topics. Configs that are not named stay as they are. To append\n" +
			"to a list see 'ringmain config append'; to add partitions see 'ringmain topic\n" +
			"add-partitions'.",
		Example: "  ringmain topic alter orders --config retention.ms=3600000 --delete-config segment.bytes",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			changes, err := setChanges(set)
			if err != nil {
				return err
			}
			for _, key := range remove {
				changes = append(changes, configChange{kmsg.IncrementalAlterConfigOpDelete, key, nil})
			}
			if len(changes) == 0 {
				return usagef("nothing to change: give --config KEY=VALUE or --delete-config KEY")
			}
			var resources []configResource
			for _, name := range args {
				resources = append(resources, configResource{kmsg.ConfigResourceTypeTopic, name})
			}
			return alterConfigs(cmd, t, resources, changes, validateOnly)
		},
	}
	f := cmd.Flags()
	f.StringArrayVarP(&set, "config", "c", nil, "set topic config `KEY=VALUE`, repeatable")
	f.StringArrayVar(&remove, "delete-config", nil, "return topic config `KEY` to its default, repeatable")
	f.BoolVar(&validateOnly, "validate-only", false, "check, change nothing")
	return cmd
}
