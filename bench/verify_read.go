package bench

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

const (
	verifyReaders    = 4 // partitions that are read at the same time
	verifyFetchBytes = 4 << 20
	verifyFetchWait  = 200 * time.Millisecond
	// verifySettle is how long a partition may end below what was acknowledged:
	// a new leader learns only with its followers' next fetch how far all of
	// them are.
	verifySettle = 5 * time.Second
)

// reading is the part of a Verify that reads back. It fetches by hand and not
// with the client's consumer, which resets offsets, passes over records and
// joins again without a word: here all that a broker answers counts.
type reading struct {
	v      *verification
	read   atomic.Int64
	toRead int64
	begun  time.Time

	mu      sync.Mutex // progress, report.Unreadable
	shown   time.Time
	leaders map[int32]int32 // partition to broker
	topicID [16]byte
}

// read reads every partition from where the account begins to its end.
func (v *verification) read(ctx context.Context) error {
	r := &reading{v: v, begun: time.Now()}
	if err := r.refresh(ctx); err != nil {
		return fmt.Errorf("read back: %w", err)
	}
	for p, from := range v.state.Start {
		r.toRead += max(0, v.book.AckedEnd(int32(p))-from)
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	partitions := make(chan int32)
	var readers sync.WaitGroup
	for range min(verifyReaders, len(v.state.Start)) {
		readers.Go(func() {
			for p := range partitions {
				if err := r.partition(ctx, p); err != nil {
					stop(fmt.Errorf("read back partition %d: %w", p, err))
				}
			}
		})
	}
	for p := range v.state.Start {
		partitions <- int32(p)
	}
	close(partitions)
	readers.Wait()
	v.report.Read = r.read.Load()
	return context.Cause(ctx)
}

// refresh asks who leads what.
func (r *reading) refresh(ctx context.Context) error {
	meta, err := r.v.served(ctx)
	if err != nil {
		return err
	}
	detail := meta.Topics[r.v.state.Topic]
	found := map[int32]int32{}
	for p, d := range detail.Partitions {
		found[p] = d.Leader
	}
	r.mu.Lock()
	r.leaders, r.topicID = found, detail.ID
	r.mu.Unlock()
	return nil
}

// leader is a partition's leader as far as is known.
func (r *reading) leader(p int32) *kgo.Broker {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.v.client.Broker(int(r.leaders[p]))
}

// partition reads one partition to its end. Errors that pass are retried for as
// long as patience allows.
func (r *reading) partition(ctx context.Context, p int32) error {
	next, acked := r.v.state.Start[p], r.v.book.AckedEnd(p)
	progress := time.Now()
	settleBy := time.Time{}
	for ctx.Err() == nil {
		before := next
		end, err := r.end(ctx, p)
		if err == nil && next < end {
			next, err = r.piece(ctx, p, next)
		}
		var damage *damageError
		switch {
		case errors.As(err, &damage):
			r.unreadable(p, damage)
			return nil
		case err != nil && time.Since(progress) > r.v.Patience:
			return fmt.Errorf("for %v: %w", r.v.Patience, err)
		case err != nil:
			r.v.Log.Debug("reading back", "partition", p, "offset", next, "error", err)
			if err := pause(ctx, askAgain); err != nil {
				return err
			}
			if err := r.refresh(ctx); err != nil {
				return err
			}
		case next > before:
			progress = time.Now()
			settleBy = time.Time{}
		case next >= end && next >= acked:
			return nil
		default:
			// Acknowledged records are missing at the end, or an answer was empty.
			if settleBy.IsZero() {
				settleBy = time.Now().Add(verifySettle)
			}
			if time.Now().After(settleBy) {
				if next < end {
					r.unreadable(p, fmt.Errorf("at offset %d the broker answers nothing, and says that the partition ends at %d", next, end))
				}
				return nil
			}
			if err := pause(ctx, askAgain); err != nil {
				return err
			}
		}
	}
	return context.Cause(ctx)
}

func (r *reading) unreadable(p int32, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.v.report.Unreadable = append(r.v.report.Unreadable, fmt.Sprintf("partition %d: %v", p, err))
}

// damageError is bytes that cannot be read; asking again does not help.
type damageError struct{ err error }

func (e *damageError) Error() string { return e.err.Error() }
func (e *damageError) Unwrap() error { return e.err }

// end asks where the partition ends for consumers.
func (r *reading) end(ctx context.Context, p int32) (int64, error) {
	return r.offset(ctx, p, -1)
}

// offset asks for the offset that ListOffsets gives for a timestamp: -1 is the
// end, -2 the start.
func (r *reading) offset(ctx context.Context, p int32, timestamp int64) (int64, error) {
	req := kmsg.NewPtrListOffsetsRequest()
	req.ReplicaID = -1
	topic := kmsg.NewListOffsetsRequestTopic()
	topic.Topic = r.v.state.Topic
	part := kmsg.NewListOffsetsRequestTopicPartition()
	part.Partition, part.Timestamp = p, timestamp
	topic.Partitions = append(topic.Partitions, part)
	req.Topics = append(req.Topics, topic)
	answer, err := r.leader(p).Request(ctx, req)
	if err != nil {
		return 0, fmt.Errorf("list offsets: %w", err)
	}
	topics := answer.(*kmsg.ListOffsetsResponse).Topics
	if len(topics) != 1 || len(topics[0].Partitions) != 1 {
		return 0, errors.New("list offsets: the answer is not about the one partition that was asked for")
	}
	got := topics[0].Partitions[0]
	if err := kerr.ErrorForCode(got.ErrorCode); err != nil {
		return 0, fmt.Errorf("list offsets: %w", err)
	}
	return got.Offset, nil
}

// piece fetches once from an offset, gives the records to the account and
// returns the offset to go on from.
func (r *reading) piece(ctx context.Context, p int32, from int64) (int64, error) {
	req := kmsg.NewPtrFetchRequest()
	req.MaxWaitMillis, req.MinBytes, req.MaxBytes = int32(verifyFetchWait.Milliseconds()), 1, verifyFetchBytes
	topic := kmsg.NewFetchRequestTopic()
	topic.Topic = r.v.state.Topic
	r.mu.Lock()
	topic.TopicID = r.topicID
	r.mu.Unlock()
	part := kmsg.NewFetchRequestTopicPartition()
	part.Partition, part.FetchOffset, part.PartitionMaxBytes = p, from, verifyFetchBytes
	topic.Partitions = append(topic.Partitions, part)
	req.Topics = append(req.Topics, topic)
	answer, err := r.leader(p).Request(ctx, req)
	if err != nil {
		return from, fmt.Errorf("fetch: %w", err)
	}
	resp := answer.(*kmsg.FetchResponse)
	if err := kerr.ErrorForCode(resp.ErrorCode); err != nil {
		return from, fmt.Errorf("fetch: %w", err)
	}
	if len(resp.Topics) != 1 || len(resp.Topics[0].Partitions) != 1 {
		return from, errors.New("fetch: the answer is not about the one partition that was asked for")
	}
	got := resp.Topics[0].Partitions[0]
	switch err := kerr.ErrorForCode(got.ErrorCode); {
	case errors.Is(err, kerr.OffsetOutOfRange):
		return r.above(ctx, p, from)
	case err != nil:
		return from, fmt.Errorf("fetch: %w", err)
	}
	next, err := r.v.book.SawBatches(p, from, got.RecordBatches, nil)
	r.count(next - from)
	if err != nil {
		return next, &damageError{err}
	}
	return next, nil
}

// above is where the partition starts if that is above from: somebody has
// deleted records, which the account will call lost.
func (r *reading) above(ctx context.Context, p int32, from int64) (int64, error) {
	start, err := r.offset(ctx, p, -2)
	if err != nil {
		return from, err
	}
	if start <= from {
		return from, fmt.Errorf("fetch: offset %d: %w, although the partition starts at %d", from, kerr.OffsetOutOfRange, start)
	}
	return start, nil
}

// count adds what was read and shows it now and then.
func (r *reading) count(n int64) {
	total := r.read.Add(n)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.v.Progress == nil || time.Since(r.shown) < askAgain {
		return
	}
	r.shown = time.Now()
	r.v.Progress(VerifyProgress{Phase: "read", Read: total, ToRead: max(r.toRead, total), Elapsed: time.Since(r.begun)})
}
