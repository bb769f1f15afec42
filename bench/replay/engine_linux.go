package replay

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/sasl"

	"ringmain/bench/load"
	"ringmain/bench/workload"
)

// engine is one load on its loops.
type engine struct {
	env       *load.Env
	versions  versions
	loops     []*loop
	producers []*producers // of each loop
	consumers []*consumer
	visitors  []*visitors // of each loop
	places    int         // of Go's scheduler, before
}

// New prepares the engine for one load.
func New(env *load.Env) (load.Engine, error) {
	if err := check(env); err != nil {
		return nil, err
	}
	return &engine{env: env, versions: newestVersions}, nil
}

// maxLoops bounds the processors that a load takes from a broker on the same host.
const maxLoops = 8

// Open makes the loops and the links.
func (e *engine) Open(ctx context.Context) error {
	s := &e.env.Spec
	client, err := kgo.NewClient(e.env.Client...)
	if err != nil {
		return err
	}
	defer client.Close()
	encrypted, _ := client.OptValue(kgo.DialTLSConfig).(*tls.Config)
	mechanisms, _ := client.OptValue(kgo.SASL).([]sasl.Mechanism)
	if encrypted != nil || len(mechanisms) > 0 {
		return errors.New("engine replay speaks PLAINTEXT without authentication only: use engine franz")
	}
	if err := e.negotiate(ctx, client); err != nil {
		return err
	}
	links := 0
	switch {
	case s.Kind == workload.Storm || s.Kind == workload.Idle:
		links = s.Connections
	default:
		if s.Kind.Produces() {
			links += s.Connections
		}
		if s.Kind.Fetches() {
			links += s.Consumers
		}
	}
	if err := e.openLoops(min(runtime.NumCPU(), maxLoops, links)); err != nil {
		return err
	}
	if s.Kind == workload.Storm || s.Kind == workload.Idle {
		return e.openVisitors(ctx)
	}
	if s.Kind.Produces() {
		if err := e.openProducers(ctx, client); err != nil {
			return err
		}
	}
	if s.Kind.Fetches() {
		return e.openConsumers(ctx)
	}
	return nil
}

func (e *engine) openLoops(n int) error {
	for range n {
		lp, err := newLoop(e.env.Meter.Worker())
		if err != nil {
			return err
		}
		e.loops = append(e.loops, lp)
	}
	// A loop that waits for events keeps a place in Go's scheduler for a while.
	e.places = runtime.GOMAXPROCS(0)
	runtime.GOMAXPROCS(max(e.places, n+2))
	return nil
}

// negotiate finds versions that all brokers speak.
func (e *engine) negotiate(ctx context.Context, client *kgo.Client) error {
	brokers, err := kadm.NewClient(client).ApiVersions(ctx)
	if err != nil {
		return fmt.Errorf("ask brokers for the versions they speak: %w", err)
	}
	for _, b := range brokers.Sorted() {
		if b.Err != nil {
			return fmt.Errorf("ask broker %d for the versions it speaks: %w", b.NodeID, b.Err)
		}
		if err := e.versions.limit(b.KeyVersions); err != nil {
			return fmt.Errorf("broker %d: %w", b.NodeID, err)
		}
	}
	return nil
}

// dial opens the link of a role on one of the loops.
func (e *engine) dial(ctx context.Context, lp *loop, r role, address string) (*link, error) {
	fd, err := dial(ctx, address)
	if err != nil {
		return nil, err
	}
	l := &link{fd: fd, role: r}
	return l, lp.add(l)
}

