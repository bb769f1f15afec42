package segment

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"ringmain/internal/vfs"
)

// install publishes the recovered state.
func (r *recovery) install(rp point, known bool, start int64) error {
	l := r.l
	last := r.segs[len(r.segs)-1]
	next := max(r.end, start)
	if known && rp.offset > next {
		r.rep.LostFrom, r.rep.LostTo = r.end, rp.offset
		l.gap(next, rp.offset, &DamageError{File: last.file.Path(), Position: last.size, Offset: r.end,
			Reason: fmt.Sprintf("the log ends before offset %d, and had reached %d on the disk, where it goes on", r.end, rp.offset)})
		next = rp.offset
	}
	if to, d := r.newestLost(r.end, rp.offset); d != nil {
		r.rep.LostFrom, r.rep.LostTo = r.end, to
		l.gap(max(r.end, start), to, d)
		next = max(next, to)
	}
	last.next = r.end
	last.file.found, last.file.end = last.size, r.end
	last.handedOut = last.size
	synced := min(max(r.rp.offset, r.segs[0].base), r.end)
	for i := r.at; i < len(r.segs); i++ {
		if s := r.segs[i]; i > r.at && s.size > 0 || i == r.at && s.size > r.rp.pos {
			l.markDirty(s)
			s.file.fresh.Store(true) // whether the name was synced is not known
			l.home.fresh.Store(true)
			l.unsynced += s.size
			if i == r.at {
				l.unsynced -= r.rp.pos
			}
		}
	}
	if next > r.end {
		// The offsets in between must never be given out, whatever happens
		// next: what is there is synced, and the recovery point set behind.
		if err := r.syncNow(); err != nil {
			return err
		}
		s := newSegment(l.home, next)
		s.known.Store(true)
		r.segs = append(r.segs, s)
	}
	if err := r.unseal(last); err != nil {
		return err
	}
	l.segs = r.segs
	l.epochs = r.epochs.h.within(start, r.end).trimmed(start).from(start)
	l.settle(start)
	l.unsyncedSince, l.lastNowMs = time.Now().UnixMilli(), time.Now().UnixMilli()
	l.synced.Store(max(synced, start))
	l.point = r.rp
	if len(l.dirty) == 0 { // everything there is was synced
		l.point = l.pointNow()
		l.synced.Store(l.end.Load())
	}
	l.savedPoint = point{offset: -1}
	if known {
		l.savedPoint = rp
	}
	if r.epochsStale || !slices.Equal(l.epochs, r.epochs.h) {
		l.writeEpochs(false)
	}
	if next > r.end {
		// What the producers wrote last may lie in the gap: better no state
		// than one that has their next batch refused.
		l.producers.byID = nil
		l.point.flags = pointNoProducers
		l.storeSnapshot(next, l.takeSnapshot(next, next, 0))
	} else if len(r.round) > 0 && len(l.producers.byID) > 0 {
		l.storeSnapshot(r.end, l.takeSnapshot(r.end, last.base, last.size)) // no later recovery reads the headers there
	}
	if next > r.end || known && !l.hasSegment(rp.segBase) {
		// A recovery point in a segment that is not there any more reads as one in a
		// segment that was rolled to and not written yet. Once the segment before it
		// grows, as it does now, what it holds beyond that point would be overlooked.
		if err := l.savePointNow(); err != nil {
			return err
		}
	}
	if err := r.settleNewest(); err != nil {
		return err
	}
	if known && rp.first != 0 && rp.segBase == l.active().base && l.active().size == 0 {
		if err := l.unmark(); err != nil {
			return err
		}
	}
	for _, s := range l.segs[r.at : len(l.segs)-1] {
		if s.known.Load() && (len(s.tail) > 0 || s.idx == nil) {
			l.seal(s)
		}
	}
	l.touched = r.rep.CheckedBytes > 0 || r.rep.HeaderBytes > 0
	r.rep.Segments = len(l.segs)
	if err := r.dropLaterSnapshots(); err != nil {
		return err
	}
	if l.dir.powerCut() {
		r.dropTornSnapshots()
	}
	expired := 0
	for expired < len(l.segs)-1 && l.segs[expired].next <= start && !slices.Contains(l.dirty, l.segs[expired]) {
		expired++
	}
	l.dropFront(expired, 0)
	return nil
}

