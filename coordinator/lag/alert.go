package lag

import (
	"sync/atomic"
	"time"
)

// alert is a rule with those that break it.
type alert struct {
	rule   Rule
	cfg    *Config
	sender *sender            // nil without a webhook
	states map[subject]*state // owned by the Watcher's goroutine

	firing atomic.Int64
	fired  atomic.Uint64
}

func newAlert(r Rule, cfg *Config) *alert {
	a := &alert{rule: r, cfg: cfg, states: map[subject]*state{}}
	if r.Webhook != "" {
		a.sender = newSender(r.Name, r.Webhook, cfg)
	}
	return a
}

// check looks at a report. complete says that a group which is not in it is gone.
func (a *alert) check(r *Report, complete bool) {
	same := SameTopic
	if a.rule.Topic == nil {
		same = SameGroup
	}
	for _, s := range a.states {
		s.seen = false
	}
	Runs(r.Entries, same, func(run []Entry) {
		s := subject{group: run[0].Group}
		if !a.rule.Group.MatchString(s.group) {
			return
		}
		if a.rule.Topic != nil {
			if s.topic = run[0].Topic; !a.rule.Topic.MatchString(s.topic) {
				return
			}
		}
		a.take(s, run, r.TimeMs)
	})
	for s, st := range a.states {
		if !st.seen && complete { // the group, or its offsets, are gone
			st.records, st.seconds, st.growing = 0, 0, false
			a.turn(s, st, false, r.TimeMs)
			delete(a.states, s)
		}
	}
}

func (a *alert) take(s subject, run []Entry, nowMs int64) {
	st := a.states[s]
	if st == nil {
		st = &state{}
		a.states[s] = st
	}
	st.seen = true
	st.records, st.seconds = Sum(run)
	if a.rule.GrowingFor > 0 {
		st.growing = st.growth.add(nowMs, st.records, a.rule.GrowingFor.Milliseconds())
	}
	a.turn(s, st, a.rule.broken(st), nowMs)
}

// turn tells of a change, if it is one.
func (a *alert) turn(s subject, st *state, broken bool, nowMs int64) {
	if broken == (st.sinceMs != 0) {
		return
	}
	since := st.sinceMs
	attrs := []any{"alert", a.rule.Name, "group", s.group}
	if s.topic != "" {
		attrs = append(attrs, "topic", s.topic)
	}
	attrs = append(attrs, "records", st.records, "seconds", st.seconds)
	word := Cleared
	if broken {
		since, word = nowMs, Firing
		st.sinceMs = nowMs
		a.firing.Add(1)
		a.fired.Add(1)
		a.cfg.Log.Warn("a group is behind", attrs...)
	} else {
		st.sinceMs = 0
		a.firing.Add(-1)
		a.cfg.Log.Info("a group has caught up", append(attrs, "after", time.Duration((nowMs-since)*1e6).String())...)
	}
	if a.sender != nil {
		a.sender.send(a.event(s, st, word, since, nowMs))
	}
}
