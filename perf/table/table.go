package table

import (
	"fmt"
	"time"

	"ringmain/bench/facts"
	"ringmain/bench/result"
	"ringmain/perf"
)

// Kind and Format tell this document from others.
const (
	Kind   = "table"
	Format = 1
)

// Table is what was measured, and what it shows.
type Table struct {
	Format  int           `json:"format"`
	Kind    string        `json:"kind"`
	Tool    result.Build  `json:"tool"`
	When    time.Time     `json:"when"`
	Machine facts.Machine `json:"machine"`
	Against Bounds        `json:"against"`
	Base    string        `json:"base"` // what we are held against
	Ours    string        `json:"ours"`
	Rounds  int           `json:"rounds"` // of each side
	Holds   bool          `json:"holds"`  // all that has a bound
	Rows    []Measured    `json:"rows"`
}

// Measured is a row of the table with what came of it.
type Measured struct {
	Row      string `json:"row"`
	Workload string `json:"workload,omitempty"`
	// Failure is why the row could not be measured to its end.
	Failure string `json:"failure,omitempty"`
	Lines   []Line `json:"lines"`
}

// Line is one figure of a row.
type Line struct {
	Figure     perf.Figure `json:"figure"`
	BaseRounds []float64   `json:"base_rounds"`
	OursRounds []float64   `json:"ours_rounds"`
	Base       *float64    `json:"base,omitempty"` // median
	Ours       *float64    `json:"ours,omitempty"`
	Ratio      *float64    `json:"ratio,omitempty"` // ours over base
	Bound      string      `json:"bound,omitempty"` // in words; absent: shown for information
	Holds      *bool       `json:"holds,omitempty"`
	Why        string      `json:"why,omitempty"` // in words, where the numbers do not say it
}

// Holds says whether all bounds of the row hold. A row that could not be
// measured holds none.
func (m Measured) Holds() bool {
	if m.Failure != "" {
		return false
	}
	for _, l := range m.Lines {
		if l.Holds != nil && !*l.Holds {
			return false
		}
	}
	return true
}

// ours is what was measured of a figure in a row, nil if it was not.
func (t Table) ours(row, figure string) *float64 {
	for _, m := range t.Rows {
		for _, l := range m.Lines {
			if m.Row == row && l.Figure.Name == figure {
				return l.Ours
			}
		}
	}
	return nil
}

// Broken is the names of the rows that have bounds that do not hold.
func (t Table) Broken() (names []string) {
	for _, m := range t.Rows {
		if !m.Holds() {
			names = append(names, m.Row)
		}
	}
	return names
}

// add appends a row and judges the whole again.
func (t *Table) add(m Measured) {
	if m.Lines == nil {
		m.Lines = []Line{}
	}
	t.Rows = append(t.Rows, m)
	t.Holds = t.Holds && m.Holds()
}

// Columns head the cells of a table.
func (t Table) Columns() []string {
	base := "KAFKA"
	if t.Against == Earlier {
		base = "BEFORE"
	}
	return []string{"ROW", "LOAD", "FIGURE", base, "OURS", "RATIO", "BOUND", "HOLDS"}
}

// Cell is a cell in words. Broken marks what does not hold.
type Cell struct {
	Text   string
	Broken bool
}

// Cells are the table in words, for whoever draws it.
func (t Table) Cells() (out [][]Cell) {
	for _, m := range t.Rows {
		load := m.Workload
		if load == "" {
			load = "start"
		}
		name := m.Row
		for _, l := range m.Lines {
			verdict := Cell{Text: "-"}
			if l.Holds != nil {
				verdict.Text = "yes"
				if !*l.Holds {
					verdict = Cell{Text: "NO", Broken: true}
				}
			}
			if l.Why != "" {
				verdict.Text += ": " + l.Why
			}
			ratio, bound := "-", l.Bound
			if l.Ratio != nil {
				ratio = number(*l.Ratio)
			}
			if bound == "" {
				bound = "-"
			}
			out = append(out, []Cell{
				{Text: name}, {Text: load}, {Text: l.Figure.Name}, {Text: value(l.Base, l.Figure.Unit)}, {Text: value(l.Ours, l.Figure.Unit)},
				{Text: ratio}, {Text: bound}, verdict,
			})
		}
		if m.Failure != "" {
			out = append(out, []Cell{{Text: name}, {Text: load}, {Text: "-"}, {Text: "-"}, {Text: "-"}, {Text: "-"}, {Text: "-"}, {Text: "NO: " + m.Failure, Broken: true}})
		}
	}
	return out
}

func value(v *float64, unit string) string {
	switch {
	case v == nil:
		return "-"
	case unit == "":
		return number(*v)
	}
	return number(*v) + " " + unit
}

// number has as many digits as mean something.
func number(v float64) string {
	if v >= 100 {
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.3g", v)
}
