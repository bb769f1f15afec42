package partition

import (
	"errors"
	"sync"
	"time"

	"ringmain/segment"
)

// syncJob is one log to be made durable up to an offset.
type syncJob struct {
	replica   *Replica
	files     []segment.Dirty
	upTo      int64
	waiting   bool // appends wait for it: it is to be quick, not only done
	journaled bool
	err       error
}

// end reports the result to the log, a deleted one too, whose files are held
// open until then. That the sync of what was removed meanwhile has failed is no
// news.
func (j *syncJob) end() {
	if errors.Is(j.replica.log.Err(), segment.ErrClosed) {
		j.err = nil
	}
	j.replica.log.EndSync(j.upTo, j.journaled, j.err)
}

// syncer makes logs durable for one shard. It is a goroutine of its own, so
// that an append never waits behind an fdatasync. It takes every job that is
// waiting (the group), syncs each dirty file once or commits its bytes to the
// journal, and posts one command with the results. Owner of its LogIO (the sync
// ring) and of the journals.
type syncer struct {
	shard    *Shard
	io       segment.LogIO
	journals *segment.Journals

	mu      sync.Mutex
	waiting []syncJob
	spare   []syncJob       // a finished slice, to be filled again
	lost    []syncJob       // results that the shard no longer took; see stop
	late    []*behindFailed // the same, of syncs behind the journal
	closed  bool
	wake    chan struct{} // capacity 1
	done    chan struct{}
}

func newSyncer(s *Shard, io segment.LogIO) *syncer {
	y := &syncer{shard: s, io: io, wake: make(chan struct{}, 1), done: make(chan struct{})}
	y.journals = segment.NewJournals(segment.JournalConfig{
		Bytes: s.cfg.JournalBytes, Shard: s.cfg.Number,
		Failed: func(l *segment.Log, err error) {
			c := &behindFailed{l, err}
			if s.Post(c) != nil {
				y.mu.Lock()
				y.late = append(y.late, c)
				y.mu.Unlock()
			}
		},
	}, s.log)
	go y.loop()
	return y
}

func (y *syncer) submit(jobs []syncJob) {
	y.mu.Lock()
	y.waiting = append(y.waiting, jobs...)
	y.mu.Unlock()
	select {
	case y.wake <- struct{}{}:
	default:
	}
}

// stop ends the goroutine after everything submitted was synced and gives the
// results that the shard did not take. They matter to the closing of a log: a
// failed sync must not be repeated, and bytes handed out for a sync (BeginSync)
// are not synced a second time.
func (y *syncer) stop() []syncJob {
	y.mu.Lock()
	y.closed = true
	y.mu.Unlock()
	select {
	case y.wake <- struct{}{}:
	default:
	}
	<-y.done
	return y.lost
}

// recycle takes back the slice of a finished group.
func (y *syncer) recycle(jobs []syncJob) {
	clear(jobs)
	y.mu.Lock()
	y.spare = jobs[:0]
	y.mu.Unlock()
}

func (y *syncer) loop() {
	defer close(y.done)
	defer y.io.Close()
	defer y.journals.Close()
	var g group
	for range y.wake {
		for {
			y.mu.Lock()
			jobs := y.waiting
			closed := y.closed
			y.waiting, y.spare = y.spare, nil
			y.mu.Unlock()
			if len(jobs) == 0 {
				if closed {
					return
				}
				break
			}
			start := time.Now()
			n := g.sync(y, jobs)
			y.shard.cfg.Observe.Synced(n, time.Since(start))
			if y.shard.Post(&synced{jobs}) != nil {
				y.lost = append(y.lost, jobs...)
			}
		}
	}
}

// group is the syncer's room for the jobs that it does at once.
type group struct {
	urgent []segment.Dirty // of jobs that somebody waits for
	owners []int           // their jobs
	files  []*segment.File // to be synced themselves
	of     []int           // their jobs
}

// sync makes the files of jobs durable and sets the jobs' results; the number of
// files.
func (g *group) sync(y *syncer, jobs []syncJob) (n int) {
	g.urgent, g.owners, g.files, g.of = g.urgent[:0], g.owners[:0], g.files[:0], g.of[:0]
	for i := range jobs {
		n += len(jobs[i].files)
		for _, d := range jobs[i].files {
			if jobs[i].waiting {
				g.urgent, g.owners = append(g.urgent, d), append(g.owners, i)
			} else {
				g.files, g.of = append(g.files, d.File), append(g.of, i)
			}
		}
	}
	done := y.journals.Commit(g.urgent)
	for k := range g.urgent {
		if done != nil && done[k] {
			jobs[g.owners[k]].journaled = true
			continue
		}
		g.files, g.of = append(g.files, g.urgent[k].File), append(g.of, g.owners[k])
	}
	if len(g.files) > 0 {
		for k, err := range y.io.Sync(g.files) {
			if j := &jobs[g.of[k]]; err != nil && j.err == nil {
				j.err = err
			}
		}
	}
	clear(g.urgent)
	clear(g.files)
	return n
}

