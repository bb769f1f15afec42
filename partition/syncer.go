package partition

import (
	"errors"
	"runtime"
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
	refused   bool // the journal could have taken it and did not
	journaled bool
	err       error
}

// small reports whether the journal may be the way for it.
func (j *syncJob) small() bool {
	return j.waiting && len(j.files) == 1 && j.files[0].Small()
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

// syncer makes logs durable for one shard, beside it, so that an append never
// waits for an fdatasync. A log has one job at most. Jobs are done in lanes, each log for
// itself: it is answered, and may begin anew, as soon as its own file is synced, whatever the
// others still take. Only small appends to several logs go together, through the journal
// (docs/decisions/0017-each-log-is-synced-for-itself.md). Both work only while there is something
// to do.
type syncer struct {
	shard *Shard
	work  sync.WaitGroup // lanes and the commit that are running

	// Of the commit that is running.
	journals *segment.Journals
	group    []syncJob
	dirty    []segment.Dirty // their files

	// startCommit is commit, made once: a start allocates nothing.
	startCommit func()

	mu         sync.Mutex
	small      []syncJob // for the journal to take or to refuse
	urgent     []syncJob // for the lanes, somebody waits
	background []syncJob // for the lanes, nobody waits
	committing bool
	removed    bool    // files may have been that the journals have open
	refused    int     // small jobs in urgent and in lanes
	free       []*lane // idle
	lanes      []*lane
	slow       int             // lanes that do what nobody waits for
	spare      []*synced       // taken by the shard, to be filled again
	lost       []syncJob       // results that the shard no longer took; see stop
	late       []*behindFailed // the same, of syncs behind the journal
}

func newSyncer(s *Shard, ios []segment.LogIO) *syncer {
	y := &syncer{shard: s}
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
	for _, io := range ios {
		l := &lane{io: io}
		l.start = func() { l.run(y) }
		y.lanes = append(y.lanes, l)
	}
	y.startCommit = y.commit
	y.free = append(y.free, y.lanes...)
	return y
}

func (y *syncer) submit(jobs []syncJob) {
	y.mu.Lock()
	for i := range jobs {
		switch j := &jobs[i]; {
		case y.shard.cfg.JournalBytes > 0 && j.small():
			y.small = append(y.small, *j)
		case j.waiting:
			y.urgent = append(y.urgent, *j)
		default:
			y.background = append(y.background, *j)
		}
	}
	y.start()
	y.mu.Unlock()
}

// forget has the journals let go of files that were removed.
func (y *syncer) forget() {
	y.mu.Lock()
	y.removed = true
	y.start()
	y.mu.Unlock()
}

// start sets to work what has work. mu is held.
func (y *syncer) start() {
	if (len(y.small) > 0 || y.removed) && !y.committing {
		y.committing = true
		y.work.Add(1)
		go y.startCommit()
	}
	for len(y.free) > 0 {
		l := y.free[len(y.free)-1]
		if !y.take(l) {
			return
		}
		y.free = y.free[:len(y.free)-1]
		y.work.Add(1)
		go l.start()
	}
}

// take gives l its share of what waits; false if there is nothing for it. Somebody's jobs
// come first. What nobody waits for never has more than half of the lanes, for it may take
// a second for a file, but while it waits it has one, again and again: otherwise
// its unsynced bytes and open files would grow as long as somebody's jobs fill the lanes, and
// an append to its log could wait for ever. mu is held.
func (y *syncer) take(l *lane) bool {
	may := y.slow < max(1, len(y.lanes)/2)
	if len(y.urgent) > 0 {
		may = y.slow == 0 && !l.slow // not twice in a row: it may be the only lane
	}
	l.slow = may && len(y.background) > 0
	queue := &y.urgent
	if l.slow {
		queue = &y.background
	}
	if len(*queue) == 0 {
		return false
	}
	if l.slow {
		y.slow++
	}
	n := (len(*queue) + len(y.lanes) - 1) / len(y.lanes)
	l.jobs = append(l.jobs[:0], (*queue)[:n]...)
	left := copy(*queue, (*queue)[n:])
	clear((*queue)[left:])
	*queue = (*queue)[:left]
	return true
}

// post tells the shard of finished jobs.
func (y *syncer) post(jobs []syncJob) {
	y.mu.Lock()
	var c *synced
	if n := len(y.spare); n > 0 {
		c, y.spare = y.spare[n-1], y.spare[:n-1]
	} else {
		c = &synced{}
	}
	y.mu.Unlock()
	c.jobs = append(c.jobs, jobs...)
	if y.shard.Post(c) != nil {
		y.mu.Lock()
		y.lost = append(y.lost, c.jobs...)
		y.mu.Unlock()
	}
}

// recycle takes back what the shard has done with.
func (y *syncer) recycle(c *synced) {
	clear(c.jobs)
	c.jobs = c.jobs[:0]
	y.mu.Lock()
	y.spare = append(y.spare, c)
	y.mu.Unlock()
}

// stop ends after everything submitted was synced and gives the results that the shard
// did not take. They matter to the closing of a log: a failed sync must not be
// repeated, and bytes handed out for a sync (BeginSync) are not synced a second time.
func (y *syncer) stop() []syncJob {
	y.work.Wait()
	y.journals.Close()
	for _, l := range y.lanes {
		l.io.Close()
	}
	return y.lost
}

// commit has the journal take what is small, as long as there is any: what comes while
// it is at work is its next group. What it does not take goes to the lanes.
func (y *syncer) commit() {
	defer y.work.Done()
	for {
		y.mu.Lock()
		y.gather()
		clear(y.group)
		y.group, y.small = y.small, y.group[:0]
		jobs, beside, removed := y.group, y.refused, y.removed
		y.removed = false
		if len(jobs) == 0 && !removed {
			y.committing = false
			y.mu.Unlock()
			return
		}
		y.mu.Unlock()
		y.dirty = y.dirty[:0]
		for i := range jobs {
			y.dirty = append(y.dirty, jobs[i].files[0])
		}
		begun := time.Now()
		done := y.journals.Commit(y.dirty, beside)
		took := time.Since(begun)
		clear(y.dirty)
		n := 0
		y.mu.Lock()
		for i := range jobs {
			if done != nil && done[i] {
				jobs[i].journaled = true
				jobs[n], jobs[i] = jobs[i], jobs[n]
				n++
			} else {
				jobs[i].refused = true
				y.refused++
				y.urgent = append(y.urgent, jobs[i])
			}
		}
		y.start()
		y.mu.Unlock()
		if n > 0 {
			y.shard.cfg.Observe.Synced(n, took)
			y.post(jobs[:n])
		}
		if removed { // behind the commit, which may have taken some of them
			y.journals.Forget()
		}
	}
}

// gatherFor is how long a commit waits for more at most: about what its sync takes. Where every
// processor is busy more comes for as long as there is a log without a job.
const gatherFor = time.Millisecond

// gather lets those run first that are about to bring something small, while more comes. mu is
// held, and given up meanwhile.
func (y *syncer) gather() {
	begun := time.Now()
	for n := 0; len(y.small) > n && time.Since(begun) < gatherFor; y.mu.Lock() {
		n = len(y.small)
		y.mu.Unlock()
		runtime.Gosched()
	}
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

// synced carries the results of some jobs to the shard.
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
	s.syncer.recycle(c)
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
