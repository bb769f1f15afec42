package lag

import (
	"regexp"
	"time"
)

// Rule is what the lag of some groups must not do (ringmain.lag.alert.<name>.*). It is
// broken while everything that it names holds at once.
type Rule struct {
	Name  string
	Group *regexp.Regexp // of the whole id
	// Topic makes the rule hold for each topic on its own; nil: for all of a group's
	// topics together.
	Topic      *regexp.Regexp
	Records    int64         // more than so many; negative: does not count
	Seconds    int64         // more than so many; negative: does not count
	GrowingFor time.Duration // the lag in records has grown for so long; 0: does not count
	Webhook    string        // URL; empty: none
}

// subject is what a rule is checked for.
type subject struct{ group, topic string }

// state is how one subject stands with one rule.
type state struct {
	records int64
	seconds float64
	growth  growth
	growing bool
	sinceMs int64 // when it began; 0: not broken
	seen    bool  // in the report that is being looked at
}

// broken reports whether s breaks the rule.
func (r *Rule) broken(s *state) bool {
	return (r.Records < 0 || s.records > r.Records) &&
		(r.Seconds < 0 || s.seconds > float64(r.Seconds)) &&
		(r.GrowingFor == 0 || s.growing)
}

// growth tells whether a number grows, over a window. Lag goes up and down with every
// commit, so its lows are compared: those of the window's second half must lie above
// those of its first.
type growth struct {
	lows    [4]int64 // of the quarters before this one, oldest first
	filled  int      // how many of them there are
	low     int64    // of this quarter
	endMs   int64    // of this quarter; 0: nothing was seen yet
	growing bool
}

// add takes a value at a time, and tells whether the number has grown for windowMs.
func (g *growth) add(nowMs, value, windowMs int64) bool {
	quarter := max(windowMs/4, 1)
	if g.endMs == 0 || nowMs >= g.endMs+windowMs { // the first one, or after a long pause
		*g = growth{low: value, endMs: nowMs + quarter}
		return false
	}
	if nowMs < g.endMs {
		g.low = min(g.low, value)
		return g.growing
	}
	copy(g.lows[:], g.lows[1:])
	g.lows[3] = g.low
	g.filled = min(g.filled+1, len(g.lows))
	g.low, g.endMs = value, nowMs+quarter
	g.growing = g.filled == len(g.lows) && min(g.lows[2], g.lows[3]) > min(g.lows[0], g.lows[1])
	return g.growing
}