// behindFailed is a file whose bytes are in the journal and that could not be synced
// later.
type behindFailed struct {
	log *segment.Log
	err error
}

func (c *behindFailed) run(s *Shard) {
	for r := range s.replicas {
		if r.log != c.log || r.deleted.Load() {
			continue
		}
		s.cfg.Observe.SyncFailed()
		s.log.Error("sync behind the journal failed; the log is offline", "partition", r.TP.String(), "error", c.err)
		r.log.Fail(c.err)
		r.failed(s, segment.ErrStorage)
	}
}

// synced carries the results of one group commit to the shard.
type synced struct{ jobs []syncJob }

func (c *synced) run(s *Shard) {
	for i := range c.jobs {
		j := &c.jobs[i]
		r := j.replica
		r.syncing = false
		j.end()
		r.noteUnsynced()
		if r.deleted.Load() {
			continue
		}
		if j.err != nil {
			s.cfg.Observe.SyncFailed()
			s.log.Error("sync failed; the log is offline", "partition", r.TP.String(), "error", j.err)
			r.failed(s, segment.ErrStorage)
			continue
		}
		r.answerDurable(s, r.log.SyncedOffset(), nil)
		s.wantSync(r)
	}
	s.syncer.recycle(c.jobs)
	s.startSyncs()
}

// answerDurable answers the appends that end at or below upTo; the others too
// if err is given.
func (r *Replica) answerDurable(s *Shard, upTo int64, err error) {
	n := 0
	for _, a := range r.durable {
		switch {
		case a.end <= upTo:
		case err != nil:
			a.Err = err
		default:
			r.durable[n] = a
			n++
			continue
		}
		s.finished = append(s.finished, a)
	}
	clear(r.durable[n:])
	r.durable = r.durable[:n]
}

// wantSync queues a sync of r's log if one is due and none is under way: for
// appends that wait for it, for flush.messages, or because enough is unsynced.
// What is not due yet is looked at again by the tick.
func (s *Shard) wantSync(r *Replica) {
	if r.syncing || r.log.SyncedOffset() >= r.log.EndOffset() {
		return
	}
	set := r.settings.Load()
	if len(r.durable) == 0 && r.unflushed < set.FlushMessages && r.log.UnsyncedBytes() < s.cfg.SyncBytes {
		s.watch(r)
		return
	}
	s.beginSync(r)
}

// watch has the tick look at r.
func (s *Shard) watch(r *Replica) {
	if !r.watched {
		r.watched = true
		s.unsynced = append(s.unsynced, r)
		s.tickLater()
	}
}

// beginSync hands r's dirty files to the syncer. If there are none although
// bytes are unsynced, the log is offline, or one of its files cannot be opened
// now: then nothing may be reported as synced (EndSync), and the tick tries
// again.
func (s *Shard) beginSync(r *Replica) {
	var upTo int64
	r.files, upTo = r.log.BeginSync(r.files[:0])
	if len(r.files) == 0 {
		s.watch(r)
		return
	}
	r.noteUnsynced()
	r.unflushed = 0
	r.syncing = true
	s.syncs = append(s.syncs, syncJob{replica: r, files: r.files, upTo: upTo, waiting: len(r.durable) > 0})
}

// relieve syncs everything when the process has too many files open: a file with
// unsynced bytes cannot be closed, and a burst of writes to thousands of partitions
// would otherwise use up the descriptors before the oldest byte is due.
func (s *Shard) relieve() {
	if len(s.unsynced) == 0 || s.cfg.Pressed == nil || !s.cfg.Pressed() {
		return
	}
	for _, r := range s.unsynced {
		if !r.syncing && !r.deleted.Load() && r.log.SyncedOffset() < r.log.EndOffset() {
			s.beginSync(r)
		}
	}
}

func (s *Shard) startSyncs() {
	if len(s.syncs) == 0 {
		return
	}
	s.syncer.submit(s.syncs)
	clear(s.syncs)
	s.syncs = s.syncs[:0]
}

// tickEvery is how often logs with unsynced bytes are looked at. Nothing ticks
// while everything is synced.
const tickEvery = 500 * time.Millisecond

type tick struct{}

func (s *Shard) tickLater() {
	if s.ticking {
		return
	}
	s.ticking = true
	time.AfterFunc(tickEvery, func() { s.Post(tick{}) })
}

// run starts the syncs of logs whose unsynced bytes have grown too old.
func (tick) run(s *Shard) {
	s.ticking = false
	left := s.unsynced[:0]
	for _, r := range s.unsynced {
		if r.log.Err() != nil || r.log.SyncedOffset() >= r.log.EndOffset() {
			r.watched = false
			continue
		}
		age := s.cfg.SyncAge.Milliseconds()
		if f := r.settings.Load().FlushMs; f < age {
			age = f
		}
		if !r.syncing && (len(r.durable) > 0 || s.nowMs-r.log.UnsyncedSinceMs() >= age) {
			s.beginSync(r)
		}
		left = append(left, r)
	}
	clear(s.unsynced[len(left):])
	s.unsynced = left
	if len(left) > 0 {
		s.tickLater()
	}
	s.startSyncs()
}
