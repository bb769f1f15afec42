package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"ringmain/cmd/ringmain/internal/show"
	"ringmain/perf"
)

// comparisonFlags are what commands share that end in a comparison.
type comparisonFlags struct {
	least  float64
	json   string
	report string
}

func (f *comparisonFlags) flags(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.Float64Var(&f.least, "least", perf.DefaultLeast, "smallest change that is called a difference, as a `SHARE`")
	fl.StringVar(&f.json, "json", "", "write the comparison to `FILE` (docs/format/bench.md)")
	fl.StringVar(&f.report, "report", "", "write a page with the comparison and one result of each side to `FILE.html`")
}

func (f *comparisonFlags) check() error {
	if !(f.least >= 0 && f.least < 1) {
		return usagef("--least %v must be a share from 0 to below 1", f.least)
	}
	return writable(map[string]string{"json": f.json, "report": f.report})
}

// finish prints a comparison and writes its files.
func (f *comparisonFlags) finish(cmd *cobra.Command, t *target, c perf.Comparison, sides []benchSide) error {
	format, err := t.format()
	if err != nil {
		return err
	}
	var failures []error
	if format == show.JSON {
		failures = append(failures, show.Document(cmd.OutOrStdout(), c))
	} else {
		failures = append(failures, writeComparison(cmd.OutOrStdout(), c))
	}
	if f.json != "" {
		failures = append(failures, saveFile(f.json, func(w io.Writer) error { return show.Document(w, c) }))
	}
	if f.report != "" {
		failures = append(failures, savePage(f.report, "comparison", samples(sides), &c))
	}
	return errors.Join(failures...)
}

func newBenchCompareCmd() *cobra.Command {
	t := &target{}
	var f comparisonFlags
	var named []string
	cmd := &cobra.Command{
		Use:   "compare [FILE...]",
		Short: "Compare results, and say what is a difference and what is noise",
		Long: "Compare results of ringmain bench (--json). The first side is the base; every other one\n" +
			"is compared with it. Each FILE is a side of its own; --side makes one of several files,\n" +
			"which are its rounds. Patterns are filled in there.\n\n" +
			fmt.Sprintf("A verdict needs %d pairs of rounds at least. A pair is two rounds, one of each side, that\n", perf.MinPairs) +
			"were measured next to each other; 'ringmain bench ab' measures them so. With fewer there\n" +
			"are medians and ratios, and no verdict.",
		Example: "  ringmain bench compare before.json after.json\n" +
			"  ringmain bench compare --side old='old-*.json' --side new=n1.json,n2.json --report page.html",
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if _, err := t.format(); err != nil {
				return err
			}
			if err := f.check(); err != nil {
				return err
			}
			sides, err := parseSides(args, named)
			if err != nil {
				return err
			}
			warnOf(cmd, sides)
			c, err := perf.Compare(rounds(sides), perf.Figures(), f.least)
			if err != nil {
				return err
			}
			return f.finish(cmd, t, c, sides)
		},
	}
	t.ownFlags(cmd, "output")
	cmd.Flags().StringArrayVar(&named, "side", nil, "a side with its results, `NAME=FILE[,FILE...]`, repeatable")
	f.flags(cmd)
	return cmd
}

// writeComparison prints one table for each side but the first.
func writeComparison(w io.Writer, c perf.Comparison) error {
	for k, side := range c.Sides[1:] {
		if k > 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintf(w, "%s (%s) against %s (%s)\n", show.Plain(side.Name), plural(len(side.Rounds), "round"), show.Plain(c.Sides[0].Name), plural(len(c.Sides[0].Rounds), "round"))
		grid := show.NewGrid("FIGURE", "UNIT", "BASE", "OTHER", "RATIO", "INTERVAL", "PAIRS", "VERDICT")
		reason, reasons := "", map[string]bool{}
		for _, row := range c.Rows {
			j := row.Against[k]
			ratio, interval := "-", "-"
			if j.Ratio > 0 {
				ratio = fmt.Sprintf("%.3f", j.Ratio)
			}
			if j.Low != nil && j.High != nil {
				interval = fmt.Sprintf("%.3f to %.3f", *j.Low, *j.High)
			}
			verdict := row.Word(j)
			switch {
			case !row.Figure.Judged:
				verdict = "-"
			case j.Verdict == perf.Unjudged:
				reason, reasons[j.Reason] = j.Reason, true
			case j.Reason != "":
				verdict += " (" + j.Reason + ")"
			}
			grid.Row(row.Figure.Name, orDash(row.Figure.Unit), figureCell(row.Medians[0]), figureCell(row.Medians[k+1]), ratio, interval, j.Pairs, verdict)
		}
		if err := grid.Write(w); err != nil {
			return err
		}
		if len(reasons) == 1 { // the same for all, as a rule
			fmt.Fprintf(w, "not judged: %s\n", reason)
		}
	}
	return nil
}

// figureCell is a median with as many digits as mean something.
func figureCell(v *float64) string {
	switch {
	case v == nil:
		return "-"
	case *v >= 100:
		return fmt.Sprintf("%.0f", *v)
	}
	return fmt.Sprintf("%.3g", *v)
}
