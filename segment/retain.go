package segment

import (
	"fmt"
	"slices"
	"time"
)

// AdvanceStart raises the log start (DeleteRecords). Durable when it returns,
// over SIGKILL and power cuts. Lower than the start is no error; above the log
// end is ErrOffsetOutOfRange. Segments below go with the next Retain. Owner;
// waits for one sync of a small file.
func (l *Log) AdvanceStart(offset int64) error {
	if err := l.Err(); err != nil {
		return err
	}
	if offset > l.end.Load() {
		return fmt.Errorf("%w: log start %d above the log end %d", ErrOffsetOutOfRange, offset, l.end.Load())
	}
	if offset <= l.start.Load() { // perhaps raised by Retain, which does not wait
		return l.dir.starts.sync()
	}
	if err := l.saveStart(offset); err != nil {
		return err
	}
	if err := l.dir.starts.sync(); err != nil {
		return l.fail(err)
	}
	l.raiseStart(offset)
	return nil
}

func (l *Log) saveStart(offset int64) error {
	err := l.dir.starts.put([]pointKey{l.key()}, []point{{offset: offset, epoch: -1}})
	if transient(err) {
		return fmt.Errorf("%w: %s: %w", ErrNoSpace, l.tp, err)
	}
	return err
}

// raiseStart publishes a new log start.
func (l *Log) raiseStart(offset int64) {
	l.mu.Lock()
	before := len(l.epochs)
	l.start.Store(max(l.start.Load(), offset))
	l.epochs = l.epochs.trimmed(l.start.Load())
	changed := len(l.epochs) != before
	l.mu.Unlock()
	if changed {
		l.writeEpochs(false)
	}
}

// Retain removes whole segments that the configuration lets go: below the log
// start always; by age of their newest record and by size if cleanup.policy
// has "delete". The active segment is rolled first when its turn comes: by size
// only where nothing may stay (retention.bytes=0). The
// files go in the background after file.delete.delay.ms; readers that hold
// ranges keep them. Returns how many segments went. Owner.
func (l *Log) Retain(nowMs int64) (deleted int, err error) {
	if err := l.Err(); err != nil {
		return 0, err
	}
	if len(l.staged) > 0 {
		return 0, nil
	}
	n, err := l.expired(nowMs)
	if n == 0 || err != nil {
		return 0, err
	}
	if n == len(l.segs) {
		l.roll()
	}
	if start := l.segs[n].base; start > l.start.Load() {
		if err := l.saveStart(start); err != nil {
			return 0, err // nothing is removed that a restart would bring back
		}
		l.raiseStart(start)
	}
	l.dropFront(n, time.Duration(l.cfg.DeleteDelayMs)*time.Millisecond)
	return n, nil
}

// dropFront takes the first n segments, which lie below the log start, out of
// the log and has their files removed.
func (l *Log) dropFront(n int, delay time.Duration) {
	if n == 0 {
		l.dropSnapshotsBelow(l.segs[0].base)
		return
	}
	gone := l.segs[:n]
	if err := l.settleNewest(l.segs[n:]); err != nil {
		l.log.Warn("cannot note the newest segment; after a kill those that are removed now may be taken for lost", "directory", l.home.path, "error", err)
	}
	l.mu.Lock()
	l.segs = slices.Clone(l.segs[n:])
	l.mu.Unlock()
	// The producers' older batches go with the segments: from now on only a
	// snapshot knows them.
	if first := l.segs[0].base; len(l.producers.byID) > 0 && (len(l.snapshots) == 0 || l.snapshots[len(l.snapshots)-1] < first) {
		l.storeSnapshot(l.end.Load(), l.takeSnapshot(l.end.Load(), l.active().base, l.active().size))
	}
	for _, s := range gone {
		l.bytes.Add(-s.size)
		l.dir.reaper.removeSegment(s, delay)
	}
	l.dropSnapshotsBelow(l.segs[0].base)
}

// expired counts the segments at the front that may go.
func (l *Log) expired(nowMs int64) (int, error) {
	start, total := l.start.Load(), l.bytes.Load()
	for n, s := range l.segs {
		last := n == len(l.segs)-1
		// Unsynced bytes wait for their sync: what was acknowledged by it must
		// not turn into offsets that a power cut gives back.
		if last && s.size == 0 || slices.Contains(l.dirty, s) || slices.Contains(l.inflight, s) {
			return n, nil
		}
		if s.next <= start {
			total -= s.size
			continue
		}
		if !l.cfg.DeletePolicy {
			return n, nil
		}
		if l.cfg.RetentionBytes >= 0 && total-s.size >= l.cfg.RetentionBytes {
			total -= s.size
			continue
		}
		if l.cfg.RetentionMs < 0 {
			return n, nil
		}
		newest, err := l.newestRecordMs(s)
		if err != nil {
			return n, err
		}
		if nowMs-newest <= l.cfg.RetentionMs {
			return n, nil
		}
		total -= s.size
	}
	return len(l.segs), nil
}

// newestRecordMs is the largest timestamp of a segment; of one whose records
// have none, when its file was last written.
func (l *Log) newestRecordMs(s *segment) (int64, error) {
	newest, err := l.newest(s)
	if err != nil || newest >= 0 {
		return newest, err
	}
	st, err := l.home.fs.Stat(s.file.Path())
	if err != nil {
		return 0, err
	}
	return st.ModTime.UnixMilli(), nil
}

// roll closes the active segment without a batch for the next one, whose file
// is made when that comes.
func (l *Log) roll() {
	end := l.end.Load()
	old := l.active()
	s := newSegment(l.home, end)
	s.jitterMs = l.jitter()
	s.known.Store(true)
	l.mu.Lock()
	l.publishNext(s)
	l.mu.Unlock()
	l.w, l.wPos = s, 0
	l.seal(old)
	l.storeSnapshot(end, l.takeSnapshot(end, end, 0))
	if len(l.dirty) == 0 && len(l.inflight) == 0 && l.behind == nil {
		l.raisePoint(l.pointNow())
	}
}

// doomIndex says that the index file goes or is replaced.
func (s *segment) doomIndex() {
	s.loadMu.Lock()
	defer s.loadMu.Unlock()
	if s.idx != nil {
		s.idx.file.doom()
	}
}
