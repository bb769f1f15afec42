package lag

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"
)

// Config says what a Watcher does.
type Config struct {
	Interval time.Duration // that each has one check (ringmain.lag.check.interval.ms)
	Rules    []Rule
	// Node and Cluster tell receivers of webhooks who speaks.
	Node    int32
	Cluster string
	Log     *slog.Logger

	now   func() time.Time // tests have a clock of their own
	pause time.Duration    // before the first repetition of a post; 0: firstPause
}

// Watcher answers how far groups are behind, and checks the rules.
type Watcher struct {
	cfg     Config
	commits Commits
	logs    Logs
	alerts  []*alert

	stop context.CancelFunc
	done sync.WaitGroup

	mu         sync.Mutex
	partitions map[place]*partition
}

type place struct {
	topic     string
	partition int32
}

// partition is what is kept of a partition that a group reads.
type partition struct {
	samples samples
	// times are those of the first unread records, by offset, so that a group that
	// stands still is not looked up again: those asked for since the last sample, and
	// those from between that one and the one before.
	times, earlier map[int64]stamp
}

type stamp struct {
	ms       int64
	appended bool
	ok       bool
}

// Start begins to watch. Stop ends it.
func Start(cfg Config, commits Commits, logs Logs) *Watcher {
	w := newWatcher(cfg, commits, logs)
	ctx, stop := context.WithCancel(context.Background())
	w.stop = stop
	for _, a := range w.alerts {
		if a.sender != nil {
			w.done.Go(func() { a.sender.run(ctx) })
		}
	}
	w.done.Go(func() {
		p := pace{interval: cfg.Interval}
		for {
			select {
			case <-ctx.Done():
				return
			case <-time.After(p.wait(time.Now())):
				w.check(ctx)
			}
		}
	})
	return w
}

func newWatcher(cfg Config, commits Commits, logs Logs) *Watcher {
	if cfg.now == nil {
		cfg.now = time.Now
	}
	w := &Watcher{cfg: cfg, commits: commits, logs: logs, partitions: map[place]*partition{}}
	for _, r := range cfg.Rules {
		w.alerts = append(w.alerts, newAlert(r, &w.cfg))
	}
	return w
}

// Stop ends the checks and gives up posts that have not arrived.
func (w *Watcher) Stop() {
	w.stop()
	w.done.Wait()
}

// check takes samples and looks at the rules.
func (w *Watcher) check(ctx context.Context) {
	r, err := w.report(ctx, true)
	if ctx.Err() != nil {
		return
	}
	// A group is in one partition of the offsets topic: it is known whole, or not at
	// all. One that is not known at the moment breaks no rule and mends none.
	for _, a := range w.alerts {
		a.check(r, err == nil)
	}
}

// Report works out how far all groups are behind. Where not all offsets could be had,
// the report has the others, and err says why.
func (w *Watcher) Report(ctx context.Context) (*Report, error) { return w.report(ctx, false) }

func (w *Watcher) report(ctx context.Context, sampling bool) (*Report, error) {
	var entries []Entry
	err := w.commits.Committed(ctx, func(c Commit) {
		if b, ok := w.logs.Bounds(c.Topic, c.Partition); ok {
			entries = append(entries, Entry{Commit: c, Bounds: b, Records: max(0, b.End-c.Offset)})
		}
	})
	slices.SortFunc(entries, compareEntries)
	r := &Report{TimeMs: w.cfg.now().UnixMilli(), Entries: entries}
	w.mu.Lock()
	defer w.mu.Unlock()
	if sampling {
		w.sample(r, err == nil)
	}
	for i := range r.Entries {
		w.age(&r.Entries[i], r.TimeMs)
	}
	return r, err
}

// sample notes where the logs end that groups read, and forgets the others; nothing is
// forgotten while not all groups are known.
func (w *Watcher) sample(r *Report, complete bool) {
	type wish struct{ end, needed int64 }
	wishes := map[place]wish{}
	for i := range r.Entries {
		e := &r.Entries[i]
		at := place{e.Topic, e.Partition}
		had, ok := wishes[at]
		if !ok {
			had = wish{e.End, e.Offset}
		}
		wishes[at] = wish{max(had.end, e.End), min(had.needed, e.Offset)}
	}
	for at := range w.partitions {
		if _, ok := wishes[at]; !ok && complete {
			delete(w.partitions, at)
		}
	}
	for at, wish := range wishes {
		p := w.partitions[at]
		if p == nil {
			p = &partition{}
			w.partitions[at] = p
		}
		if !complete {
			wish.needed = 0
		}
		p.samples.add(r.TimeMs, wish.end, wish.needed)
		p.earlier, p.times = p.times, nil
	}
}

// age sets the seconds of e. What was seen to arrive goes by the samples, unless the
// broker's own timestamps say it exactly. What was there before the first sample goes
// by its timestamp, whoever set it: nothing else is known of it, but that it came
// before.
func (w *Watcher) age(e *Entry, nowMs int64) {
	if e.Records == 0 {
		return
	}
	first := max(e.Offset, e.Start)
	at := nowMs
	p := w.partitions[place{e.Topic, e.Partition}]
	known := false
	if p != nil && len(p.samples.list) > 0 {
		at, known = p.samples.arrived(first)
	}
	if e.AppendTime || !known {
		switch t := w.timeOf(p, e, first); {
		case t.ok && t.appended:
			at = t.ms
		case t.ok && !known && t.ms > 0:
			at = min(at, t.ms)
		}
	}
	e.Seconds = max(0, float64(nowMs-at)/1000)
}

// timeOf looks up the time of the first unread record, once for each offset.
func (w *Watcher) timeOf(p *partition, e *Entry, offset int64) stamp {
	var t stamp
	if p != nil {
		t = p.times[offset]
		if !t.ok {
			t = p.earlier[offset]
		}
	}
	if !t.ok {
		t.ms, t.appended, t.ok = w.logs.Time(e.Topic, e.Partition, offset)
	}
	if p != nil && t.ok {
		if p.times == nil {
			p.times = map[int64]stamp{}
		}
		p.times[offset] = t
	}
	return t
}
