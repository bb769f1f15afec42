package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"ringmain/cmd/ringmain/internal/show"
)

// Set by the Makefile through -ldflags -X. A build without it (go install, go
// run) falls back to what Go itself recorded.
var (
	version = ""
	commit  = ""
)

// buildFacts is what `ringmain version` reports.
type buildFacts struct {
	Version  string `json:"version"`
	Commit   string `json:"commit"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

func currentBuild() buildFacts {
	facts := buildFacts{
		Version:  version,
		Commit:   commit,
		Go:       runtime.Version(),
		Platform: runtime.GOOS + "/" + runtime.GOARCH,
	}
	if facts.Commit == "" {
		facts.Commit = recordedCommit()
	}
	if facts.Version == "" {
		facts.Version = "development"
	}
	if facts.Commit == "" {
		facts.Commit = "unknown"
	}
	return facts
}

func recordedCommit() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			return s.Value
		}
	}
	return ""
}

func newVersionCmd() *cobra.Command {
	output := "table"
	cmd := &cobra.Command{
		Use:     "version",
		Short:   "Print the version and the commit this binary was built from",
		Example: "  ringmain version\n  ringmain version --output json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			format, err := show.ParseFormat(output)
			if err != nil {
				return usageError{err}
			}
			facts := currentBuild()
			if format == show.JSON {
				return show.Document(cmd.OutOrStdout(), facts)
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "ringmain %s (commit %s, %s, %s)\n", facts.Version, facts.Commit, facts.Go, facts.Platform)
			return err
		},
	}
	cmd.Flags().StringVar(&output, "output", output, "table or json")
	return cmd
}
