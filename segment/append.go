package segment

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"ringmain/internal/vfs"
	"ringmain/record"
)

// preallocateBytes is how far ahead of the end blocks are reserved.
const preallocateBytes = 16 << 20

// rolled is a segment that a staged roll closes, with the producer state at
// its end, taken before later batches change it.
type rolled struct {
	seg      *segment
	next     int64
	size     int64
	snapshot []byte
}

// Stage gives a batch its offsets and epoch, in place, and queues it for the
// next Flush; until that returned the bytes must stay untouched. maxTimestamp
// is the batch's largest (record.Result), nowMs the wall clock. Owner.
func (l *Log) Stage(b record.Batch, leaderEpoch int32, maxTimestamp, nowMs int64) (baseOffset int64, err error) {
	if err := l.Err(); err != nil {
		return -1, err
	}
	size := int64(len(b))
	if l.wPos > 0 && l.mustRoll(size, int64(b.LastOffsetDelta()), maxTimestamp, nowMs) {
		l.stageRoll()
	}
	if l.wPos == 0 {
		l.w.createdMs = nowMs
	}
	base := l.next
	b.Stamp(base, leaderEpoch)
	l.staged = append(l.staged, stagedBatch{seg: l.w, b: b, pos: l.wPos, maxTs: maxTimestamp})
	l.producers.add(b, nowMs, true)
	l.next = base + int64(b.LastOffsetDelta()) + 1
	l.wPos += size
	l.lastNowMs = nowMs
	return base, nil
}

// mustRoll decides as Kafka does: size, time between the first record and
// this one, index size, and the 31 bits of a relative offset.
func (l *Log) mustRoll(size, lastDelta, maxTimestamp, nowMs int64) bool {
	w := l.w
	if l.wPos+size > int64(l.cfg.SegmentBytes) || l.next+lastDelta-w.base > 1<<31-1 ||
		w.entries >= indexLimit(l.cfg.IndexMaxBytes) {
		return true
	}
	limit := l.cfg.SegmentMs
	if lag := l.cfg.MaxCompactionLagMs; l.cfg.CompactPolicy && lag > 0 && (limit <= 0 || lag < limit) {
		limit = lag // what is not closed cannot be compacted
	}
	if limit <= 0 {
		return false
	}
	first := w.firstTs
	if w.size == 0 { // its first batch is still staged
		for i := range l.staged {
			if l.staged[i].seg == w {
				first = l.staged[i].maxTs
				break
			}
		}
	}
	age := nowMs - w.createdMs
	if first >= 0 {
		age = maxTimestamp - first
	}
	return age > limit-min(w.jitterMs, limit)
}

// indexLimit is how many entries an index takes before its segment rolls: as
// many as Kafka's time index of maxBytes, whose entries have 12 bytes and which
// keeps room for one more when a segment is closed. So logs roll where Kafka's do, as long
// as timestamps rise: its time index takes no others.
func indexLimit(maxBytes int32) int64 { return int64(maxBytes)/12 - 1 }

// stageRoll closes the segment behind the batches staged so far. Nothing
// touches the disk before Flush.
func (l *Log) stageRoll() {
	l.closing = append(l.closing, rolled{seg: l.w, next: l.next, size: l.wPos, snapshot: l.takeSnapshot(l.next, l.next, 0)})
	s := newSegment(l.home, l.next)
	s.jitterMs = l.jitter()
	s.known.Store(true)
	l.created = append(l.created, s)
	l.w, l.wPos = s, 0
}

// round is the scratch of one Flush.
type round struct {
	writes []PartitionWrite
	owner  []int // index of the log of each write
}

var roundPool = sync.Pool{New: func() any { return new(round) }}

// Flush writes what the logs (each at most once) have staged: one write per
// log, more only where a log rolled. A log whose write failed is as it was
// before (ErrNoSpace) or offline (ErrStorage), and none of its staged batches
// is in it; the others are published. nil if all went well; otherwise an error
// per log. Owner of all the logs.
func Flush(io LogIO, logs []*Log) []error {
	r := roundPool.Get().(*round)
	var errs []error
	for i, l := range logs {
		if len(l.staged) == 0 {
			continue
		}
		from := len(r.writes)
		if err := l.prepare(r, i); err != nil {
			clear(r.writes[from:])
			r.writes, r.owner = r.writes[:from], r.owner[:from]
			errs = setErr(errs, len(logs), i, l.abandon(err))
		}
	}
	if len(r.writes) > 0 {
		for k, err := range io.Append(r.writes) {
			if err != nil {
				i := r.owner[k]
				if errs == nil || errs[i] == nil { // the first one takes everything back
					errs = setErr(errs, len(logs), i, logs[i].abandon(err))
				}
			}
		}
	}
	for i, l := range logs {
		if len(l.staged) == 0 || errs != nil && errs[i] != nil {
			continue
		}
		if err := l.noteNewest(); err != nil {
			errs = setErr(errs, len(logs), i, l.abandon(err))
			continue
		}
		l.commit()
	}
	clear(r.writes)
	r.writes, r.owner = r.writes[:0], r.owner[:0]
	roundPool.Put(r)
	return errs
}

