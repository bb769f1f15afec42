package table

import (
	"fmt"

	"ringmain/perf"
)

// Bound is what a figure must reach. Whether that is a least or a most is up to
// the figure: more of some is better, less of others.
type Bound struct {
	Figure string
	Ratio  float64 // ours over Kafka's
	Enough float64 // ours, with which any ratio holds; 0: none
	Value  float64 // ours, without a ratio; 0: the ratio counts
	// Times is ours over ours in an earlier Row, where that is what counts; 0: it is not.
	Times float64
	Row   string
}

// The figures of a start, in which no load takes part.
const (
	startFigure = "start to ready"
	idleFigure  = "idle memory"
)

// StartReading is a start as a round of its row.
func StartReading(readyMs, idleMB float64) perf.Reading {
	return perf.Reading{startFigure: readyMs, idleFigure: idleMB}
}

// figure is a figure of a result or of a start by its name.
func figure(name string) perf.Figure {
	for _, f := range perf.Figures() {
		if f.Name == name {
			return f
		}
	}
	switch name {
	case startFigure:
		return perf.Figure{Name: name, Unit: "ms", Better: perf.LessIsBetter}
	case idleFigure:
		return perf.Figure{Name: name, Unit: "MB", Better: perf.LessIsBetter}
	}
	panic(fmt.Sprintf("the table names figure %q, which no result has", name))
}

// within says whether v is on the right side of limit.
func within(f perf.Figure, v, limit float64) bool {
	if f.Better == perf.MoreIsBetter {
		return v >= limit
	}
	return v <= limit
}

func sign(f perf.Figure) string {
	if f.Better == perf.MoreIsBetter {
		return "≥"
	}
	return "≤"
}

// holds judges what was measured: ours, its ratio to Kafka's, and ours in the row of the
// bound. Each may be absent.
func (b Bound) holds(ours, ratio, there *float64) bool {
	f := figure(b.Figure)
	switch {
	case ours == nil:
		return false
	case b.Times > 0:
		return there != nil && within(f, *ours, b.Times**there)
	case b.Value > 0:
		return within(f, *ours, b.Value)
	case b.Enough > 0 && within(f, *ours, b.Enough):
		return true
	}
	return ratio != nil && within(f, *ratio, b.Ratio)
}

// String is the bound in words: "≥ 2 x, or 1500 MB/s".
func (b Bound) String() string {
	f := figure(b.Figure)
	if b.Times > 0 {
		return fmt.Sprintf("%s %.3g x ours in %s", sign(f), b.Times, b.Row)
	}
	if b.Value > 0 {
		return fmt.Sprintf("%s %v %s", sign(f), b.Value, f.Unit)
	}
	text := fmt.Sprintf("%s %.3g x", sign(f), b.Ratio)
	if b.Enough > 0 {
		text += fmt.Sprintf(", or %v %s", b.Enough, f.Unit)
	}
	return text
}
