package segment

import (
	"errors"
	"fmt"
	"os"
	"slices"
)

// Close makes everything durable that is not, writes what a restart would
// otherwise have to read from the log, and gives the descriptors back. Ranges
// that are held stay valid. No sync may be in flight. Owner.
func (l *Log) Close() error {
	if l.closed.Load() {
		return nil
	}
	err := l.Err()
	if err == nil && len(l.staged) > 0 {
		err = l.abandon(os.ErrClosed)
	}
	if err == nil {
		err = l.settleOnDisk()
	}
	l.detach()
	return err
}

func (l *Log) settleOnDisk() error {
	if len(l.inflight) > 0 {
		return fmt.Errorf("close %s: a sync is in flight, whose result nobody would hear", l.tp)
	}
	if dirty, upTo := l.BeginSync(nil); len(dirty) > 0 {
		errs := syncInTurn(filesOf(nil, dirty))
		l.EndSync(upTo, false, errors.Join(errs...))
	} else if len(l.dirty) > 0 {
		return fmt.Errorf("close %s: segments with unsynced bytes cannot be opened", l.tp)
	}
	if err := l.Err(); err != nil {
		return err
	}
	if l.lagging {
		l.writeEpochs(false)
	}
	w := l.active()
	if l.touched || w.size > 0 && w.idx == nil {
		if w.size > 0 {
			l.seal(w)
		}
		if end := l.end.Load(); len(l.producers.byID) > 0 && !slices.Contains(l.snapshots, end) {
			l.storeSnapshot(end, l.takeSnapshot(end, w.base, w.size))
		}
	}
	if p, ok := l.newPoint(); ok {
		if err := l.dir.points.put([]pointKey{l.key()}, []point{p}); err != nil {
			return err
		}
	}
	return nil
}

// detach gives up the files and the place in the directory.
func (l *Log) detach() {
	l.closed.Store(true)
	l.home.names.Lock()
	l.home.left = true
	l.home.names.Unlock()
	l.dir.mu.Lock()
	if l.dir.logs[l.tp] == l {
		delete(l.dir.logs, l.tp)
	}
	l.dir.mu.Unlock()
	for _, s := range l.dirty {
		if s.pinned {
			s.pinned = false
			s.file.Release()
		}
	}
	l.dirty = nil
	for _, s := range l.segmentList() {
		s.file.doom()
		s.doomIndex()
	}
}

// Delete removes the partition. SIGKILL-safe when it returns; after a power
// cut its directory may be back, under its topic id, for the metadata to
// notice (Dir.Partitions, Dir.Discard). The bytes go in the background; ranges
// that are held stay readable. A sync in flight is ended with EndSync as
// usual. Owner.
func (l *Log) Delete() error {
	l.home.names.Lock()
	l.closed.Store(true)
	clear(l.staged)
	l.staged = l.staged[:0]
	l.home.left = true
	err := l.dir.moveAside(l.tp)
	l.home.names.Unlock()
	if err != nil {
		l.detach() // out of service all the same; the next start finds the files
		return err
	}
	err = l.dir.forget(l.key())
	l.detach()
	return err
}

