package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"ringmain/bench/audit"
	"ringmain/bench/facts"
	"ringmain/bench/franz"
	"ringmain/bench/latency"
	"ringmain/bench/load"
	"ringmain/bench/pace"
	"ringmain/bench/replay"
	"ringmain/bench/result"
	"ringmain/bench/workload"
)

// Options say what Run measures and how.
type Options struct {
	Spec      workload.Spec
	Bootstrap []string       // host:port
	Client    []kgo.Opt      // how to reach the cluster: addresses, security
	Existing  bool           // Spec.Topic is there already and may be written to
	Keep      bool           // topics made stay
	PIDs      []int          // of the servers, on this host
	Metrics   string         // URL of the server's metrics; "": none
	Tool      result.Build   // what measures
	HLog      io.Writer      // takes a histogram log; nil: none
	Progress  func(Progress) // may be nil; several times a second, from one goroutine
	Log       *slog.Logger
}

// Progress is how far Run is.
type Progress struct {
	Phase    string       // prepare, fill, floor, warm up, measure, finish, clean up; in a search with the step
	Share    float64      // of the phase, 0 to 1
	Rates    result.Rates // of the last moments
	P50, P99 int64        // µs, corrected, of the last moments
	Errors   int64        // so far
}

const (
	// lookEvery is how often the meter is read for progress.
	lookEvery = 250 * time.Millisecond
	// floorLong is how long the floor is measured.
	floorLong = 500 * time.Millisecond
	// cleanUpPatience is how long removing what was made may take, also after Ctrl-C.
	cleanUpPatience = 30 * time.Second
	// endPatience is how long the last answers and records may take.
	endPatience = 15 * time.Second
	// beginIn is how far ahead of the first send the schedules begin.
	beginIn = 5 * time.Millisecond
)

// Run measures one load and returns what it found, also when the verdict is that
// the result cannot be used. Topics that it made are gone when it returns, unless they are to
// be kept, whatever happens; others are written to only if Existing says so.
func Run(ctx context.Context, o Options) (*result.Document, error) {
	return runWithin(ctx, o, spans{end: endPatience, floor: floorLong, cleanUp: cleanUpPatience})
}

// spans are times that a test has less of.
type spans struct {
	end   time.Duration // for the last answers and records
	floor time.Duration // is measured
	// cleanUp is for removing the topics.
	cleanUp time.Duration
}

