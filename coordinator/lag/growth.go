package lag

// growth tells whether a number grows, over a window. Lag goes up and down with every
// commit, by as much as arrives between two of them. So a number grows where each quarter
// of the window has nothing as low as anything in the last quarter but one: what a group
// loses in a quarter is then more than what one commit takes off. One that commits at least
// once in the window and then has read everything does not grow, whatever its steps are;
// nor does one that fell behind at once and stays where it is.
//
// Chance must not look like that: the window is 40 checks long at least (see config),
// and they come at moments that no commits can keep pace with (pace.go).
type growth struct {
	quarters [5]span // before this one, oldest first: those of the window and one more
	filled   int     // how many of them there are
	span             // of this quarter
	endMs    int64   // of this quarter; 0: nothing was seen yet
	growing  bool
}

// span is between what values lay.
type span struct{ low, high int64 }

// add takes a value at a time, and tells whether the number has grown for windowMs.
func (g *growth) add(nowMs, value, windowMs int64) bool {
	quarter := max(windowMs/4, 1)
	// The first one, or after a long pause, or the clock was set back.
	if g.endMs == 0 || nowMs >= g.endMs+windowMs || nowMs < g.endMs-quarter {
		*g = growth{span: span{value, value}, endMs: nowMs + quarter}
		return false
	}
	if nowMs < g.endMs {
		g.span = span{min(g.low, value), max(g.high, value)}
		g.growing = g.growing && value > g.quarters[0].high // or it is back where it began
		return g.growing
	}
	copy(g.quarters[:], g.quarters[1:])
	g.quarters[len(g.quarters)-1] = g.span
	g.filled = min(g.filled+1, len(g.quarters))
	g.span, g.endMs = span{value, value}, nowMs+quarter
	g.growing = g.filled == len(g.quarters) && value > g.quarters[0].high
	for i := range len(g.quarters) - 2 {
		g.growing = g.growing && g.quarters[i+2].low > g.quarters[i].high
	}
	return g.growing
}