// unseal takes back what the index of the last segment says of its end, after a power cut:
// it may have been closed, and opened again by the loss of what lay behind. Beside a log that
// goes on from there such an index would speak against it. Where the system ran on, what it
// says is true.
func (r *recovery) unseal(s *segment) error {
	l := r.l
	if !l.dir.powerCut() {
		return nil
	}
	had := int64(0)
	if s == r.segs[r.at] {
		had = r.sealed
	}
	if head, x, err := l.readHeader(s.base); err == nil {
		x.file.doom()
		if had = head.size; had == s.size && s.idx != nil {
			return nil
		}
	}
	if s.idx == nil { // all that there is of it is in memory
		if err := l.home.fs.Remove(offsetPath(l.home.path, s.base, indexSuffix)); err != nil && !isNotExist(err) {
			return fmt.Errorf("remove index of a lost end: %w", err)
		}
		if had > s.size { // another log of that size would not be what it knows
			return l.home.fs.SyncDir(l.home.path)
		}
		return nil
	}
	if err := s.idx.file.acquire(); err != nil {
		return err
	}
	defer s.idx.file.Release()
	if _, err := s.idx.file.f.WriteAt(make([]byte, indexHeaderSize), 0); err != nil {
		return fmt.Errorf("write index header: %w", err)
	}
	if had > s.size {
		return s.idx.file.syncData()
	}
	return nil
}

// savePointNow makes the recovery point durable.
func (l *Log) savePointNow() error {
	err := errors.Join(l.dir.points.put([]pointKey{l.key()}, []point{l.point}), l.dir.points.sync())
	if err == nil {
		l.savedPoint = l.point
	}
	return err
}

func (l *Log) hasSegment(base int64) bool {
	i := segmentOf(l.segs, base)
	return i >= 0 && l.segs[i].base == base
}

// syncNow makes the dirty segments durable.
func (r *recovery) syncNow() error {
	l := r.l
	for _, s := range l.dirty {
		if err := s.file.acquire(); err != nil {
			return err
		}
		errs := syncInTurn([]*File{s.file})
		s.file.Release()
		if errs != nil {
			return fmt.Errorf("sync recovered segment: %w", errs[0])
		}
	}
	l.dirty, l.unsynced = nil, 0
	return nil
}

// dropTornSnapshots removes snapshots that a crash of the system has torn: none is synced, and
// what is left of an old one would look like damage for as long as its segment stays.
func (r *recovery) dropTornSnapshots() {
	l := r.l
	l.snapshots = slices.DeleteFunc(slices.Clone(l.snapshots), func(o int64) bool {
		b, err := vfs.ReadFile(l.home.fs, offsetPath(l.home.path, o, snapshotSuffix))
		if err == nil {
			_, _, err = decodeSnapshot(b)
		}
		if !errors.Is(err, errDamaged) {
			return false
		}
		l.removeSnapshot(o)
		return true
	})
}

// dropLaterSnapshots removes snapshots of a future that was lost, durably: if
// one came back when the log has grown past it, it would be believed.
func (r *recovery) dropLaterSnapshots() error {
	l := r.l
	end := l.end.Load()
	removed := false
	for _, o := range l.snapshots {
		if o > end {
			l.removeSnapshot(o)
			removed = true
		}
	}
	l.snapshots = slices.DeleteFunc(slices.Clone(l.snapshots), func(o int64) bool { return o > end })
	if removed {
		return l.home.fs.SyncDir(l.home.path)
	}
	return nil
}
