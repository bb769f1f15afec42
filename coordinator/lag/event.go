package lag

import "time"

// The states of an event.
const (
	Firing  = "firing"
	Cleared = "cleared"
)

// Event is what a webhook is told, as JSON: a group began to break a rule, or does it no
// more. The same event may arrive twice.
type Event struct {
	Alert   string    `json:"alert"`
	State   string    `json:"state"` // firing, cleared
	Group   string    `json:"group"`
	Topic   string    `json:"topic,omitempty"` // where the rule names topics
	Records int64     `json:"lag_records"`
	Seconds float64   `json:"lag_seconds"`
	Growing bool      `json:"growing"`
	Limits  Limits    `json:"limits"`
	Since   time.Time `json:"since"` // when it began to fire
	Time    time.Time `json:"time"`  // of this change
	Node    int32     `json:"node"`
	Cluster string    `json:"cluster"`
}

// Limits are what the rule allows; null is what it does not look at.
type Limits struct {
	Records      *int64 `json:"records"`
	Seconds      *int64 `json:"seconds"`
	GrowingForMs *int64 `json:"growing_for_ms"`
}

func (r *Rule) limits() (l Limits) {
	if r.Records >= 0 {
		l.Records = &r.Records
	}
	if r.Seconds >= 0 {
		l.Seconds = &r.Seconds
	}
	if ms := r.GrowingFor.Milliseconds(); ms > 0 {
		l.GrowingForMs = &ms
	}
	return l
}

func (a *alert) event(s subject, st *state, word string, sinceMs, nowMs int64) Event {
	return Event{
		Alert: a.rule.Name, State: word, Group: s.group, Topic: s.topic,
		Records: st.records, Seconds: st.seconds, Growing: st.growing, Limits: a.rule.limits(),
		Since: time.UnixMilli(sinceMs).UTC(), Time: time.UnixMilli(nowMs).UTC(),
		Node: a.cfg.Node, Cluster: a.cfg.Cluster,
	}
}
