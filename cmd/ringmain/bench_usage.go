package main

import (
	"fmt"

	"github.com/spf13/cobra"
)

// flagGroup is flags that belong together, by their names.
type flagGroup struct {
	title string
	flags []string
}

// helpWidth is how long lines of help get.
const helpWidth = 100

// groupedUsage is the usage of a command with so many flags that they are shown
// in groups. The commands below it, which inherit it, have cobra's own.
func groupedUsage(grouped *cobra.Command, groups []flagGroup) func(*cobra.Command) error {
	plain := (&cobra.Command{}).UsageFunc()
	return func(cmd *cobra.Command) error {
		if cmd != grouped {
			return plain(cmd)
		}
		out := cmd.OutOrStderr()
		fmt.Fprintf(out, "Usage:\n  %s\n", cmd.UseLine())
		if cmd.HasAvailableSubCommands() {
			fmt.Fprintf(out, "  %s [command]\n", cmd.CommandPath())
		}
		fmt.Fprintf(out, "\nExamples:\n%s\n", cmd.Example)
		if cmd.HasAvailableSubCommands() {
			fmt.Fprintf(out, "\nAvailable Commands:\n")
			for _, sub := range cmd.Commands() {
				if sub.IsAvailableCommand() {
					fmt.Fprintf(out, "  %-10s %s\n", sub.Name(), sub.Short)
				}
			}
		}
		for _, g := range groups {
			holder := &cobra.Command{}
			holder.Flags().SortFlags = false
			for _, name := range g.flags {
				holder.Flags().AddFlag(cmd.Flags().Lookup(name))
			}
			fmt.Fprintf(out, "\n%s:\n%s", g.title, holder.Flags().FlagUsagesWrapped(helpWidth))
		}
		return nil
	}
}
