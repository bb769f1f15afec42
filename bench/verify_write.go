package bench

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"ringmain/bench/audit"
)

const (
	// verifyBuffered bounds the records without an answer; it is what a broker
	// that was away gets at once when it comes back.
	verifyBuffered      = 10_000
	verifyBufferedBytes = 64 << 20

	verifyLinger = 5 * time.Millisecond
	// verifyRetryAfter is short because brokers are restarted on purpose here.
	verifyRetryAfter = 50 * time.Millisecond
	// verifyNoteEvery is how old the state file may be.
	verifyNoteEvery = time.Second
	// verifyPace is how finely the rate is kept: what is due is sent at once.
	verifyPace = 2 * time.Millisecond
)

// writing is one session of a Verify that writes.
type writing struct {
	v        *verification
	producer uint32
	filler   *audit.Filler
	client   *kgo.Client
	fail     context.CancelCauseFunc
	begun    time.Time
	free     chan []byte // values whose records are acknowledged

	sent, acked atomic.Int64
	lastAck     atomic.Int64 // ns since begun
	longestGap  atomic.Int64
}

// write opens a session, sends until the bounds are reached and waits for the
// answers.
func (v *verification) write(ctx context.Context) error {
	w := &writing{v: v, producer: v.state.Open(), filler: audit.NewFiller(v.state.Run), begun: time.Now()}
	w.free = make(chan []byte, min(verifyBuffered, 1+verifyBufferedBytes/v.ValueBytes))
	var err error
	if v.book, err = v.state.Book(); err != nil {
		return err
	}
	// Before the first record, so that no later session takes the same numbers.
	if err := v.save(); err != nil {
		return err
	}
	if w.client, err = kgo.NewClient(append(append([]kgo.Opt{}, v.Client...), w.options()...)...); err != nil {
		return fmt.Errorf("set up the producer: %w", err)
	}
	// Two reasons to stop: an interrupt still lets answers come in, a failure
	// means that none will.
	working, fail := context.WithCancelCause(context.WithoutCancel(ctx))
	w.fail = fail
	defer fail(nil)
	sending, stopSending := context.WithCancel(ctx)
	defer stopSending()
	defer context.AfterFunc(working, stopSending)()
	watched := make(chan struct{})
	watching, unwatch := context.WithCancel(working)
	go func() { defer close(watched); w.watch(watching) }()

	w.send(sending)
	w.drain(ctx, working)
	unwatch()
	<-watched
	failure := context.Cause(working)
	w.client.Close() // fails what has no answer yet
	v.report.Written, v.report.WriteTime = w.acked.Load(), time.Since(w.begun)
	v.report.LongestGap = time.Duration(w.longestGap.Load())
	v.state.Note(v.book, w.producer, true)
	if err := v.save(); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return failure
}

func (w *writing) options() []kgo.Opt {
	opts := []kgo.Opt{
		kgo.RequiredAcks(kgo.AllISRAcks()),
		kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.MaxBufferedRecords(verifyBuffered),
		kgo.MaxBufferedBytes(max(verifyBufferedBytes, 4*w.v.ValueBytes)),
		kgo.ProducerLinger(verifyLinger),
		// The client never gives a record up by itself: patience does (watch).
		kgo.UnknownTopicRetries(-1),
		kgo.RetryBackoffFn(func(int) time.Duration { return verifyRetryAfter }),
		kgo.MetadataMinAge(askAgain),
	}
	if w.v.BatchBytes > 0 {
		opts = append(opts, kgo.ProducerBatchMaxBytes(w.v.BatchBytes))
	}
	if w.v.Codec != (kgo.CompressionCodec{}) {
		opts = append(opts, kgo.ProducerBatchCompression(w.v.Codec))
	} else {
		opts = append(opts, kgo.ProducerBatchCompression(kgo.NoCompression()))
	}
	return opts
}

// send produces to the partitions in turn until a bound is reached or the
// context ends. The client's buffer slows it to what is acknowledged.
func (w *writing) send(ctx context.Context) {
	var paceTick <-chan time.Time
	if w.v.Rate > 0 {
		t := time.NewTicker(verifyPace)
		defer t.Stop()
		paceTick = t.C
	}
	partitions := len(w.v.state.Start)
	for n := int64(0); (w.v.Records == 0 || n < w.v.Records) && ctx.Err() == nil; n++ {
		if w.v.Duration > 0 && time.Since(w.begun) >= w.v.Duration {
			return
		}
		for w.v.Rate > 0 && float64(n) > w.v.Rate*time.Since(w.begun).Seconds() {
			select {
			case <-paceTick:
			case <-ctx.Done():
				return
			}
		}
		w.sendOne(ctx, int32(n%int64(partitions)))
	}
}

func (w *writing) sendOne(ctx context.Context, partition int32) {
	var value []byte
	select {
	case value = <-w.free:
	default:
		value = make([]byte, w.v.ValueBytes)
	}
	stream := w.v.book.Stream(w.producer, partition)
	sequence := stream.Next(1)
	w.filler.Put(audit.Stamp{
		Run: w.v.state.Run, Producer: w.producer, Partition: partition, Sequence: sequence, Sent: time.Since(w.begun),
	}, value)
	w.sent.Add(1)
	// Only waiting for room ends with ctx: what is on its way when it ends still
	// gets an answer that is worth knowing.
	r := &kgo.Record{Topic: w.v.state.Topic, Partition: partition, Value: value, Context: context.Background()}
	w.client.Produce(ctx, r, func(r *kgo.Record, err error) {
		if err != nil {
			if ctx.Err() == nil {
				w.fail(fmt.Errorf("partition %d, record %d was not acknowledged: %w", partition, sequence, err))
			}
			return
		}
		stream.Acked(sequence, 1, r.Offset)
		select {
		case w.free <- value:
		default:
		}
		w.acked.Add(1)
		now := time.Since(w.begun)
		if gap := int64(now) - w.lastAck.Swap(int64(now)); gap > w.longestGap.Load() {
			w.longestGap.Store(gap) // promises are called one at a time
		}
	})
}

// drain waits for the answers to all that was sent: for as long as patience
// allows (watch ends working then), and after an interrupt for a moment only.
func (w *writing) drain(ctx, working context.Context) {
	waiting, done := context.WithCancel(working)
	defer done()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(verifyCleanUpWithin, done) })()
	_ = w.client.Flush(waiting) // what it leaves behind is unacknowledged, and the account knows
}

// watch keeps the state file young, shows progress, and ends the session when
// no answer comes for longer than patience allows.
func (w *writing) watch(ctx context.Context) {
	v := w.v
	tick := time.NewTicker(askAgain)
	defer tick.Stop()
	noted := time.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		sent, acked := w.sent.Load(), w.acked.Load()
		elapsed := time.Since(w.begun)
		if v.Progress != nil {
			v.Progress(VerifyProgress{Phase: "write", Sent: sent, Acked: acked, Elapsed: elapsed})
		}
		if quiet := elapsed - time.Duration(w.lastAck.Load()); sent > acked && quiet > v.Patience {
			w.fail(fmt.Errorf("no record was acknowledged for %v", quiet.Round(time.Second)))
			return
		}
		if time.Since(noted) < verifyNoteEvery || v.StatePath == "" {
			continue
		}
		noted = time.Now()
		v.state.Note(v.book, w.producer, false)
		if err := v.save(); err != nil {
			w.fail(err)
			return
		}
	}
}
