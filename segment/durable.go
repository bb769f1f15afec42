package segment

import "slices"

// BeginSync hands out the files that hold unsynced bytes, each with a
// reference, appended to dst; once they are synced everything below upTo is
// on disk. The caller syncs them (LogIO.Sync) or commits their bytes to a journal
// (Journals.Commit) and calls EndSync; until then a further BeginSync hands out
// nothing. With nothing to do dst comes back as it was, and EndSync must not be
// called. Owner.
func (l *Log) BeginSync(dst []Dirty) (files []Dirty, upTo int64) {
	if len(l.inflight) > 0 || len(l.dirty) == 0 || l.Err() != nil {
		return dst, l.synced.Load()
	}
	if s := l.behind; s != nil && s != l.active() {
		// It was rolled away from while its bytes were in a journal only. The recovery
		// point passes it now, so it is synced itself.
		if !s.file.gone.Load() && !slices.Contains(l.dirty, s) {
			l.dirty = append(l.dirty, s)
		}
		l.behind = nil
	}
	from := len(dst)
	for _, seg := range l.dirty {
		direct := seg != l.active()
		if !seg.pinned { // from before a restart
			direct = true
			if err := seg.file.acquire(); err != nil {
				l.log.Warn("cannot open a segment to sync it; it is tried again", "file", seg.file.Path(), "error", err)
				return dst[:from], l.synced.Load()
			}
			seg.pinned = true
		}
		dst = append(dst, Dirty{File: seg.file, From: seg.handedOut, To: seg.size, direct: direct, log: l})
	}
	for _, seg := range l.dirty { // a write from now on takes its own reference
		seg.pinned = false
		seg.handedOut = seg.size
	}
	l.inflight, l.dirty = l.dirty, l.inflight[:0]
	l.inflightBytes, l.unsynced = l.unsynced, 0
	l.inflightPoint, l.inflightActive = l.pointNow(), l.active()
	for i := from; i < len(dst); i++ {
		dst[i].point = l.inflightPoint
	}
	return dst, l.inflightPoint.offset
}

// EndSync takes the result for the files of the last BeginSync: with nil
// everything below upTo is durable, an error is final and takes the log
// offline. journaled: some of it is durable in a journal, whose owner raises the
// recovery point once the file is synced too. Owner.
func (l *Log) EndSync(upTo int64, journaled bool, err error) {
	if len(l.inflight) == 0 {
		return // nothing was handed out, so nothing has become durable
	}
	for _, seg := range l.inflight {
		seg.file.Release()
	}
	clear(l.inflight)
	l.inflight = l.inflight[:0]
	if err != nil {
		l.unsynced += l.inflightBytes
		l.fail(err)
		return
	}
	if journaled {
		l.behind = l.inflightActive
	} else {
		l.raisePoint(l.inflightPoint)
	}
	l.synced.Store(max(l.synced.Load(), upTo))
	l.savePassed()
}

// savePassed writes the recovery point when it has passed into another segment, so that
// a kill leaves the segments before it known to be whole: what is missing or wrong in them
// later is damage, not the end of the log. Once for each segment it notes the first batch. It waits for nothing: while the checkpoint is
// being written, the next sync or the next checkpoint does it. Owner.
func (l *Log) savePassed() {
	if l.closed.Load() { // it was deleted, and its point must not come back
		return
	}
	if _, passed := l.passedPoint(); !passed || !l.dir.saving.TryLock() {
		return
	}
	defer l.dir.saving.Unlock()
	p, passed := l.passedPoint() // again: the checkpoint that was being written may have saved a newer one
	if !passed {
		return
	}
	if l.dir.points.put([]pointKey{l.key()}, []point{p}) != nil {
		return // Checkpoint tries it again, and tells of it
	}
	l.mu.Lock()
	l.savedPoint = p
	l.mu.Unlock()
}

// passedPoint is the recovery point, and whether the saved one lies in another segment. If
// that lies at the beginning of this one and does not know the first batch, it is the saved
// point with the mark: all of the segment is checked after a kill, as before.
func (l *Log) passedPoint() (p point, passed bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	p, saved := l.point, l.savedPoint
	if p.segBase == saved.segBase && saved.offset == saved.segBase && saved.pos == 0 && saved.first == 0 && p.first != 0 {
		saved.first = p.first
		return saved, true
	}
	return p, p.segBase != saved.segBase
}

// pointNow is the recovery point if everything published were synced.
func (l *Log) pointNow() point {
	w := l.active()
	p := point{offset: l.end.Load(), segBase: w.base, pos: w.size, epoch: l.epochs.latest(), first: mark(w.sums.first)}
	if len(l.producers.byID) == 0 {
		p.flags = pointNoProducers
	}
	return p
}

// raisePoint says that everything below p is on disk in its own files. Any
// goroutine: what is behind a journal is synced beside the owner.
func (l *Log) raisePoint(p point) {
	l.mu.Lock()
	if p.offset >= l.point.offset {
		l.point = p
	}
	l.mu.Unlock()
}

// UnsyncedBytes is what a sync begun now would cover, in bytes. Owner.
func (l *Log) UnsyncedBytes() int64 { return l.unsynced }

// UnsyncedSinceMs is when the oldest of these bytes were appended (the nowMs
// of Stage), 0 if there are none. Owner.
func (l *Log) UnsyncedSinceMs() int64 {
	if l.unsynced == 0 {
		return 0
	}
	return l.unsyncedSince
}