// TruncateTo removes all batches that reach offset or beyond (a follower that
// diverged from its leader); the log end is then at most offset. Ranges into
// what is removed become short. No sync or cleaning may be under way and nothing
// staged.
// Owner; waits for the disk.
func (l *Log) TruncateTo(offset int64) error {
	if err := l.Err(); err != nil {
		return err
	}
	if len(l.staged) > 0 || len(l.inflight) > 0 {
		return fmt.Errorf("truncate %s to %d: batches are staged or a sync is in flight", l.tp, offset)
	}
	if offset >= l.end.Load() {
		return nil
	}
	if err := l.dir.settled(); err != nil {
		return fmt.Errorf("truncate %s to %d: %w", l.tp, offset, err)
	}
	if l.cleaning.Load() {
		return fmt.Errorf("truncate %s to %d: it is being cleaned; end the cleaning first", l.tp, offset)
	}
	if err := l.settleReplacements(); err != nil {
		return err
	}
	if p, ok := l.dir.cleaned.get(l.key()); ok && p.offset > offset {
		if err := l.saveCleaned(offset); err != nil {
			return l.fail(err)
		}
	}
	start := l.start.Load()
	offset = max(offset, start)
	// What the cut falls into, before anything changes.
	i := max(segmentOf(l.segs, offset), 0)
	cut := l.segs[i]
	pos, found, err := l.locate(cut, cut.size, offset)
	if err != nil {
		return err
	}
	if !found {
		pos = cut.size
	}
	// First the recovery point: a kill in between must not find an end below
	// it, which would count as loss.
	l.mu.Lock()
	if l.point.offset > offset || l.point.segBase > cut.base || l.point.segBase == cut.base && l.point.pos > pos {
		l.point = point{offset: cut.base, segBase: cut.base, epoch: l.epochs.at(cut.base - 1)}
	}
	if pos == 0 && l.point.segBase == cut.base {
		l.point.first = 0 // another batch comes in its place
	}
	p := l.point
	l.mu.Unlock()
	if err := errors.Join(l.dir.points.put([]pointKey{l.key()}, []point{p}), l.dir.points.sync()); err != nil {
		return l.fail(err)
	}
	if err := l.settleNewest(l.segs[:i+1]); err != nil {
		return l.fail(err)
	}
	for k := len(l.segs) - 1; k > i; k-- {
		if err := l.removeNow(l.segs[k]); err != nil {
			return l.fail(err)
		}
	}
	if cut.onDisk {
		if err := l.shorten(cut, pos); err != nil {
			return l.fail(err)
		}
	}
	return l.reopen()
}

func (l *Log) removeNow(s *segment) error {
	s.file.doom()
	s.doomIndex()
	for _, suffix := range []string{snapshotSuffix, indexSuffix, logSuffix} { // an index alone tells of a lost segment
		if err := l.home.fs.Remove(offsetPath(l.home.path, s.base, suffix)); err != nil && !isNotExist(err) {
			return err
		}
	}
	return nil
}

// shorten cuts a segment's file. The index that covered more goes first: beside other batches
// it would speak against them.
func (l *Log) shorten(s *segment, pos int64) error {
	if err := s.file.acquire(); err != nil {
		return err
	}
	defer s.file.Release()
	s.doomIndex()
	if err := l.home.fs.Remove(offsetPath(l.home.path, s.base, indexSuffix)); err != nil && !isNotExist(err) {
		return err
	}
	if err := l.home.fs.SyncDir(l.home.path); err != nil {
		return err
	}
	if err := s.file.f.Truncate(pos); err != nil {
		return err
	}
	return s.file.syncData()
}

// reopen reads the log's state from disk again, after a truncation.
func (l *Log) reopen() error {
	for _, s := range l.dirty {
		if s.pinned {
			s.pinned = false
			s.file.Release()
		}
	}
	fresh := &Log{dir: l.dir, tp: l.tp, topic: l.topic, home: l.home, log: l.log, cfg: l.cfg, leader: -1}
	var rep RecoveryReport
	if err := fresh.readDisk(&rep); err != nil {
		return l.fail(err)
	}
	for _, s := range l.segs {
		s.file.doom()
		s.doomIndex()
	}
	l.dirty, l.unsynced, l.sinceSnap = fresh.dirty, fresh.unsynced, fresh.sinceSnap
	l.w, l.wPos, l.next = fresh.w, fresh.wPos, fresh.next
	l.snapshots, l.touched, l.noted = fresh.snapshots, true, fresh.noted
	l.producers.mu.Lock()
	l.producers.byID = fresh.producers.byID
	l.producers.mu.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.segs, l.epochs, l.point, l.savedPoint = fresh.segs, fresh.epochs, fresh.point, fresh.savedPoint
	l.lost = fresh.lost
	l.recent.reset()
	l.end.Store(fresh.end.Load())
	l.start.Store(fresh.start.Load())
	l.synced.Store(min(fresh.synced.Load(), fresh.end.Load()))
	l.bytes.Store(fresh.bytes.Load())
	return nil
}
