package franz

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"ringmain/bench/load"
	"ringmain/bench/pace"
	"ringmain/bench/workload"
)

const (
	produceKey = 0
	fetchKey   = 1
)

// producer is one client that writes. Its run belongs to one goroutine; franz-go
// calls hooks and promises on others.
type producer struct {
	env     *load.Env
	number  int // of the producer in stamps and in the book
	client  *kgo.Client
	tally   *tally
	route   *route
	room    room
	random  *rand.Rand
	keys    *workload.KeySource
	payload *payload
	shelf   *sync.Pool // of parcels

	running   *atomic.Bool // what fails outside of the load is none of its errors
	abandoned atomic.Bool
}

func (e *engine) newProducer(number int) *producer {
	s := &e.env.Spec
	p := &producer{
		env: e.env, number: number, running: &e.running, shelf: &e.shelf,
		tally:   &tally{notes: e.writing[number%len(e.writing)], section: load.Produce},
		route:   newRoute(e.env, number),
		random:  rand.New(rand.NewPCG(uint64(s.Seed), uint64(number))),
		payload: e.payloads[number%len(e.payloads)],
	}
	p.keys = s.Key.Source(p.random)
	p.room = newRoom(roomOf(s))
	return p
}

// open connects.
func (p *producer) open(ctx context.Context, clients *clients) (err error) {
	opts := clientOptions(p.env, append(producerOptions(&p.env.Spec), kgo.WithHooks(p))...)
	if p.client, err = clients.open(ctx, opts); err != nil {
		return fmt.Errorf("producer %d: %w", p.number, err)
	}
	// A broker that is away may lead nothing that matters; if it does, its records
	// will say so.
	_ = p.client.EnsureProduceConnectionIsOpen(ctx)
	if p.env.Spec.Idempotent {
		if _, _, err := p.client.ProducerID(ctx); err != nil {
			return fmt.Errorf("producer %d asks for its id: %w", p.number, err)
		}
	}
	return nil
}

// run produces until the context ends.
func (p *producer) run(ctx context.Context, begin time.Duration) error {
	s := &p.env.Spec
	turns, err := newTurns(begin, s.Rate.RecordsPerSecond(s.Record.Mean()), p.number, s.Connections)
	if err != nil {
		return err
	}
	defer turns.close()
	for {
		intended, now, ok := turns.next(ctx)
		if !ok {
			return nil
		}
		waited, ok := p.room.enter(ctx, p.hurry)
		if !ok {
			return nil
		}
		if waited {
			now = pace.Now()
		}
		if s.Rate.Max() {
			intended = now
		}
		x := p.shelf.Get().(*parcel)
		x.pack(p, intended, now)
		// With a context that does not end: franz-go gives up what is under way
		// when it does.
		p.client.Produce(context.Background(), &x.record, x.promise)
	}
}

// over is a context that has ended.
var over = func() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}()

// hurry sends what lingers: nothing will join it before there is room. It is what
// franz-go itself does when its buffer is full.
func (p *producer) hurry() {
	if p.env.Spec.Linger > 0 {
		_ = p.client.Flush(over)
	}
}

// finish waits for what is under way, and counts as failed what is not answered
// when the context ends.
func (p *producer) finish(ctx context.Context) {
	if p.client.Flush(ctx) == nil {
		p.tally.settle(ctx)
		return
	}
	p.abandoned.Store(true)
	for range p.client.BufferedProduceRecords() {
		p.tally.notes.worker.Failed(unanswered)
	}
	p.tally.settle(ctx)
}

// OnBrokerE2E is called by franz-go when a request was answered, or will not be.
func (p *producer) OnBrokerE2E(_ kgo.BrokerMetadata, key int16, e2e kgo.BrokerE2E) {
	switch err := e2e.Err(); {
	case key != produceKey:
	case err == nil:
		p.tally.answered()
	case p.running.Load() && !ended(err):
		p.tally.notes.failed(err)
	}
}

// OnBrokerConnect is called by franz-go when it has tried to connect. The client
// tries again by itself, so only this shows that a broker is away.
func (p *producer) OnBrokerConnect(_ kgo.BrokerMetadata, _ time.Duration, _ net.Conn, err error) {
	if err != nil && p.running.Load() && !ended(err) {
		p.tally.notes.failed(err)
	}
}

// OnProduceBatchWritten is called by franz-go for each batch that is done.
func (p *producer) OnProduceBatchWritten(_ kgo.BrokerMetadata, _ string, _ int32, m kgo.ProduceBatchMetrics) {
	p.tally.batch(m.NumRecords, m.CompressedBytes)
}
