package feed

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"ringmain/cmd/ringmain/internal/connection"
	"ringmain/cmd/ringmain/internal/line"
)

// Source yields the text of one record after another, or io.EOF.
type Source interface {
	Next() ([]byte, error)
	// Waiting reports whether the next call to Next may wait for input.
	Waiting() bool
}

var _ Source = (*line.Splitter)(nil)

// Options say what to produce.
type Options struct {
	Shape Shape
	Count int64                     // stop after so many records; 0: no limit
	Sent  func(r *kgo.Record) error // called in input order, before sending
	Acked func(bytes int)           // called for each record that is done; any goroutine
	// Patience is how long nothing may be acknowledged while something waits.
	Patience time.Duration
}

// Partition is what was produced to one partition. Offsets are -1 when the
// broker was not asked for an answer (acks=0).
type Partition struct {
	Partition   int32 `json:"partition"`
	Records     int64 `json:"records"`
	FirstOffset int64 `json:"first_offset"`
	LastOffset  int64 `json:"last_offset"`
}

// Result is what was produced, by partition in order.
type Result struct {
	Records    int64       `json:"records"`
	Bytes      int64       `json:"bytes"` // keys and values
	Partitions []Partition `json:"partitions"`
}

// Run produces everything src yields and waits for the answers. The result
// counts what was acknowledged, also when there is an error.
func Run(ctx context.Context, c *connection.Conn, src Source, o Options) (Result, error) {
	if err := checkPartition(ctx, c, o.Shape); err != nil {
		return Result{Partitions: []Partition{}}, err
	}
	// One lost record may fail those behind it; the first failure is the reason,
	// and ends the reading.
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	// What was read is sent, interrupt or not: it is no longer in the input. Only
	// a broker that says nothing at all ends the sending.
	sending, giveUp := context.WithCancelCause(context.WithoutCancel(ctx))
	defer giveUp(nil)
	t := newTally(fail, o.Acked)
	go t.watch(sending, o.Patience, func() { giveUp(errSilent); fail(errSilent) })
	readErr := send(ctx, sending, c, src, o, t)
	flushErr := c.Flush(sending)
	result, produceErr := t.result()
	switch {
	case errors.Is(context.Cause(sending), errSilent):
		return result, silent(c, o.Patience)
	case produceErr != nil:
		return result, explain(c, o.Shape, produceErr)
	case readErr != nil:
		return result, readErr
	case flushErr != nil:
		return result, c.Explain(flushErr)
	}
	return result, nil
}

// chunk is what the reading goroutine hands over at once.
type chunk struct {
	lines [][]byte
	err   error
}

const chunkLines = 256

// send reads and produces until the input, the count or the context ends.
// Reading has its own goroutine, since reading a terminal or a pipe cannot be
// interrupted; when the context ends first, that goroutine stays behind until
// its read returns.
func send(ctx, sending context.Context, c *connection.Conn, src Source, o Options, t *tally) error {
	chunks := make(chan chunk, 4)
	go read(ctx, src, o.Count, chunks)
	for {
		var next chunk
		select {
		case <-ctx.Done():
			return c.Explain(context.Cause(ctx))
		case next = <-chunks:
		}
		for _, text := range next.lines {
			r := o.Shape.Record(text)
			if o.Sent != nil {
				if err := o.Sent(r); err != nil {
					return err
				}
			}
			t.sent()
			c.Produce(sending, r, t.done)
		}
		if errors.Is(next.err, io.EOF) {
			return nil
		}
		if next.err != nil {
			return next.err
		}
	}
}

// read cuts the input into chunks. A chunk ends early when the input would have
// to be waited for, so that a line typed by hand is sent at once.
func read(ctx context.Context, src Source, count int64, out chan<- chunk) {
	var n int64
	for {
		var c chunk
		for c.err == nil && len(c.lines) < chunkLines {
			if count > 0 && n == count {
				c.err = io.EOF
				break
			}
			var text []byte
			if text, c.err = src.Next(); c.err == nil {
				c.lines = append(c.lines, text)
				n++
				if src.Waiting() {
					break
				}
			}
		}
		select {
		case out <- c:
		case <-ctx.Done():
			return
		}
		if c.err != nil {
			return
		}
	}
}

// checkPartition refuses a partition that does not exist. franz-go would say so
// too, but only in its own terms. A topic that does not exist is no error here:
// producing may create it.
func checkPartition(ctx context.Context, c *connection.Conn, s Shape) error {
	if s.Partition < 0 {
		return nil
	}
	ctx, cancel := c.Request(ctx)
	defer cancel()
	meta, err := c.Admin.Metadata(ctx, s.Topic)
	if err != nil {
		return c.Explain(err)
	}
	topic := meta.Topics[s.Topic]
	if _, ok := topic.Partitions[s.Partition]; topic.Err == nil && !ok {
		return fmt.Errorf("topic %q has no partition %d: it has %d, numbered from 0", s.Topic, s.Partition, len(topic.Partitions))
	}
	return nil
}

func explain(c *connection.Conn, s Shape, err error) error {
	what := fmt.Sprintf("produce to topic %q", s.Topic)
	if s.Partition >= 0 {
		what = fmt.Sprintf("produce to partition %d of topic %q", s.Partition, s.Topic)
	}
	var code *kerr.Error
	if errors.As(err, &code) {
		return connection.Refused(what, code.Code, nil)
	}
	return fmt.Errorf("%s: %w", what, c.Explain(err))
}
