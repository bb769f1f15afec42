package main

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"ringmain/bench/result"
	"ringmain/perf"
)

func newBenchReportCmd() *cobra.Command {
	var path, title string
	cmd := &cobra.Command{
		Use:   "report FILE...",
		Short: "Draw results as a page",
		Long: "Draw results (--json of ringmain bench) side by side as one page of HTML, which needs\n" +
			"nothing else. One of the files may be a comparison (--json of compare or ab): its\n" +
			"verdicts come first then.",
		Example: "  ringmain bench report run.json --report run.html\n" +
			"  ringmain bench report before.json after.json comparison.json --report page.html --title 'new loops'",
		Args: cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if path == "" {
				return usagef("--report FILE.html is missing: where the page goes")
			}
			if err := writable(map[string]string{"report": path}); err != nil {
				return err
			}
			documents, comparison, err := readDocuments(args)
			if err != nil {
				return err
			}
			return savePage(path, title, documents, comparison)
		},
	}
	cmd.Flags().StringVar(&path, "report", "", "write the page to `FILE.html`")
	cmd.Flags().StringVar(&title, "title", "", "title of the page")
	return cmd
}

// readDocuments reads results and at most one comparison.
func readDocuments(paths []string) (documents []namedDocument, comparison *perf.Comparison, err error) {
	called := names(paths)
	for i, path := range paths {
		c, err := readComparison(path)
		switch {
		case err != nil:
			return nil, nil, err
		case c != nil && comparison != nil:
			return nil, nil, usagef("%s is a second comparison; a page has one", path)
		case c != nil:
			comparison = c
			continue
		}
		d, err := result.ReadFile(path)
		if err != nil {
			return nil, nil, err
		}
		documents = append(documents, namedDocument{called[i], d})
	}
	return documents, comparison, nil
}

// readComparison is nil if the file is there and is something else.
func readComparison(path string) (*perf.Comparison, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var head struct {
		Kind   string `json:"kind"`
		Format int    `json:"format"`
	}
	if err := json.Unmarshal(text, &head); err != nil || head.Kind != perf.ComparisonKind {
		return nil, nil
	}
	if head.Format != perf.ComparisonFormat {
		return nil, fmt.Errorf("%s: the comparison has format %d and this build reads %d; use the ringmain that wrote it, or a newer one", path, head.Format, perf.ComparisonFormat)
	}
	c := &perf.Comparison{}
	if err := json.Unmarshal(text, c); err != nil {
		return nil, fmt.Errorf("%s: read the comparison: %w", path, err)
	}
	if len(c.Sides) < 2 {
		return nil, fmt.Errorf("%s: a comparison of %s is none", path, plural(len(c.Sides), "side"))
	}
	for _, row := range c.Rows {
		if len(row.Medians) != len(c.Sides) || len(row.Against) != len(c.Sides)-1 {
			return nil, fmt.Errorf("%s: figure %q is not of all sides", path, row.Figure.Name)
		}
	}
	return c, nil
}
