package report

import (
	"fmt"
	"math"
	"strings"
)

// The drawing's own coordinates. It is narrow, so that its letters stay
// readable when a phone shows it at three quarters of its size.
const (
	drawingWidth  = 420
	drawingHeight = 260
	marginLeft    = 52
	marginRight   = 20
	marginTop     = 10
	marginBottom  = 40
)

// point is a pair of values, before any scale.
type point struct {
	x, y float64
	full bool // its dot is filled
}

// curve is one line of a chart.
type curve struct {
	name   string
	colour int  // which of the page's colours: one for each run
	dashed bool // what is shown for comparison only
	faint  bool // the lower of two figures of one run
	dots   bool // single measurements rather than a course
	points []point
}

// chart is a drawing made of curves, ready for the template.
type chart struct {
	Title, Note        string
	XLabel             string
	Width, Height      int
	Left, Right        float64
	Top, Bottom        float64
	XTicks, YTicks     []mark
	Lines              []line
	Dots               []dot
	Bound              *mark // a horizontal bound, such as the wanted latency
	LabelX, LabelY     float64
	Description        string
	Legend             []line
	XTextBelow, YTextX float64
}

type mark struct {
	At    string
	Label string
}

type line struct {
	Path, Name, Class string
}

type dot struct {
	X, Y, Class, Title string
}

// axes says how a chart's values are laid out.
type axes struct {
	title, note string
	xLabel      string
	x, y        scale
	value       func(float64) string // a y value in words
	xValue      func(float64) string
	bound       float64 // drawn if above 0
	boundName   string
}

// draw places the curves. Values that are no numbers break a line rather than
// bend it.
func draw(a axes, curves []curve) chart {
	c := chart{Title: a.title, Note: a.note, XLabel: a.xLabel, Width: drawingWidth, Height: drawingHeight,
		Left: marginLeft, Right: drawingWidth - marginRight, Top: marginTop, Bottom: drawingHeight - marginBottom}
	c.XTextBelow, c.YTextX = c.Bottom+16, c.Left-6
	c.LabelX, c.LabelY = (c.Left+c.Right)/2, drawingHeight-4
	x := func(v float64) float64 { return c.Left + clip(a.x.place(v))*(c.Right-c.Left) }
	y := func(v float64) float64 { return c.Bottom - clip(a.y.place(v))*(c.Bottom-c.Top) }
	for _, t := range a.x.ticks {
		c.XTicks = append(c.XTicks, mark{coordinate(x(t.at)), t.label})
	}
	for _, t := range a.y.ticks {
		c.YTicks = append(c.YTicks, mark{coordinate(y(t.at)), t.label})
	}
	if a.bound > 0 {
		c.Bound = &mark{coordinate(y(a.bound)), a.boundName}
	}
	var said []string
	for _, k := range curves {
		var path strings.Builder
		pen := "M"
		for _, p := range k.points {
			if bad(p.x) || bad(p.y) {
				pen = "M"
				continue
			}
			fmt.Fprintf(&path, "%s%s %s", pen, coordinate(x(p.x)), coordinate(y(p.y)))
			pen = "L"
			if k.dots || len(k.points) == 1 {
				style := class(k)
				if p.full {
					style += " full"
				}
				c.Dots = append(c.Dots, dot{coordinate(x(p.x)), coordinate(y(p.y)), style, fmt.Sprintf("%s: %s at %s", k.name, a.value(p.y), a.xValue(p.x))})
			}
		}
		if path.Len() == 0 {
			continue
		}
		l := line{path.String(), k.name, class(k)}
		c.Lines = append(c.Lines, l)
		c.Legend = append(c.Legend, l)
		said = append(said, describe(k, a))
	}
	c.Description = strings.Join(said, "; ")
	return c
}

// describe says in words what a curve shows, for those who do not see it.
func describe(k curve, a axes) string {
	low, high := math.Inf(1), math.Inf(-1)
	for _, p := range k.points {
		if !bad(p.y) {
			low, high = min(low, p.y), max(high, p.y)
		}
	}
	return fmt.Sprintf("%s from %s to %s", k.name, a.value(low), a.value(high))
}

func class(k curve) string {
	s := fmt.Sprintf("c%d", k.colour%colours)
	if k.dashed {
		s += " dashed"
	}
	if k.faint {
		s += " faint"
	}
	return s
}

// colours is how many style.css has.
const colours = 6

func clip(v float64) float64 { return min(max(v, 0), 1) }

// gap is a value that is not there.
var gap = math.NaN()

// positive is v, or a gap: an axis of logarithms has no place for 0.
func positive(v float64) float64 {
	if v > 0 {
		return v
	}
	return gap
}

func bad(v float64) bool { return math.IsNaN(v) || math.IsInf(v, 0) }

// coordinate is short: a tenth of a unit is finer than any screen.
func coordinate(v float64) string { return strings.TrimSuffix(fmt.Sprintf("%.1f", v), ".0") }

// highest is the largest y of the curves.
func highest(curves []curve) float64 {
	return largest(curves, func(p point) float64 { return p.y })
}

// widest is the largest x of the curves.
func widest(curves []curve) float64 {
	return largest(curves, func(p point) float64 { return p.x })
}

// largest is the largest coordinate of the curves, at least 0.
func largest(curves []curve, of func(point) float64) float64 {
	most := 0.0
	for _, k := range curves {
		for _, p := range k.points {
			if v := of(p); !bad(v) {
				most = max(most, v)
			}
		}
	}
	return most
}

// lowest is the smallest y above 0.
func lowest(curves []curve) float64 {
	low := math.Inf(1)
	for _, k := range curves {
		for _, p := range k.points {
			if p.y > 0 {
				low = min(low, p.y)
			}
		}
	}
	if math.IsInf(low, 1) {
		return 0
	}
	return low
}
