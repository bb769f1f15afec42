package feed

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"ringmain/cmd/ringmain/internal/connection"
)

// errSilent ends a run in which the broker acknowledges nothing any more.
var errSilent = errors.New("nothing was acknowledged in time")

// tally counts answers. They come on franz-go's goroutines.
type tally struct {
	fail  context.CancelCauseFunc
	acked func(bytes int)

	mu         sync.Mutex // guards everything below
	err        error
	waiting    int64     // records without an answer
	since      time.Time // when the last answer came, or the first of them was sent
	records    int64
	bytes      int64
	partitions map[int32]*Partition
}

func newTally(fail context.CancelCauseFunc, acked func(bytes int)) *tally {
	return &tally{fail: fail, acked: acked, partitions: map[int32]*Partition{}}
}

// sent counts a record that is about to be sent.
func (t *tally) sent() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.waiting == 0 {
		t.since = time.Now()
	}
	t.waiting++
}

// done is franz-go's promise for one record.
func (t *tally) done(r *kgo.Record, err error) {
	size := len(r.Key) + len(r.Value)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.waiting--
	t.since = time.Now()
	if err != nil {
		if t.err == nil {
			t.err = err
			t.fail(err)
		}
		return
	}
	t.records++
	t.bytes += int64(size)
	p := t.partitions[r.Partition]
	if p == nil {
		p = &Partition{Partition: r.Partition, FirstOffset: r.Offset}
		t.partitions[r.Partition] = p
	}
	p.Records++
	p.LastOffset = r.Offset
	if t.acked != nil {
		t.acked(size)
	}
}

// watch calls silent once, when records have been waiting for an answer longer
// than patience. franz-go has a limit per record, but counts it from the
// record's timestamp, which a person may set to last year.
func (t *tally) watch(ctx context.Context, patience time.Duration, silent func()) {
	if patience <= 0 {
		return
	}
	tick := time.NewTicker(max(patience/20, time.Millisecond))
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-tick.C:
			t.mu.Lock()
			late := t.waiting > 0 && now.Sub(t.since) > patience
			t.mu.Unlock()
			if late {
				silent()
				return
			}
		}
	}
}

func (t *tally) result() (Result, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	res := Result{Records: t.records, Bytes: t.bytes, Partitions: []Partition{}}
	for _, p := range t.partitions {
		res.Partitions = append(res.Partitions, *p)
	}
	slices.SortFunc(res.Partitions, func(a, b Partition) int { return int(a.Partition) - int(b.Partition) })
	return res, t.err
}

// silent says what a run that ended in errSilent was waiting for.
func silent(c *connection.Conn, patience time.Duration) error {
	if sentence, _, ok := c.Unreachable(); ok {
		return fmt.Errorf("%s; %w (%v)", sentence, errSilent, patience)
	}
	return fmt.Errorf("the broker at %s does not answer: %w (%v)", c.Bootstrap(), errSilent, patience)
}
