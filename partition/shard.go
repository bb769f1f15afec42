package partition

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"ringmain/segment"
)

// Config of a shard.
type Config struct {
	Number int // of the shard, from 0: part of its journals' names
	// JournalBytes is how large a journal is that makes many logs durable at once; 0:
	// there is none.
	JournalBytes int64
	// SyncBytes: a log with that many unsynced bytes is synced in the background.
	SyncBytes int64
	// SyncAge: so is one whose oldest unsynced byte is that old.
	SyncAge time.Duration
	// Pressed reports that too many files are open because their bytes are not
	// synced: everything unsynced is then synced at once, whatever its age. Nil:
	// never.
	Pressed func() bool
	// Observe is told of every round and sync, for metrics.
	Observe Observer

	clock *clock // of tests; nil: the system's
}

// Observer is told what a shard did. Its methods run on the shard's and the
// syncer's goroutines, several at once, and must not block.
type Observer interface {
	// Appended: one round wrote batches and bytes.
	Appended(batches int, bytes int64, took time.Duration)
	// AppendFailed: the write of one log failed.
	AppendFailed()
	// Synced: so many files were synced, or committed to a journal, together.
	Synced(files int, took time.Duration)
	// SyncFailed: the sync of one log failed.
	SyncFailed()
}

// Shard is one loop and the replicas it owns.
type Shard struct {
	cfg    Config
	box    mailbox
	io     segment.LogIO
	syncer *syncer
	log    *slog.Logger
	done   chan struct{}

	closing error // set before done is closed

	// Owned by the loop; never touched elsewhere.
	clock    clock
	nowMs    int64 // clock.ms at the beginning of the round
	forgotMs int64 // when the journals were last asked to let go of removed files
	replicas map[*Replica]struct{}
	touched  []*Replica
	logs     []*segment.Log
	appends  []*Append  // staged in this round
	finished []*Append  // to be answered at the end of this round
	unsynced []*Replica // have bytes that no sync covers yet
	syncs    []syncJob
	ticking  bool
}

// NewShard starts a shard's loop and its syncer. write is the loop's own
// backend, syncs are those of the syncer's lanes; the shard closes them.
func NewShard(cfg Config, write segment.LogIO, syncs []segment.LogIO, log *slog.Logger) *Shard {
	s := &Shard{cfg: cfg, io: write, log: log, done: make(chan struct{}), replicas: map[*Replica]struct{}{}, clock: newClock()}
	if cfg.clock != nil {
		s.clock = *cfg.clock
	}
	s.box.wake = make(chan struct{}, 1)
	s.syncer = newSyncer(s, syncs)
	go s.loop()
	return s
}

// Post hands c to the loop. ErrClosed once the shard is stopping.
func (s *Shard) Post(c Command) error { return s.box.post(c) }

// PostAppends hands over several appends of one request under one lock, in order.
func (s *Shard) PostAppends(as []*Append) error { return postAll(&s.box, as) }

// Stop finishes what was posted, syncs and closes every log, and ends the
// loop. It gives the errors of logs that could not be closed cleanly.
func (s *Shard) Stop() error {
	s.box.close()
	<-s.done
	return s.closing
}

func (s *Shard) loop() {
	defer close(s.done)
	var queue []Command
	for {
		var ok bool
		queue, ok = s.box.take(queue)
		if !ok {
			break
		}
		s.round(queue)
		clear(queue)
	}
	// All together first: closing thousands of logs would sync one after the other.
	for r := range s.replicas {
		if !r.syncing && r.log.SyncedOffset() < r.log.EndOffset() {
			s.beginSync(r)
		}
	}
	s.startSyncs()
	for _, j := range s.syncer.stop() {
		j.end()
	}
	for _, c := range s.syncer.late { // a stop is not clean then, and the journal is kept for the next start
		c.run(s)
	}
	for r := range s.replicas {
		r.fireAll()
		durable := r.log.EndOffset() // closing a log syncs it
		if err := r.log.Close(); err != nil {
			s.closing = errors.Join(s.closing, fmt.Errorf("%s: %w", r.TP, err))
			durable = r.log.SyncedOffset()
		}
		r.answerDurable(s, durable, ErrClosed)
	}
	s.answer()
	s.io.Close()
}

// round runs every command that was waiting, then writes what they staged.
func (s *Shard) round(queue []Command) {
	s.nowMs = s.clock.ms()
	for _, c := range queue {
		c.run(s)
	}
	s.flush()
	s.answer()
}

// flush writes the staged batches, one write per log, publishes the new ends
// and starts the syncs that are due. Commands that need everything written
// before they act call it too.
func (s *Shard) flush() {
	if len(s.touched) == 0 {
		return
	}
	s.logs = s.logs[:0]
	bytes, batches := int64(0), len(s.appends)
	for _, r := range s.touched {
		s.logs = append(s.logs, r.log)
		bytes += r.stagedBytes
	}
	start := time.Now()
	errs := segment.Flush(s.io, s.logs)
	for i, r := range s.touched {
		r.staged = false
		n := r.stagedBytes
		r.stagedBytes = 0
		if errs != nil && errs[i] != nil {
			s.cfg.Observe.AppendFailed()
			s.writeFailed(r, errs[i])
			continue
		}
		r.full = false
		if n > 0 {
			// The in-sync set is this replica alone: written here is written everywhere.
			r.hw.Store(r.log.EndOffset())
			r.noteUnsynced()
			r.appended(n)
		}
	}
	s.cfg.Observe.Appended(batches, bytes, time.Since(start))
	for _, a := range s.appends {
		r := a.Replica
		var err error
		if errs != nil {
			err = r.logError(errs, s.touched)
		}
		a.LogStart = r.log.StartOffset()
		switch {
		case err != nil:
			a.fail(s, err)
		case !a.AcksAll || r.settings.Load().PageCache || r.log.SyncedOffset() >= a.end:
			s.finished = append(s.finished, a)
		default:
			r.durable = append(r.durable, a)
		}
	}
	clear(s.appends)
	s.appends = s.appends[:0]
	for _, r := range s.touched {
		s.wantSync(r)
	}
	s.relieve()
	clear(s.touched)
	s.touched = s.touched[:0]
	s.startSyncs()
}

// writeFailed deals with a log whose write failed: for good, or because there
// was no room, in which case nothing of the round remains in the log and the
// next round may succeed. That is said once, not for every append.
func (s *Shard) writeFailed(r *Replica, err error) {
	switch {
	case r.log.Err() != nil:
		s.log.Error("append failed; the log is offline", "partition", r.TP.String(), "error", err)
		r.failed(s, err)
	case !r.full:
		r.full = true
		s.log.Error("append failed; it is tried again with the next one", "partition", r.TP.String(), "error", err)
	}
}

// logError finds the write error of r in the round just flushed.
func (r *Replica) logError(errs []error, touched []*Replica) error {
	for i, t := range touched {
		if t == r {
			return errs[i]
		}
	}
	return nil
}

// touch lists r for this round's flush.
func (s *Shard) touch(r *Replica) {
	if !r.staged {
		r.staged = true
		s.touched = append(s.touched, r)
	}
}

// answer tells the callers of all appends that are finished.
func (s *Shard) answer() {
	for i, a := range s.finished {
		s.finished[i] = nil
		a.Done.Appended(a)
	}
	s.finished = s.finished[:0]
}

// failed answers everybody who waits for r's log with err.
func (r *Replica) failed(s *Shard, err error) {
	for i, a := range r.durable {
		r.durable[i] = nil
		a.Err = err
		s.finished = append(s.finished, a)
	}
	r.durable = r.durable[:0]
	r.fireAll()
}
