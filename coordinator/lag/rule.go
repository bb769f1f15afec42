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
	GrowingFor time.Duration // the lag in records has grown for so long (growth.go); 0: does not count
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