func (e *engine) openProducers(ctx context.Context, client *kgo.Client) error {
	s := &e.env.Spec
	shares, err := share(e.env.Partitions, s.Connections)
	if err != nil {
		return err
	}
	index := e.numbers()
	for i, lp := range e.loops {
		ps := &producers{
			env: e.env, lp: lp, heads: map[*load.Partition][]byte{},
			patterns: newPatterns(s, uint64(i), e.env.Book != nil),
			changes:  e.env.Book != nil || s.Idempotent,
		}
		e.producers = append(e.producers, ps)
		lp.work = append(lp.work, ps)
	}
	for i, partitions := range shares {
		ps := e.producers[i%len(e.producers)]
		p := &producer{producers: ps, number: uint32(i), flight: flight{ring: make([]request, s.InFlight)}}
		id, epoch := int64(-1), int16(-1)
		if s.Idempotent {
			if id, epoch, err = newProducerID(ctx, client); err != nil {
				return err
			}
		}
		for _, at := range partitions {
			if ps.heads[at] == nil {
				ps.heads[at] = produceHead(at, s, e.versions.produce)
			}
			t := target{partition: at, head: ps.heads[at], number: index(at), producerID: id, epoch: epoch}
			if e.env.Book != nil {
				t.stream = e.env.Book.Stream(p.number, t.number)
			}
			p.targets = append(p.targets, t)
		}
		if p.link, err = e.dial(ctx, ps.lp, p, partitions[0].Leader); err != nil {
			return err
		}
		ps.all = append(ps.all, p)
	}
	return nil
}

// newProducerID makes a connection one of an idempotent producer.
func newProducerID(ctx context.Context, client *kgo.Client) (id int64, epoch int16, err error) {
	r := kmsg.NewPtrInitProducerIDRequest()
	r.TransactionTimeoutMillis, r.ProducerID, r.ProducerEpoch = 60_000, -1, -1
	answer, err := r.RequestWith(ctx, client)
	if err == nil {
		err = kerr.ErrorForCode(answer.ErrorCode)
	}
	if err != nil {
		return -1, -1, fmt.Errorf("ask for a producer id: %w", err)
	}
	return answer.ProducerID, answer.ProducerEpoch, nil
}

func (e *engine) openConsumers(ctx context.Context) error {
	s := &e.env.Spec
	shares, err := share(e.env.Partitions, s.Consumers)
	if err != nil {
		return err
	}
	if e.env.Book != nil && s.Consumers > len(e.env.Partitions) {
		// Each record is to be seen once.
		shares = shares[:len(e.env.Partitions)]
	}
	something := false
	for i, partitions := range shares {
		// Counted from the other end than producers, so that the loops have equal work.
		lp := e.loops[len(e.loops)-1-i%len(e.loops)]
		c := newConsumer(e.env, lp, i, e.versions.fetch, partitions, e.numbers())
		something = something || len(c.requests) > 0
		if c.link, err = e.dial(ctx, lp, c, partitions[0].Leader); err != nil {
			return err
		}
		e.consumers = append(e.consumers, c)
		lp.work = append(lp.work, c)
	}
	if !something {
		return fmt.Errorf("topic %q is empty: there is nothing to fetch; write to it first, or name none to have one made and filled", e.env.Spec.Topic)
	}
	return nil
}

func (e *engine) openVisitors(ctx context.Context) error {
	s := &e.env.Spec
	where, err := resolve(ctx, e.env.Bootstrap[0])
	if err != nil {
		return err
	}
	for i, lp := range e.loops {
		n := s.Connections / len(e.loops)
		if i < s.Connections%len(e.loops) {
			n++
		}
		vs := &visitors{env: e.env, lp: lp, place: where.own(), first: i * (n + 1), greeting: [][]byte{helloRequest()}}
		if s.Kind == workload.Idle {
			vs.stay, vs.waiting = true, n
		} else {
			vs.greeting = append(vs.greeting, metadataRequest(e.env.Partitions, e.versions.metadata))
			for range n {
				vs.free = append(vs.free, &visitor{visitors: vs})
			}
		}
		e.visitors = append(e.visitors, vs)
		lp.work = append(lp.work, vs)
	}
	return nil
}

// numbers is the number of each partition in the load.
func (e *engine) numbers() func(*load.Partition) int32 {
	number := make(map[*load.Partition]int32, len(e.env.Partitions))
	for i := range e.env.Partitions {
		number[&e.env.Partitions[i]] = int32(i)
	}
	return func(p *load.Partition) int32 { return number[p] }
}