// prepare adds this log's writes to the round, opening or creating files.
func (l *Log) prepare(r *round, index int) error {
	if err := l.Err(); err != nil {
		return err
	}
	l.bufs = l.bufs[:0]
	for i := 0; i < len(l.staged); {
		seg, from, pos := l.staged[i].seg, len(l.bufs), l.staged[i].pos
		end := pos
		for ; i < len(l.staged) && l.staged[i].seg == seg; i++ {
			l.bufs = append(l.bufs, l.staged[i].b)
			end += int64(len(l.staged[i].b))
		}
		if err := l.openForWrite(seg, end); err != nil {
			return err
		}
		r.writes = append(r.writes, PartitionWrite{File: seg.file, Off: pos, Bufs: l.bufs[from:len(l.bufs):len(l.bufs)]})
		r.owner = append(r.owner, index)
	}
	return nil
}

// openForWrite makes sure that the segment's file exists and stays open until
// it was synced.
func (l *Log) openForWrite(seg *segment, end int64) error {
	if err := l.prove(seg); err != nil { // nothing is put behind another partition's records
		return err
	}
	if !seg.pinned {
		if err := l.home.budget.roomToWrite(); err != nil {
			return err
		}
	}
	if !seg.onDisk {
		if err := l.createFile(seg); err != nil {
			return err
		}
	}
	if !seg.pinned {
		if err := seg.file.acquire(); err != nil {
			return err
		}
		seg.pinned = true
		l.markDirty(seg)
	}
	if l.cfg.Preallocate && end > seg.allocated {
		// Only blocks are reserved: a failure costs speed, not data.
		if seg.file.f.Allocate(seg.allocated, max(preallocateBytes, end-seg.allocated)) == nil {
			seg.allocated += max(preallocateBytes, end-seg.allocated)
		} else {
			seg.allocated = 1 << 62
		}
	}
	return nil
}

// markDirty notes a segment whose bytes no sync covers. A segment is in dirty
// at most once.
func (l *Log) markDirty(seg *segment) {
	if !slices.Contains(l.dirty, seg) {
		l.dirty = append(l.dirty, seg)
	}
}

// createFile makes the file, and the directory with it when the partition is
// written for the first time: a partition that was only created costs nothing
// on disk, the metadata log knows that it exists. Names become durable with
// the first sync (syncNames).
func (l *Log) createFile(seg *segment) error {
	h := l.home
	exists, err := vfs.Exists(h.fs, filepath.Join(h.path, metadataName))
	if err != nil {
		return fmt.Errorf("create partition directory: %w", err)
	}
	if !exists {
		if err := l.checkHome(); err != nil {
			return err
		}
		if err := h.fs.MkdirAll(h.path); err != nil {
			return fmt.Errorf("create partition directory: %w", err)
		}
		h.fresh.Store(true)
		// Before any .log file: a directory with records says whose they are.
		if err := vfs.WriteFile(h.fs, filepath.Join(h.path, metadataName), encodeMetadata(l.topic, l.tp.Partition), false); err != nil {
			return fmt.Errorf("create partition directory: %w", err)
		}
	}
	// An index of an earlier life of this name would be taken for ours, and be back after a
	// power cut.
	err = h.fs.Remove(offsetPath(h.path, seg.base, indexSuffix))
	if err == nil {
		err = h.fs.SyncDir(h.path)
	}
	if err != nil && !isNotExist(err) {
		return fmt.Errorf("remove old index: %w", err)
	}
	if err := seg.file.acquireFlag(os.O_RDWR | os.O_CREATE); err != nil {
		return err
	}
	seg.file.fresh.Store(true)
	seg.onDisk, seg.pinned = true, true // from now on abandon takes it back
	l.markDirty(seg)
	// Whatever was there is no part of the log.
	size, err := seg.file.f.Size()
	if err == nil && size > 0 {
		err = seg.file.f.Truncate(0)
	}
	return err
}

// checkHome says that the directory is gone which earlier segments are in: what is written
// into one made anew would be all that a restart finds.
func (l *Log) checkHome() error {
	if !slices.ContainsFunc(l.segs, func(s *segment) bool { return s.onDisk }) {
		return nil
	}
	exists, err := vfs.Exists(l.home.fs, l.home.path)
	if err == nil && !exists {
		err = fmt.Errorf("%s was removed or renamed while the partition was open; put it back and restart", l.home.path)
	}
	return err
}

