package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
)

// Exit codes: part of the interface that scripts rely on.
const (
	exitOK      = 0
	exitFailure = 1
	exitUsage   = 2
)

// usageError marks a mistake in the command line itself: nothing was sent.
type usageError struct{ err error }

func (e usageError) Error() string { return e.err.Error() }
func (e usageError) Unwrap() error { return e.err }

// ExitCode makes usageError one of the errors that choose their exit code.
func (e usageError) ExitCode() int { return exitUsage }

func usagef(format string, args ...any) error {
	return usageError{fmt.Errorf(format, args...)}
}

// exitCode asks the error: any error in the chain may choose its own code by a
// method ExitCode() int, so that packages below need not import this one.
func exitCode(err error) int {
	var chooser interface{ ExitCode() int }
	if errors.As(err, &chooser) {
		return chooser.ExitCode()
	}
	return exitFailure
}

// besideCommands annotates a command that takes arguments of its own beside the
// commands below it: bench runs a workload and has bench list. Every other
// command that holds commands takes the name of one of them and nothing else.
const besideCommands = "arguments beside commands"

// strictUsage makes every mistake in the arguments of cmd and the commands
// below it a usage error. cobra itself does not tell a wrong argument from a
// failed run.
func strictUsage(cmd *cobra.Command) {
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	check := cmd.Args
	if check == nil {
		check = cobra.NoArgs
	}
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if cmd.HasSubCommands() && len(args) > 0 && cmd.Annotations[besideCommands] == "" {
			return usagef("%q is not a command of '%s'%s", args[0], cmd.CommandPath(), suggestion(cmd, args[0]))
		}
		if err := check(cmd, args); err != nil {
			return usagef("%w; usage: %s", err, cmd.UseLine())
		}
		// cobra checks flag groups after the arguments, with plain errors.
		if err := cmd.ValidateFlagGroups(); err != nil {
			return usageError{err}
		}
		return nil
	}
	for _, sub := range cmd.Commands() {
		strictUsage(sub)
	}
}

// suggestion names the command that was probably meant, if any is close.
func suggestion(cmd *cobra.Command, word string) string {
	cmd.SuggestionsMinimumDistance = 2
	if near := cmd.SuggestionsFor(word); len(near) > 0 {
		return fmt.Sprintf("; did you mean %q?", near[0])
	}
	return ""
}