// Run carries the load out.
func (e *engine) Run(ctx context.Context, begin time.Duration, stop <-chan struct{}) error {
	ended := make(chan error, len(e.loops))
	for i, lp := range e.loops {
		go func() {
			ended <- lp.run(func() error { return e.begin(i, begin) })
		}()
	}
	running := len(e.loops)
	var first error
	select {
	case <-stop:
		first = e.finish(ctx)
	case <-ctx.Done():
		first = context.Cause(ctx)
	case first = <-ended:
		running--
	}
	for _, lp := range e.loops {
		lp.order(func() error { lp.over = true; return nil })
	}
	for ; running > 0; running-- {
		if err := <-ended; first == nil {
			first = err
		}
	}
	return first
}

// begin starts what is on loop i, on its goroutine.
func (e *engine) begin(i int, at time.Duration) error {
	s := &e.env.Spec
	switch {
	case e.visitors != nil:
		perSecond := 0.0
		if s.Kind == workload.Storm {
			perSecond = s.Rate.Records // connections, each of which is one
		}
		return e.visitors[i].begin(at, perSecond, i, len(e.loops))
	case e.producers != nil:
		ps := e.producers[i]
		if len(ps.all) == 0 {
			break
		}
		perSecond := s.Rate.RecordsPerSecond(s.Record.Mean()) / meanRecords(ps.patterns)
		if err := ps.begin(at, perSecond, s.Connections); err != nil {
			return err
		}
	}
	for _, c := range e.consumers {
		if c.lp != e.loops[i] {
			continue
		}
		perSecond := 0.0
		if s.Kind == workload.Fetch {
			perSecond = s.Rate.RecordsPerSecond(s.Record.Mean()) / float64(len(e.consumers))
		}
		if err := c.begin(at, perSecond); err != nil {
			return err
		}
	}
	return nil
}

// lookAgain is how often the end of a load is looked for.
const lookAgain = 2 * time.Millisecond

// finish stops sending, and waits for the answers and for the records that are to
// be read.
func (e *engine) finish(ctx context.Context) error {
	for i := range e.loops {
		e.ask(i, func() bool {
			if e.producers != nil {
				e.producers[i].stop()
			}
			if e.visitors != nil {
				e.visitors[i].stopped = true
			}
			return true
		})
	}
	deadline := time.Now().Add(e.env.Patience)
	look := time.NewTicker(lookAgain)
	defer look.Stop()
	for settled := false; !settled && time.Now().Before(deadline); {
		settled = e.settled()
		select {
		case <-look.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	for i := range e.loops {
		e.ask(i, func() bool {
			if e.producers != nil {
				e.producers[i].giveUp()
			}
			return true
		})
	}
	for _, c := range e.consumers {
		c.lp.order(func() error { c.stopped = true; return nil })
	}
	return nil
}

// settled reports whether everything was answered and seen.
func (e *engine) settled() bool {
	if e.producers == nil {
		return true
	}
	for i := range e.loops {
		if !e.ask(i, e.producers[i].idle) {
			return false
		}
	}
	return e.env.Book == nil || len(e.consumers) == 0 || e.env.Spec.FetchMode != workload.Tail || e.env.Book.Unseen() == 0
}

// ask has loop i answer a question; nothing of a loop that has ended is waited for.
func (e *engine) ask(i int, question func() bool) bool {
	answer := make(chan bool, 1)
	e.loops[i].order(func() error { answer <- question(); return nil })
	select {
	case yes := <-answer:
		return yes
	case <-e.loops[i].ended:
		return true
	}
}

// Close closes all links.
func (e *engine) Close() {
	for _, lp := range e.loops {
		lp.close()
	}
	e.loops = nil
	if e.places > 0 {
		runtime.GOMAXPROCS(e.places)
		e.places = 0
	}
}
