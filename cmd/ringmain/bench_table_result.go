package main

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ringmain/cmd/ringmain/internal/show"
	"ringmain/perf/report"
	"ringmain/perf/table"
)

// tablePart is what was measured of one row.
type tablePart struct {
	title string
	sides []benchSide
}

// rowTitle is a row in words.
func rowTitle(r table.Row) string {
	if r.Workload == "" {
		return r.Name + " start"
	}
	return r.Name + " " + r.Workload
}

// finish prints a table and writes its files. Its error says which rows have
// bounds that do not hold.
func (f *tableFlags) finish(cmd *cobra.Command, t *target, result table.Table, parts []tablePart) error {
	for _, p := range parts {
		for _, s := range p.sides {
			for _, d := range s.docs {
				if len(d.Warnings) > 0 {
					warn(cmd, "%s, %s: %s", p.title, s.name, show.Plain(d.Warnings[0]))
					break
				}
			}
		}
	}
	if len(result.Rows) == 0 {
		return nil
	}
	format, err := t.format()
	if err != nil {
		return err
	}
	var failures []error
	if format == show.JSON {
		failures = append(failures, show.Document(cmd.OutOrStdout(), result))
	} else {
		failures = append(failures, writeTable(cmd.OutOrStdout(), result))
	}
	if f.json != "" {
		failures = append(failures, saveFile(f.json, func(w io.Writer) error { return show.Document(w, result) }))
	}
	if f.report != "" {
		failures = append(failures, saveFile(f.report, func(w io.Writer) error { return report.Write(w, tablePage(result, parts)) }))
	}
	if !result.Holds {
		failures = append(failures, errors.New(tableSummary(result)))
	}
	return errors.Join(failures...)
}

// tableSummary says in a sentence what the table shows.
func tableSummary(t table.Table) string {
	if broken := t.Broken(); len(broken) > 0 {
		return fmt.Sprintf("%d of %s %s not hold: %s", len(broken), plural(len(t.Rows), "row"), pick(len(broken) == 1, "does", "do"), strings.Join(broken, ", "))
	}
	return fmt.Sprintf("all bounds of %s hold", plural(len(t.Rows), "row"))
}

func writeTable(w io.Writer, t table.Table) error {
	fmt.Fprintf(w, "%s against %s, medians of %s\n", show.Plain(t.Ours), show.Plain(t.Base), plural(t.Rounds, "round"))
	grid := show.NewGrid(t.Columns()...)
	for _, cells := range t.Cells() {
		row := make([]any, len(cells))
		for i, c := range cells {
			row[i] = show.Plain(c.Text)
		}
		grid.Row(row...)
	}
	return grid.Write(w)
}

// tablePage is the table as a page, with the last result of each side of each row.
func tablePage(t table.Table, parts []tablePart) report.Page {
	facts := currentBuild()
	page := report.Page{
		Title: "The hot path", Made: time.Now(), Tool: fmt.Sprintf("ringmain %s (%s)", facts.Version, facts.Commit),
		Table: &report.Table{
			Title:   fmt.Sprintf("%s against %s", t.Ours, t.Base),
			Summary: tableSummary(t) + ".",
			Columns: t.Columns(),
			Note:    fmt.Sprintf("Medians of %s of each side.", plural(t.Rounds, "round")),
		},
	}
	for _, cells := range t.Cells() {
		var row []report.Cell
		for _, c := range cells {
			row = append(row, report.Cell{Text: c.Text, Class: pick(c.Broken, "worse", "")})
		}
		page.Table.Rows = append(page.Table.Rows, row)
	}
	for _, p := range parts {
		part := report.Part{Title: p.title}
		for _, d := range samples(p.sides) {
			part.Runs = append(part.Runs, report.FromDocument(d.name, d.doc))
		}
		if len(part.Runs) > 0 {
			page.Parts = append(page.Parts, part)
		}
	}
	return page
}
