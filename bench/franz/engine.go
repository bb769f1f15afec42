package franz

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"ringmain/bench/load"
	"ringmain/bench/workload"
)

// engine carries one load out. Open, Run and Close may be called from different
// goroutines; Run belongs to the one that calls it, and starts one for each
// client.
type engine struct {
	env      *load.Env
	clients  clients
	writing  []*notes // shared by producers, visitors or guests
	reading  []*notes // shared by consumers
	payloads []*payload
	shelf    sync.Pool

	producers []*producer
	consumers []*consumer
	visitors  []*visitor
	guests    *guests

	running atomic.Bool
}

// New returns the engine of a load, or says what of the load it cannot do.
func New(env *load.Env) (load.Engine, error) {
	if err := check(env); err != nil {
		return nil, err
	}
	s := &env.Spec
	e := &engine{env: env}
	e.shelf.New = newParcel
	if s.Kind.Produces() {
		e.writing, e.payloads = newNotes(env.Meter, s.Connections), newPayloads(s)
		for n := range s.Connections {
			e.producers = append(e.producers, e.newProducer(n))
		}
	}
	if s.Kind.Fetches() {
		e.reading = newNotes(env.Meter, s.Consumers)
		for n := range s.Consumers {
			e.consumers = append(e.consumers, e.newConsumer(n))
		}
	}
	switch s.Kind {
	case workload.Storm:
		e.writing = newNotes(env.Meter, s.Connections)
		for n := range s.Connections {
			e.visitors = append(e.visitors, e.newVisitor(n))
		}
	case workload.Idle:
		e.guests = &guests{env: env, clients: &e.clients, notes: newNotes(env.Meter, s.Connections)}
	}
	return e, nil
}

// readable are the numbers of the partitions that there is something to read in.
func (e *engine) readable() []int {
	if e.env.Spec.FetchMode != workload.Tail {
		return filled(e.env.Partitions)
	}
	all := make([]int, len(e.env.Partitions))
	for n := range all {
		all[n] = n
	}
	return all
}

// readsItsOwn reports whether the load reads the records that it writes, so that
// the book can tell whether all came.
func (e *engine) readsItsOwn() bool {
	s := &e.env.Spec
	return e.env.Book != nil && s.Kind.Produces() && s.Kind.Fetches() && s.FetchMode == workload.Tail
}

// Open makes the clients and connects them. Those of a storm and of an idle load
// connect in Run.
func (e *engine) Open(ctx context.Context) error {
	if err := each(len(e.consumers), func(i int) error { return e.consumers[i].open(ctx, &e.clients) }); err != nil {
		return err
	}
	return each(len(e.producers), func(i int) error { return e.producers[i].open(ctx, &e.clients) })
}

// errStopped ends the sending of a load that was stopped as it should be.
var errStopped = errors.New("the load was stopped")

// Run sends until stop is closed.
func (e *engine) Run(ctx context.Context, begin time.Duration, stop <-chan struct{}) error {
	sending, cease := context.WithCancelCause(ctx)
	defer cease(nil)
	finishing, giveUp := context.WithCancel(ctx)
	defer giveUp()
	reading, stopReading := context.WithCancel(ctx)
	defer stopReading()
	go func() {
		select {
		case <-stop:
			cease(errStopped)
		case <-sending.Done():
		}
		patience := time.AfterFunc(e.env.Patience, giveUp)
		defer patience.Stop()
		<-finishing.Done()
	}()
	e.running.Store(true)
	defer e.running.Store(false)

	var senders, readers sync.WaitGroup
	work := func(group *sync.WaitGroup, do func() error) {
		group.Go(func() {
			if err := do(); err != nil {
				cease(err)
			}
		})
	}
	for _, c := range e.consumers {
		work(&readers, func() error { return c.run(reading, begin) })
	}
	for _, p := range e.producers {
		work(&senders, func() error { return p.run(sending, begin) })
	}
	for _, v := range e.visitors {
		work(&senders, func() error { return v.run(sending, finishing, begin) })
	}
	if e.guests != nil {
		work(&senders, func() error { return e.guests.arrive(sending, finishing, begin) })
	}
	<-sending.Done()
	senders.Wait()
	e.finish(finishing)
	stopReading()
	readers.Wait()
	if cause := context.Cause(sending); !errors.Is(cause, errStopped) {
		return fmt.Errorf("the load ended before it was stopped: %w", cause)
	}
	return nil
}

// finish waits for what was sent: all at once for the answers, then until it was
// read where the load reads it.
func (e *engine) finish(ctx context.Context) {
	var flushing sync.WaitGroup
	for _, p := range e.producers {
		flushing.Go(func() { p.finish(ctx) })
	}
	flushing.Wait()
	if e.readsItsOwn() {
		// What is missing when the patience is over, the book will say.
		_ = await(ctx, func() bool { return e.env.Book.Unseen() == 0 })
	}
	// Nothing that fails from now on was part of the load.
	e.running.Store(false)
}

// Close closes all connections.
func (e *engine) Close() {
	e.clients.close()
	if e.guests != nil {
		e.guests.leave()
	}
}
