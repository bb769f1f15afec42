package lag

// Tally is what has come of one rule since the start.
type Tally struct {
	Name   string
	Firing int64  // groups, or topics of groups, that break it now
	Fired  uint64 // how often one began to
	// Posts to the webhook: taken, given up, and not tried because too many waited.
	Delivered, Failed, Dropped uint64
}

// Tallies gives one for each rule, in the order of the rules. Any goroutine.
func (w *Watcher) Tallies() []Tally {
	out := make([]Tally, 0, len(w.alerts))
	for _, a := range w.alerts {
		t := Tally{Name: a.rule.Name, Firing: a.firing.Load(), Fired: a.fired.Load()}
		if a.sender != nil {
			t.Delivered, t.Failed, t.Dropped = a.sender.delivered.Load(), a.sender.failed.Load(), a.sender.dropped.Load()
		}
		out = append(out, t)
	}
	return out
}