// abandon takes the staged batches back after a failed write, or before it: a file that is
// not pinned was not written to. If that is possible the log goes on as before.
func (l *Log) abandon(cause error) error {
	again := transient(cause)
	for i := range l.staged {
		seg := l.staged[i].seg
		if again && seg.pinned && (i == 0 || l.staged[i-1].seg != seg) && !slices.Contains(l.created, seg) {
			if err := seg.file.f.Truncate(seg.size); err != nil {
				again, cause = false, errors.Join(cause, err)
			}
		}
	}
	for _, seg := range l.created {
		if err := l.dropCreated(seg); err != nil {
			again, cause = false, errors.Join(cause, err)
		}
	}
	clear(l.staged)
	l.staged, l.created, l.closing = l.staged[:0], nil, nil
	l.producers.rollBack()
	l.w = l.active()
	l.wPos, l.next = l.w.size, l.end.Load()
	if !again {
		return l.fail(cause)
	}
	return fmt.Errorf("%w: %s: %w", ErrNoSpace, l.tp, cause)
}

// dropCreated removes a segment that was never published. Where its file stays the log must
// not go on: what is appended to the one before would have offsets of the file's name.
func (l *Log) dropCreated(seg *segment) error {
	if !seg.onDisk {
		return nil
	}
	err := l.home.fs.Remove(seg.file.Path())
	if i := slices.Index(l.dirty, seg); i >= 0 {
		l.dirty = slices.Delete(l.dirty, i, i+1)
	}
	if seg.pinned {
		seg.pinned = false
		seg.file.Release()
	}
	seg.file.doom()
	if err != nil && !isNotExist(err) {
		return fmt.Errorf("remove a segment whose first write failed: %w", err)
	}
	return nil
}

// commit publishes what was written.
func (l *Log) commit() {
	l.touched = true
	l.dir.appends.Add(1)
	first := l.active()
	newEpoch, fell := false, false
	written := int64(0)
	l.mu.Lock()
	for i := range l.staged {
		st := &l.staged[i]
		seg := st.seg
		if seg != l.active() {
			l.publishNext(seg)
		}
		rel := uint32(st.b.BaseOffset() - seg.base)
		l.addToIndex(seg, rel, st.pos, st.maxTs, st.b.CRC())
		l.recent.add(rel, uint32(st.pos))
		seg.size = st.pos + int64(len(st.b))
		seg.next = st.b.LastOffset() + 1
		written += int64(len(st.b))
		if e := st.b.LeaderEpoch(); e >= 0 && e != l.epochs.latest() {
			var lower bool
			l.epochs, lower = l.epochs.led(e, st.b.BaseOffset())
			newEpoch, fell = true, fell || lower
		}
	}
	l.end.Store(l.next)
	l.bytes.Add(written)
	l.mu.Unlock()

	if l.unsynced == 0 {
		l.unsyncedSince = l.lastNowMs
	}
	l.unsynced += written
	l.sinceSnap += written
	l.producers.settle()
	clear(l.staged)
	l.staged = l.staged[:0]
	if fell {
		l.log.Warn("a batch has a lower leader epoch than one before it: the metadata is older than the log, or an epoch in the log is damaged",
			"directory", l.home.path, "epoch", l.epochs.latest(), "offset", l.epochs[len(l.epochs)-1].Start)
	}
	if newEpoch {
		l.writeEpochs(fell) // an old history would speak against the new batches
	}
	for _, c := range l.closing {
		l.seal(c.seg)
		l.storeSnapshot(c.next, c.snapshot)
	}
	l.closing, l.created = nil, nil
	if w := l.active(); w != first || len(w.tail) >= indexBlockMax {
		l.spillIndex(w)
	}
	if l.sinceSnap >= l.snapshotEvery() {
		l.storeSnapshot(l.end.Load(), l.takeSnapshot(l.end.Load(), l.active().base, l.active().size))
	}
}

// publishNext makes seg the active segment. mu is held.
func (l *Log) publishNext(seg *segment) {
	old := l.active()
	old.known.Store(true)
	l.segs = append(l.segs, seg)
	l.recent.reset()
}

// addToIndex takes a batch up; pos is where it begins. mu is held.
func (l *Log) addToIndex(seg *segment, rel uint32, pos, maxTs int64, sum uint32) {
	seg.index(rel, pos, maxTs, sum, int64(l.cfg.IndexIntervalBytes))
}

// index adds an entry when the last one lies more than interval bytes back. sum is the
// checksum of the batch.
func (s *segment) index(rel uint32, pos, maxTs int64, sum uint32, interval int64) {
	if pos-s.lastEntry > interval {
		s.tail = append(s.tail, indexEntry{rel: rel, pos: uint32(pos), maxTs: s.maxTs})
		s.lastEntry, s.sums.last = pos, sum
		s.entries++
	}
	if pos == 0 {
		s.firstTs = maxTs
		s.sums = sums{sum, sum}
	}
	s.maxTs = max(s.maxTs, maxTs)
}
