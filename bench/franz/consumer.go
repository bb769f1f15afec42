package franz

import (
	"context"
	"fmt"
	"net"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"ringmain/bench/load"
	"ringmain/bench/pace"
)

// consumer is one client that reads partitions of its own. Its run belongs to one
// goroutine; franz-go calls hooks on others.
type consumer struct {
	env    *load.Env
	number int
	client *kgo.Client
	tally  *tally
	course course
	// accounts: what is read is given to the book. Of consumers that share a
	// partition, because there are more of them than partitions, one does.
	accounts bool
	running  *atomic.Bool
}

func (e *engine) newConsumer(number int) *consumer {
	partitions := e.readable()
	own := share(number, e.env.Spec.Consumers, len(partitions))
	for i := range own {
		own[i] = partitions[own[i]]
	}
	return &consumer{
		env: e.env, number: number, running: &e.running,
		tally:    &tally{notes: e.reading[number%len(e.reading)], section: load.Fetch},
		course:   newCourse(e.env, number, own),
		accounts: e.readsItsOwn() && number < len(partitions),
	}
}

// open connects, and is ready to fetch. At the end of the log it fetches already,
// for nothing comes before somebody writes; what is there waits for the load.
func (c *consumer) open(ctx context.Context, clients *clients) (err error) {
	opts := clientOptions(c.env, append(consumerOptions(&c.env.Spec, c.course.from()), kgo.WithHooks(c))...)
	if c.client, err = clients.prepare(opts); err != nil {
		return fmt.Errorf("consumer %d: %w", c.number, err)
	}
	c.course.hold(c.client)
	if err := c.client.Ping(ctx); err != nil {
		return fmt.Errorf("consumer %d says hello: %w", c.number, err)
	}
	return nil
}

// run polls until the context ends.
func (c *consumer) run(ctx context.Context, begin time.Duration) error {
	turns, err := newTurns(begin, 0, 0, 1)
	if err != nil {
		return err
	}
	defer turns.close()
	if _, _, ok := turns.next(ctx); !ok {
		return nil
	}
	c.course.begin(c.client)
	called := pace.Now()
	for ctx.Err() == nil {
		fetches := c.client.PollFetches(ctx)
		done := pace.Now()
		c.take(fetches, called, done)
		c.course.advance(c.client)
		called = pace.Now()
	}
	return nil
}

// outOfOrder is a record that lies before an offset that was read already.
const outOfOrder = "records out of order"

// take notes what a poll returned.
func (c *consumer) take(fetches kgo.Fetches, called, done time.Duration) {
	fetches.EachError(func(_ string, _ int32, err error) {
		if !ended(err) {
			c.tally.notes.failed(err)
		}
	})
	answers := 0
	for i := range fetches {
		answers += min(1, fetches[i:i+1].NumRecords())
	}
	if answers == 0 {
		return
	}
	n := c.tally.notes
	n.mu.Lock()
	defer n.mu.Unlock()
	records := int64(0)
	fetches.EachPartition(func(p kgo.FetchTopicPartition) {
		number := c.course.number(p.Topic, p.Partition)
		due := c.course.due(number)
		for _, r := range p.Records {
			switch {
			case !c.env.Dense:
			case r.Offset < *due:
				n.worker.Failed(outOfOrder)
			case r.Offset > *due:
				c.env.Meter.Missed(load.Gap{Topic: p.Topic, Partition: p.Partition, From: *due, To: r.Offset, Records: r.Offset - *due})
			}
			*due = r.Offset + 1
			c.course.saw(number, r.Offset)
			if r.Attrs.IsControl() {
				continue
			}
			records++
			if !c.accounts {
				continue
			}
			if stamp, ok := c.env.Book.Saw(int32(number), r.Offset, r.Value); ok {
				n.worker.Took(load.EndToEnd, stamp.Sent, stamp.Sent, done)
			}
		}
	})
	if records == 0 {
		return
	}
	c.tally.requests += int64(answers)
	c.tally.records += records
	c.tally.noteAll()
	n.worker.Took(load.Fetch, called, called, done)
}

// OnBrokerE2E is called by franz-go when a request was answered, or will not be.
func (c *consumer) OnBrokerE2E(_ kgo.BrokerMetadata, key int16, e2e kgo.BrokerE2E) {
	if err := e2e.Err(); key == fetchKey && err != nil && c.running.Load() && !ended(err) {
		c.tally.notes.failed(err)
	}
}

// OnBrokerConnect is called by franz-go when it has tried to connect.
func (c *consumer) OnBrokerConnect(_ kgo.BrokerMetadata, _ time.Duration, _ net.Conn, err error) {
	if err != nil && c.running.Load() && !ended(err) {
		c.tally.notes.failed(err)
	}
}

// OnFetchBatchRead is called by franz-go for each batch that it has read, before
// a poll returns it.
func (c *consumer) OnFetchBatchRead(_ kgo.BrokerMetadata, _ string, _ int32, m kgo.FetchBatchMetrics) {
	c.tally.batch(m.NumRecords, m.CompressedBytes)
}
