package report

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"time"

	"ringmain/perf"
)

// Page is all that a report shows.
type Page struct {
	Title string
	Made  time.Time
	Tool  string // the program that made it, with its version
	Runs  []Run
	// Table and Comparison, if set, come before the runs.
	Table      *Table
	Comparison *perf.Comparison
	// Parts come behind them, folded: runs that are not to be drawn with the others.
	Parts []Part
}

// Table is cells in words, some of them marked.
type Table struct {
	Title   string
	Summary string // in a sentence
	Columns []string
	Rows    [][]Cell
	Note    string
}

// Cell is a cell of a Table; Class is "better", "worse" or nothing.
type Cell struct{ Text, Class string }

// Part is runs of a page that belong together.
type Part struct {
	Title string
	Runs  []Run
}

// Run is one result.
type Run struct {
	Name    string   // short, unlike the other runs' names
	What    string   // the workload in words
	Closed  bool     // as fast as it went: latency says nothing about a lower rate
	Alarms  []string // why it can not be used
	Notes   []string // what a reader should know
	Summary []Fact
	// Percentiles of the latency are for the table, Distribution is for the curve.
	Percentiles  []Percentile
	Distribution []Percentile
	Seconds      []Second
	Loads        []Load
	// BoundUs is the latency that was to be held when Loads were measured.
	BoundUs  float64
	Costs    []Fact
	Checks   []Fact
	Machine  []Fact
	Workload string // as YAML
}

// Fact is a named value in words. An empty value is shown as a dash.
type Fact struct{ Name, Value string }

// Percentile is one point of the distribution: the share of operations, in per
// cent, that took at most so long.
type Percentile struct {
	Percent                float64
	Corrected, Uncorrected float64 // µs
}

// Second is one step of a run's course.
type Second struct {
	At                float64 // seconds since the measurement began
	BytesPerSecond    float64
	RequestsPerSecond float64
	P50Us, P99Us      float64
	ServerCores       float64
	Errors            int64
}

// Load is one step of the curve of latency against load: a run at one rate.
type Load struct {
	RequestsPerSecond float64 // reached
	P50Us, P99Us      float64
	Held              bool
}

//go:embed page.html
var layout string

//go:embed style.css
var style string

var page = template.Must(template.New("page").Funcs(template.FuncMap{
	"style":  func() template.CSS { return template.CSS(style) },
	"colour": func(i int) int { return i % colours },
}).Parse(layout))

// runsView is runs as they are laid out.
type runsView struct {
	Title   string
	Runs    []Run
	Charts  []chart
	Summary table
	Latency table
	Costs   table
	Checks  table
	Machine table
	Alarms  []string
	Notes   []string
}

func viewOf(title string, runs []Run) runsView {
	view := runsView{
		Title:   title,
		Runs:    runs,
		Charts:  charts(runs),
		Summary: beside(runs, func(r Run) []Fact { return r.Summary }),
		Latency: beside(runs, latencyFacts),
		Costs:   beside(runs, func(r Run) []Fact { return r.Costs }),
		Checks:  beside(runs, func(r Run) []Fact { return r.Checks }),
		Machine: beside(runs, func(r Run) []Fact { return r.Machine }),
	}
	for _, r := range runs {
		for _, a := range r.Alarms {
			view.Alarms = append(view.Alarms, r.Name+": "+a)
		}
		for _, n := range r.Notes {
			view.Notes = append(view.Notes, r.Name+": "+n)
		}
	}
	return view
}

// Write writes the page.
func Write(w io.Writer, p Page) error {
	view := struct {
		runsView
		Tool       string
		MadeText   string
		Table      *Table
		Comparison *comparison
		Parts      []runsView
	}{
		runsView: viewOf(p.Title, p.Runs),
		Tool:     p.Tool,
		MadeText: p.Made.UTC().Format("2 January 2006, 15:04 UTC"),
		Table:    p.Table,
	}
	for _, part := range p.Parts {
		view.Parts = append(view.Parts, viewOf(part.Title, part.Runs))
	}
	if p.Comparison != nil {
		view.Comparison = compared(*p.Comparison)
	}
	if err := page.Execute(w, view); err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	return nil
}

// table is facts of several runs side by side.
type table struct {
	Columns []string
	Rows    []tableRow
}

type tableRow struct {
	Name  string
	Cells []string
}

// beside joins the facts of the runs by their names, in the order in which the
// names first appear.
func beside(runs []Run, of func(Run) []Fact) table {
	var t table
	place := map[string]int{}
	for i, r := range runs {
		t.Columns = append(t.Columns, r.Name)
		for _, f := range of(r) {
			k, known := place[f.Name]
			if !known {
				k = len(t.Rows)
				place[f.Name] = k
				t.Rows = append(t.Rows, tableRow{f.Name, make([]string, len(runs))})
			}
			t.Rows[k].Cells[i] = f.Value
		}
	}
	for _, row := range t.Rows {
		for i, cell := range row.Cells {
			if cell == "" {
				row.Cells[i] = "–"
			}
		}
	}
	return t
}

// latencyFacts are the percentiles in words, both ways of counting.
func latencyFacts(r Run) []Fact {
	var out []Fact
	for _, p := range r.Percentiles {
		name := fmt.Sprintf("p%v", p.Percent)
		switch p.Percent {
		case 0:
			name = "min"
		case 100:
			name = "max"
		}
		value := duration(p.Corrected)
		if p.Uncorrected > 0 && p.Uncorrected != p.Corrected {
			value += " (" + duration(p.Uncorrected) + ")"
		}
		out = append(out, Fact{name, value})
	}
	return out
}