func runWithin(ctx context.Context, o Options, within spans) (doc *result.Document, err error) {
	if err := Check(&o.Spec); err != nil {
		return nil, err
	}
	if len(o.Bootstrap) == 0 {
		return nil, errors.New("no broker is named")
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	client, err := kgo.NewClient(append(o.Client, kgo.WithLogger(nil))...)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	r := &run{Options: o, admin: kadm.NewClient(client), meter: &load.Meter{}, within: within}
	r.doc = &result.Document{
		Format: result.Format, Tool: o.Tool, Machine: facts.OfMachine(), Workload: o.Spec,
		ClosedLoop: o.Spec.Rate.Max() && o.Spec.Kind != workload.Idle,
		Errors:     map[string]int64{}, Series: []result.Point{}, Warnings: []string{},
		Verdict: result.Verdict{Reasons: []string{}},
	}
	r.say("prepare", 0)
	if err := r.look(ctx); err != nil {
		return nil, reason(ctx, err)
	}
	defer func() {
		if e := r.cleanUp(); e != nil {
			err = errors.Join(err, e)
		}
	}()
	if err = r.prepare(ctx); err == nil {
		err = r.carryOut(ctx)
	}
	if err != nil {
		return nil, reason(ctx, err)
	}
	r.judge()
	return r.doc, nil
}

// reason is why something failed: where the context has ended, whoever noticed it first
// says it in words of its own.
func reason(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// run is one measurement under way.
type run struct {
	Options
	admin      *kadm.Client
	within     spans
	made       []string // topics to be removed
	partitions []load.Partition
	book       *audit.Book
	meter      *load.Meter
	doc        *result.Document

	sum    load.Interval  // of the measured time
	acked  int64          // records, of the whole run
	read   int64          // likewise
	dense  bool           // gaps between the offsets that are read are looked for
	latest *load.Interval // of the last look
	took   time.Duration  // the last look covers
}

// prepare makes everything ready for the first send.
func (r *run) prepare(ctx context.Context) error {
	if err := r.topics(ctx); err != nil {
		return err
	}
	if err := r.keylessOK(ctx); err != nil {
		return err
	}
	if err := r.fill(ctx); err != nil {
		return err
	}
	r.say("floor", 0)
	if f, err := replay.MeasureFloor(ctx, r.within.floor); err == nil {
		r.doc.Floor = &result.Floor{P50: f.P50Us, P99: f.P99Us}
	} else if ctx.Err() != nil {
		return context.Cause(ctx)
	} else {
		r.warn("the generator's own floor is not known: %v", err)
	}
	if err := r.openBook(); err != nil {
		return err
	}
	return r.findDense(ctx)
}

// env is what an engine is given for spec.
func (r *run) env(spec workload.Spec, book *audit.Book, meter *load.Meter) *load.Env {
	return &load.Env{
		Spec: spec, Bootstrap: r.Bootstrap, Client: append(r.Client, kgo.WithLogger(nil)), Partitions: r.partitions,
		Book: book, Dense: r.dense, Meter: meter, Patience: r.within.end,
	}
}

// newEngine is the one that carries the workload out.
func newEngine(env *load.Env) (load.Engine, error) {
	if env.Spec.Engine == workload.Franz {
		return franz.New(env)
	}
	return replay.New(env)
}

// openBook opens the account of the records, where the load reads what it writes.
func (r *run) openBook() error {
	s := &r.Spec
	switch {
	case s.Kind == workload.EndToEnd:
	case s.Kind == workload.Mixed && s.FetchMode == workload.Tail:
		if s.Record.Min() < audit.StampBytes || s.Engine == workload.Replay && s.Codec != "none" {
			r.warn("records are not followed from their producer to their consumer: they are compressed or shorter than %d bytes; only their number is checked", audit.StampBytes)
			return nil
		}
	default:
		return nil
	}
	var err error
	r.book, err = audit.NewBook(audit.Config{
		Run: newRunNumber(), Producers: s.Connections, Partitions: len(r.partitions), Others: r.Existing,
		// Where several write to one partition, its offsets say nothing of their sequences.
		Offsets: !r.Existing && s.Connections <= len(r.partitions) && (s.Engine == workload.Replay || s.Key.Form == workload.NoKeys),
	})
	return err
}

// carryOut runs the load through its warm-up and its measured time to its end.
func (r *run) carryOut(ctx context.Context) error {
	engine, err := newEngine(r.env(r.Spec, r.book, r.meter))
	if err != nil {
		return err
	}
	defer engine.Close()
	if err := engine.Open(ctx); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stop, ended := make(chan struct{}), make(chan error, 1)
	before := r.usage(ctx)
	begin := pace.Now() + beginIn
	go func() { ended <- engine.Run(ctx, begin, stop) }()
	err = r.measure(ctx, begin, before, ended)
	if err != nil {
		cancel()
		<-ended
		return err
	}
	r.say("finish", 0)
	close(stop)
	switch err := <-ended; {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		return fmt.Errorf("at the end of the load: %w", err)
	}
	r.take()
	return r.count(ctx)
}

// errEnded is an engine that ends before it is told to.
var errEnded = errors.New("the load ended by itself")

// wait looks at the meter several times a second until the time is over, and says
// the phase. each may be nil.
func (r *run) wait(ctx context.Context, phase string, from, until time.Duration, ended chan error, each func() error) error {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	last := pace.Now()
	for now := pace.Now(); now < until; now = pace.Now() {
		end := time.NewTimer(until - now)
		select {
		case <-tick.C:
		case <-end.C:
		case <-ctx.Done():
			end.Stop()
			return context.Cause(ctx)
		case err := <-ended:
			end.Stop()
			ended <- err
			switch {
			case ctx.Err() != nil: // the engine was as quick to notice, and says it in its own words
				return context.Cause(ctx)
			case err == nil:
				err = errEnded
			}
			return &BrokenLoad{err}
		}
		end.Stop()
		at := pace.Now()
		r.take()
		r.took, last = at-last, at
		if each != nil {
			if err := each(); err != nil {
				return err
			}
		}
		r.say(phase, min(1, float64(at-from)/float64(until-from)))
	}
	return nil
}

// take reads the meter; errors count whenever they come.
func (r *run) take() *load.Interval {
	r.latest = r.meter.Take()
	r.acked += r.latest.Sections[load.Produce].Records
	r.read += r.latest.Sections[load.Fetch].Records
	for name, n := range r.latest.Errors {
		r.doc.Errors[name] += n
	}
	return r.latest
}

// measure waits through the warm-up, and takes down the measured time second by
// second.
func (r *run) measure(ctx context.Context, begin time.Duration, before facts.Usage, ended chan error) error {
	from := begin + r.Spec.WarmUp
	if r.Spec.Kind == workload.Idle {
		opened, err := r.waitOpen(ctx, begin, ended)
		if err != nil {
			return err
		}
		from = opened + r.Spec.WarmUp
	}
	if err := r.wait(ctx, "warm up", begin, from, ended, nil); err != nil {
		return err
	}
	var hlog *latency.Log
	if r.HLog != nil {
		var err error
		if hlog, err = latency.NewLog(r.HLog, time.Now(), "workload "+r.Spec.Name); err != nil {
			return err
		}
	}
	r.take() // what the warm-up left
	r.doc.When = time.Now()
	start, costs := pace.Now(), r.costsAt(ctx)
	if r.Spec.Kind != workload.Idle {
		before = costs.server
	}
	second := &seconds{run: r, log: hlog, at: start, wall: r.doc.When, usage: costs.server, peak: facts.Unknown, open: true}
	until := start + r.Spec.Duration
	err := r.wait(ctx, "measure", start, until, ended, func() error {
		r.sum.Add(r.latest)
		return second.add(ctx, r.latest, pace.Now(), pace.Now() >= until)
	})
	if err == nil && second.open {
		// The end came while the last look was being taken down.
		r.sum.Add(r.take())
		err = second.add(ctx, r.latest, pace.Now(), true)
	}
	if err != nil {
		return err
	}
	r.doc.Seconds = (second.at - start).Seconds()
	r.spent(costs, r.costsAt(ctx), before, second.peak)
	return nil
}

// mainSection is the section that the kind is about.
func mainSection(k workload.Kind) load.Section {
	switch k {
	case workload.Fetch:
		return load.Fetch
	case workload.EndToEnd:
		return load.EndToEnd
	case workload.Storm, workload.Idle:
		return load.Connect
	}
	return load.Produce
}

// counted is the section whose rates are those of the kind.
func counted(k workload.Kind) load.Section {
	if k == workload.EndToEnd {
		return load.Fetch // each answer brings what its latencies are of
	}
	return mainSection(k)
}

func (r *run) say(phase string, share float64) {
	if r.Progress == nil {
		return
	}
	p := Progress{Phase: phase, Share: share}
	if r.latest != nil && r.took > 0 {
		p.Rates = rates(&r.latest.Sections[counted(r.Spec.Kind)], r.took.Seconds())
		l := r.latest.Sections[mainSection(r.Spec.Kind)].Latency.Corrected()
		p.P50, p.P99 = l.P50, l.P99
	}
	for _, n := range r.doc.Errors {
		p.Errors += n
	}
	r.Progress(p)
}

func (r *run) warn(format string, args ...any) {
	r.doc.Warnings = append(r.doc.Warnings, fmt.Sprintf(format, args...))
}

func rates(t *load.Tally, seconds float64) result.Rates {
	if seconds <= 0 {
		return result.Rates{}
	}
	return result.Rates{Records: float64(t.Records) / seconds, Bytes: float64(t.Bytes) / seconds, Requests: float64(t.Requests) / seconds}
}
