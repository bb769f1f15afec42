package show

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Grid is a table under construction. Columns are as wide as their widest
// cell; columns whose cells are all numbers are aligned to the right.
type Grid struct {
	columns []string
	rows    [][]string
	number  []bool
}

// NewGrid starts a table with the given column titles.
func NewGrid(columns ...string) *Grid {
	g := &Grid{columns: columns, number: make([]bool, len(columns))}
	for i := range g.number {
		g.number[i] = true
	}
	return g
}

// Row adds one row: one cell per column, printed with fmt's %v.
func (g *Grid) Row(cells ...any) {
	row := make([]string, len(g.columns))
	for i := range row {
		if i < len(cells) {
			row[i] = Plain(fmt.Sprint(cells[i]))
		}
		if _, err := strconv.ParseFloat(row[i], 64); err != nil && row[i] != "-" {
			g.number[i] = false
		}
	}
	g.rows = append(g.rows, row)
}

// Len is the number of rows.
func (g *Grid) Len() int { return len(g.rows) }

// Write prints the titles and the rows, two spaces between columns, no spaces
// at the end of a line.
func (g *Grid) Write(w io.Writer) error {
	width := make([]int, len(g.columns))
	for i, c := range g.columns {
		width[i] = utf8.RuneCountInString(c)
	}
	for _, row := range g.rows {
		for i, cell := range row {
			width[i] = max(width[i], utf8.RuneCountInString(cell))
		}
	}
	var b strings.Builder
	line := func(cells []string) {
		var l strings.Builder
		for i, cell := range cells {
			if i > 0 {
				l.WriteString("  ")
			}
			pad := strings.Repeat(" ", width[i]-utf8.RuneCountInString(cell))
			if g.number[i] && len(g.rows) > 0 {
				l.WriteString(pad + cell)
			} else {
				l.WriteString(cell + pad)
			}
		}
		b.WriteString(strings.TrimRight(l.String(), " "))
		b.WriteByte('\n')
	}
	line(g.columns)
	for _, row := range g.rows {
		line(row)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// Plain makes s safe for a terminal: control characters and bytes that are not
// UTF-8 are shown as escapes. Values come from whoever can write to a topic or
// set a config, and must not move somebody's cursor.
func Plain(s string) string {
	clean := true
	for _, r := range s {
		if r == utf8.RuneError || !unicode.IsPrint(r) {
			clean = false
			break
		}
	}
	if clean {
		return s
	}
	quoted := strconv.Quote(s)
	return strings.ReplaceAll(quoted[1:len(quoted)-1], `\"`, `"`)
}

// IDs prints broker ids or partitions as a list: "1,2,3", or "-" for none.
func IDs(ids []int32) string {
	if len(ids) == 0 {
		return "-"
	}
	parts := make([]string, len(ids))
	for i, id := range ids {
		parts[i] = strconv.Itoa(int(id))
	}
	return strings.Join(parts, ",")
}
