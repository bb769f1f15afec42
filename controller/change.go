package controller

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/hashicorp/raft"

	"ringmain/metadata"
)

const (
	// changeQueue is how many changes wait before callers wait for a place.
	changeQueue = 256

	// roundChanges and roundBytes bound what goes into one entry of the log: a
	// round that has reached either takes no further change.
	roundChanges = 512
	roundBytes   = 1 << 20

	// changeMaxBytes is what one change may need in the log.
	changeMaxBytes = maxEntryBytes - roundBytes
)

// ChangeFunc decides what to change. It sees an image that includes every
// change before it, runs alone, and must not block. No records mean that there
// is nothing to do.
type ChangeFunc = func(img *metadata.Image) ([]metadata.Record, error)

type change struct {
	ctx  context.Context
	fn   ChangeFunc
	done chan outcome // capacity 1
}

type outcome struct {
	index int64
	err   error
}

// Change runs fn and makes what it returns part of the metadata. When it
// returns without an error, the records are on disk (on a majority of the
// voters), Image() includes them, and index is where they are in the log; for
// no records, index is that of the image that fn saw.
//
// The errors: what fn returned, as it is; metadata.ErrInvalidChange when the
// records do not fit; ErrNotLeader, ErrTooLarge and ErrClosed, when nothing was
// changed; ErrStorage, when nothing was changed either, except that after a
// failed sync (Err tells) the change may be there after a restart;
// ErrOutcomeUnknown; and ctx's error, when it ended first: the change may still
// be made.
func (c *Controller) Change(ctx context.Context, fn ChangeFunc) (index int64, err error) {
	ch := &change{ctx: ctx, fn: fn, done: make(chan outcome, 1)}
	select {
	case <-c.stop:
		return 0, ErrClosed
	default:
	}
	select {
	case c.changes <- ch:
	case <-c.stop:
		return 0, ErrClosed
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	select {
	case o := <-ch.done:
		return o.index, o.err
	case <-ctx.Done():
		return 0, ctx.Err()
	case <-c.stop:
	}
	// Closing: the proposer ends its round and answers it; what it did not take
	// is not made.
	c.background.Wait()
	select {
	case o := <-ch.done:
		return o.index, o.err
	default:
		return 0, ErrClosed
	}
}

// propose is the proposer goroutine. It takes all changes that wait, up to the
// bounds of a round, and makes one entry of them: one write and one sync, and
// either all are made or none, so that no change can outlive one that it was
// based on.
func (c *Controller) propose() {
	defer c.background.Done()
	var held *change // taken from the queue, but not fitting into the last round
	for {
		first := held
		held = nil
		if first == nil {
			select {
			case first = <-c.changes:
			case <-c.stop:
				return
			}
		}
		held = c.round(first)
		c.maybeCheckpoint()
		select {
		case <-c.stop:
			return
		default:
		}
	}
}

// round answers first and what waits behind it. It returns a change that it
// took and did not run.
func (c *Controller) round(first *change) (held *change) {
	term, err := c.ready()
	if err != nil {
		first.done <- outcome{err: err}
		return nil
	}
	base := c.Image()
	r := round{img: base, term: term}
	for ch := first; ch != nil; {
		if !r.add(ch) {
			held = ch
			break
		}
		select {
		case ch = <-c.changes:
		default:
			ch = nil
		}
	}
	r.answer(c.commit(&r))
	return held
}

// round is what becomes one entry.
type round struct {
	term    uint64
	img     *metadata.Image // with the records so far
	data    []byte          // the records so far, encoded
	changes []decided
}

// decided is a change that was run. Its answer waits for the round when it was
// based on records of the round: they might not come to pass.
type decided struct {
	ch   *change
	out  outcome
	rely bool
}

// add runs a change. It returns false, and has not run it, when the round is
// full.
func (r *round) add(ch *change) bool {
	if len(r.changes) >= roundChanges || len(r.data) >= roundBytes {
		return false
	}
	d := decided{ch: ch, rely: len(r.data) > 0, out: outcome{index: r.img.Offset()}}
	if err := ch.ctx.Err(); err != nil {
		ch.done <- outcome{err: err}
		return true
	}
	records, err := ch.fn(r.img)
	if err == nil && len(records) > 0 {
		err = r.take(records)
		d.rely = d.rely || err == nil
	}
	d.out.err = err
	r.changes = append(r.changes, d)
	return true
}

func (r *round) take(records []metadata.Record) error {
	img, _, err := r.img.Apply(records, r.img.Offset()+1)
	if err != nil {
		return err
	}
	data := metadata.AppendRecords(r.data, records)
	if n := len(data) - len(r.data); n > changeMaxBytes {
		return fmt.Errorf("%w: %d bytes of records, the limit is %d", ErrTooLarge, n, changeMaxBytes)
	}
	r.img, r.data = img, data
	return nil
}

func (r *round) answer(index int64, err error) {
	for _, d := range r.changes {
		if d.rely && err != nil {
			d.out = outcome{err: err}
		} else if d.rely && d.out.err == nil {
			d.out.index = index
		}
		d.ch.done <- d.out
	}
}

// commit stores the records of a round and waits until they are applied here.
func (c *Controller) commit(r *round) (index int64, err error) {
	if len(r.data) == 0 {
		return 0, nil
	}
	// A single voter gives up leading right after it has reported that an entry
	// could not be stored. A round that comes in between is turned away without
	// having been looked at, and may be tried again: nobody else can have changed
	// what it was based on.
	const attempts = 3
	for n := 1; ; n++ {
		index, err = c.store(r)
		if !errors.Is(err, raft.ErrNotLeader) || n == attempts || !c.singleVoter() {
			break
		}
		if r.term, err = c.ready(); err != nil {
			return 0, err
		}
	}
	return index, c.refusal(err)
}

func (c *Controller) store(r *round) (index int64, err error) {
	if err := c.logs.Reserve(len(r.data)); err != nil {
		return 0, err
	}
	// The entry says in which term it was decided. If this node stopped leading
	// and leads again since, others may have changed what it was based on, and
	// every node leaves it out.
	f := c.raft.ApplyLog(raft.Log{Data: r.data, Extensions: binary.BigEndian.AppendUint64(nil, r.term)}, 0)
	answered := make(chan error, 1)
	go func() { answered <- f.Error() }()
	select {
	case err = <-answered:
	case <-c.fault.hit: // raft is being ended, and may not answer any more
		return 0, c.fault.check()
	}
	if err == nil {
		err, _ = f.Response().(error)
	}
	if err != nil {
		return 0, err
	}
	return int64(f.Index()), nil
}

// refusal turns raft's error into ours.
func (c *Controller) refusal(err error) error {
	if err == nil {
		return nil
	}
	if f := c.fault.check(); f != nil {
		return f
	}
	if failure := c.logs.lastFailure(); failure != nil {
		return failure // it is why this node does not lead
	}
	switch {
	case errors.Is(err, ErrStorage), errors.Is(err, ErrNotLeader):
		return err
	case errors.Is(err, raft.ErrNotLeader), errors.Is(err, raft.ErrLeadershipTransferInProgress):
		return ErrNotLeader
	}
	return fmt.Errorf("%w: %w", ErrOutcomeUnknown, err) // leadership lost, or raft ended, while it was on its way
}

// ready makes sure that this node leads, and that its image includes all that is
// committed. A single voter that gave up leading, because an entry of raft's own
// could not be stored, stands again.
func (c *Controller) ready() (term uint64, err error) {
	if err := c.fault.check(); err != nil {
		return 0, err
	}
	alone := c.singleVoter()
	if alone {
		if err := c.lead(context.Background()); errors.Is(err, ErrStorage) || errors.Is(err, ErrClosed) {
			return 0, err
		} else if err != nil {
			return 0, fmt.Errorf("%w: %w", ErrNotLeader, err)
		}
	}
	term = c.raft.CurrentTerm()
	if c.raft.State() != raft.Leader {
		return 0, ErrNotLeader
	}
	if !alone && term != c.provenTerm {
		if err := c.raft.Barrier(0).Error(); err != nil {
			return 0, c.refusal(err)
		}
		c.provenTerm = term
	}
	return term, nil
}
