package main

import (
	"strings"

	"github.com/spf13/cobra"

	"ringmain/bench"
)

// newRootCmd builds the whole tree. A new command is one line in the list.
func newRootCmd() *cobra.Command {
	root := &cobra.Command{
		Use:   "ringmain",
		Short: "A broker that speaks Kafka's protocol, and a client for it",
		Long: "ringmain is a Kafka-compatible broker in one binary, and a command line client\n" +
			"for any broker that speaks Kafka's protocol.",
		Example: "  ringmain topic create orders --partitions 3\n" +
			"  echo hello | ringmain produce orders\n" +
			"  ringmain consume orders --exit",
		// main prints errors, once and with the right exit code.
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE:          needCommand,
	}
	root.AddCommand(
		newServeCmd(),
		newTopicCmd(),
		newGroupCmd(),
		newProduceCmd(),
		newConsumeCmd(),
		newConfigCmd(),
		newClusterCmd(),
		newBenchCmd(instrument{bench.Run, bench.FindKnee}),
		newLogCmd(),
		newVersionCmd(),
	)
	root.CompletionOptions.HiddenDefaultCmd = true
	strictUsage(root)
	return root
}

// needCommand is the body of commands that only hold others.
func needCommand(cmd *cobra.Command, _ []string) error {
	var names []string
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() {
			names = append(names, sub.Name())
		}
	}
	return usagef("'%s' needs a command: %s", cmd.CommandPath(), strings.Join(names, ", "))
}
