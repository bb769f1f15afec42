package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"ringmain/cmd/ringmain/internal/group"
)

func newGroupCmd() *cobra.Command {
	t := &target{}
	cmd := &cobra.Command{
		Use:   "group",
		Short: "List, describe, reset and delete consumer groups",
		Long: "List, describe, reset and delete consumer groups, of the classic protocol and of the\n" +
			"consumer protocol (KIP-848).",
		Example: "  ringmain group list\n" +
			"  ringmain group describe billing\n" +
			"  ringmain group reset-offsets billing --topic orders --to-datetime 15m --execute",
		RunE: needCommand,
	}
	t.flags(cmd)
	cmd.AddCommand(
		newGroupListCmd(t),
		newGroupDescribeCmd(t),
		newGroupResetOffsetsCmd(t),
		newGroupDeleteCmd(t),
		newGroupDeleteOffsetsCmd(t),
		newGroupRemoveMembersCmd(t),
	)
	return cmd
}

// groupNames checks the groups of commands that take some, or all of them.
func groupNames(args []string, all bool) error {
	switch {
	case all && len(args) > 0:
		return usagef("--all means every group; give it or names, not both")
	case !all && len(args) == 0:
		return usagef("name a group, or give --all")
	}
	for i, id := range args {
		if slices.Contains(args[:i], id) {
			return usagef("group %q is given twice", id)
		}
	}
	return nil
}

// scopeOf reads --topic values.
func scopeOf(topics []string) (group.Scope, error) {
	scope, err := group.ParseScope(topics)
	if err != nil {
		return nil, usagef("--topic: %w", err)
	}
	return scope, nil
}

// words splits values between commas and drops empty ones.
func words(values []string) (out []string) {
	for _, v := range values {
		for _, w := range strings.Split(v, ",") {
			if w = strings.TrimSpace(w); w != "" {
				out = append(out, w)
			}
		}
	}
	return out
}
