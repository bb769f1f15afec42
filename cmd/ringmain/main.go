package main

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
)

func main() {
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// run executes one command line and returns the process's exit code. It takes
// its streams so that tests can run whole commands without a process.
func run(args []string, in io.Reader, out, errOut io.Writer) int {
	return execute(newRootCmd(), args, in, out, errOut)
}

// execute is run with a tree of commands that the caller has built.
func execute(root *cobra.Command, args []string, in io.Reader, out, errOut io.Writer) int {
	root.SetArgs(args)
	root.SetIn(in)
	root.SetOut(out)
	root.SetErr(errOut)
	cmd, err := root.ExecuteC()
	if err == nil {
		return exitOK
	}
	code := exitCode(err)
	for _, line := range strings.Split(err.Error(), "\n") {
		fmt.Fprintln(errOut, "ringmain: "+line)
	}
	if code == exitUsage {
		fmt.Fprintf(errOut, "See '%s --help'.\n", cmd.CommandPath())
	}
	return code
}
