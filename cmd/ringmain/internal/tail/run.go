package tail

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"ringmain/cmd/ringmain/internal/connection"
)

const (
	// quiet is how long nothing may arrive before Run asks why.
	quiet = 500 * time.Millisecond
	// patience is how long a bounded read waits for a broker that went away.
	patience = 10 * time.Second
	// pollRecords bounds the records taken from the client at once.
	pollRecords = 1000
)

// Hooks are what Run calls, on its own goroutine.
type Hooks struct {
	Record func(r *kgo.Record) error // an error ends Run with that error
	Idle   func() error              // nothing is waiting: a good time to flush
	Warn   func(sentence string)
	Plan   func(total int64) // once: offsets to read; 0 when there is no end
}

// ClientOptions are those that the client given to Run must have been made with.
func ClientOptions(o Options) []kgo.Opt {
	isolation := kgo.ReadUncommitted()
	if o.ReadCommitted {
		isolation = kgo.ReadCommitted()
	}
	return []kgo.Opt{
		kgo.FetchIsolationLevel(isolation),
		// Markers say that the position has moved; they are never handed out.
		kgo.KeepControlRecords(),
		// A log start offset that moved past the position is not an error here.
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
	}
}

// Run reads until it is done, and returns nil then. It returns the context's
// error when that ends first. c must have been made with ClientOptions.
func Run(ctx context.Context, c *connection.Conn, o Options, h Hooks) error {
	p, err := makePlan(ctx, c, o, time.Now(), h.Warn)
	if err != nil {
		return err
	}
	h.Plan(p.total())
	assignment := map[int32]kgo.Offset{}
	for n, s := range p.spans {
		if !s.done() {
			assignment[n] = kgo.NewOffset().At(s.next)
		}
	}
	if len(assignment) == 0 {
		return nil
	}
	c.AddConsumePartitions(map[string]map[int32]kgo.Offset{o.Topic: assignment})
	r := &run{ctx: ctx, c: c, o: o, h: h, plan: p, open: len(assignment)}
	return r.loop()
}

// run is the state of one Run. Owner: the goroutine of Run.
type run struct {
	ctx    context.Context
	c      *connection.Conn
	o      Options
	h      Hooks
	plan   plan
	open   int // partitions not done
	count  int64
	warned bool
}

func (r *run) loop() error {
	for r.open > 0 && !r.enough() {
		waiting, cancel := context.WithTimeout(r.ctx, quiet)
		fetches := r.c.PollRecords(waiting, pollRecords)
		cancel()
		if err := r.ctx.Err(); err != nil {
			return err
		}
		if err := r.failures(fetches); err != nil {
			return err
		}
		if fetches.NumRecords() == 0 {
			if err := r.idle(); err != nil {
				return err
			}
			continue
		}
		r.warned = false
		for it := fetches.RecordIter(); !it.Done() && !r.enough(); {
			if err := r.take(it.Next()); err != nil {
				return err
			}
		}
		if r.c.BufferedFetchRecords() == 0 {
			if err := r.h.Idle(); err != nil {
				return err
			}
		}
	}
	return r.h.Idle()
}

func (r *run) enough() bool { return r.o.Count > 0 && r.count >= r.o.Count }

// take moves the position over one record and hands it out if it is asked for.
func (r *run) take(rec *kgo.Record) error {
	s := r.plan.spans[rec.Partition]
	if s.done() {
		return nil
	}
	if s.stop >= 0 && rec.Offset >= s.stop {
		r.advance(rec.Partition, s.stop)
		return nil
	}
	if rec.Attrs.IsControl() {
		r.advance(rec.Partition, rec.Offset+1)
		return nil
	}
	if r.o.Range.UntilMs >= 0 && rec.Timestamp.UnixMilli() >= r.o.Range.UntilMs {
		r.finish(rec.Partition)
		return nil
	}
	if err := r.h.Record(rec); err != nil {
		return err
	}
	r.count++
	r.advance(rec.Partition, rec.Offset+1)
	return nil
}

// advance moves a partition's position and closes the partition at its stop.
func (r *run) advance(partition int32, next int64) {
	s := r.plan.spans[partition]
	s.next = next
	r.plan.spans[partition] = s
	if s.done() {
		r.finish(partition)
	}
}

func (r *run) finish(partition int32) {
	s := r.plan.spans[partition]
	s.stop = s.next
	r.plan.spans[partition] = s
	r.open--
	r.c.PauseFetchPartitions(map[string][]int32{r.o.Topic: {partition}})
}

// failures reports what franz-go could not retry.
func (r *run) failures(fetches kgo.Fetches) error {
	for _, f := range fetches.Errors() {
		var loss *kgo.ErrDataLoss
		var session *kgo.ErrGroupSession
		switch {
		case errors.Is(f.Err, context.DeadlineExceeded) && f.Topic == "":
		case errors.As(f.Err, &loss):
			r.h.Warn(fmt.Sprintf("partition %d of topic %q lost records: it ended at %d where it had been read up to %d", f.Partition, f.Topic, loss.ResetTo, loss.ConsumedTo))
		case kgo.IsRetryableBrokerErr(f.Err):
			// idle speaks up when this lasts.
		case errors.As(f.Err, &session):
			if !rejoins(session.Err) {
				return r.refused(session.Err)
			}
			r.h.Warn(fmt.Sprintf("the group has to be joined again: %v", session.Err))
		default:
			return connection.RefusedErr(fmt.Sprintf("read partition %d of topic %q", f.Partition, r.o.Topic), r.c.Explain(f.Err), "")
		}
	}
	return nil
}

// refused says why the group has the member no longer, in the coordinator's words where it
// sent some: franz-go puts them behind the name of the error.
func (r *run) refused(session error) error {
	var code *kerr.Error
	if !errors.As(session, &code) {
		return r.c.Explain(session)
	}
	_, said, _ := strings.Cut(session.Error(), code.Error()+": ")
	return connection.RefusedErr("be a member of the group", code, said)
}

// rejoins reports that a member that met err joins again on its own.
func rejoins(err error) bool {
	for _, again := range []error{kerr.UnknownMemberID, kerr.IllegalGeneration, kerr.RebalanceInProgress, kerr.FencedMemberEpoch, kerr.StaleMemberEpoch} {
		if errors.Is(err, again) {
			return true
		}
	}
	return kerr.IsRetriable(err) || kgo.IsRetryableBrokerErr(err)
}

// idle runs when nothing arrived for a while.
func (r *run) idle() error {
	if err := r.h.Idle(); err != nil {
		return err
	}
	if sentence, since, ok := r.c.Unreachable(); ok && time.Since(since) > quiet {
		if r.plan.bounded() && time.Since(since) > patience {
			return errors.New(sentence)
		}
		if !r.warned {
			r.warned = true
			r.h.Warn(sentence + "; still trying")
		}
		return nil
	}
	return r.crossGaps()
}

// bounded reports that every partition has an end.
func (p plan) bounded() bool {
	for _, s := range p.spans {
		if s.stop < 0 {
			return false
		}
	}
	return true
}
