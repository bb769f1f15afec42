package segment

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"ringmain/internal/vfs"
	"ringmain/record"
)

// recovery is one run over a partition's files. It builds the log's state
// beside the log and installs it at the end.
type recovery struct {
	l    *Log
	o    onDisk
	rep  *RecoveryReport
	rp   point // where checking begins
	segs []*segment
	at   int   // the segment that holds rp
	live int   // the first segment that does not lie wholly below the log start
	end  int64 // offset after the last sound batch so far

	epochs       epochHistory
	epochsStale  bool
	producersNew bool // the state differs from every snapshot
}

// recover finds the end of the log: it believes what lies before the recovery
// point, checks what lies after it, and cuts what is no continuation.
func (l *Log) recover(o onDisk, rep *RecoveryReport) error {
	r := &recovery{l: l, o: o, rep: rep}
	rp, known := l.dir.points.get(l.key())
	logStart := int64(0)
	if st, ok := l.dir.starts.get(l.key()); ok {
		logStart = st.offset
	}
	if !known {
		l.home.fresh.Store(true) // nothing says that its name was ever synced
	}
	if len(r.o.bases) == 0 {
		return r.empty(rp, known, logStart)
	}
	start := max(logStart, r.o.bases[0])
	r.build(rp, known)
	for r.live+1 < len(r.segs) && r.segs[r.live+1].base <= start {
		r.live++
	}
	r.locate(rp, known)
	if r.at < r.live { // what lies below the start is only waiting to be removed
		r.at = r.live
		s := r.segs[r.at]
		r.rp = point{offset: s.base, segBase: s.base, epoch: rp.epoch}
	}
	if err := r.loadEpochs(rp, known, start); err != nil {
		return err
	}
	if err := r.resumeIndex(); err != nil {
		return err
	}
	if err := r.check(); err != nil {
		return err
	}
	if err := r.loadProducers(known && rp.offset == r.rp.offset); err != nil {
		return err
	}
	return r.install(rp, known, start)
}

// empty opens a log without a segment on disk: new, or emptied. The next
// offset is remembered by the checkpoints.
func (r *recovery) empty(rp point, known bool, logStart int64) error {
	l := r.l
	base := logStart
	if known && rp.offset > base {
		r.rep.LostFrom, r.rep.LostTo = base, rp.offset
		l.log.Error("all segments of a partition are missing; it goes on at the offset after the lost records",
			"directory", l.home.path, "lost_from", base, "lost_to", rp.offset)
		base = rp.offset
	}
	l.snapshots = r.o.snapshots
	if known && rp.flags&pointNoProducers == 0 {
		if _, byID, ok := l.newestSnapshot(base, base); ok {
			l.producers.byID = byID
		}
	}
	if b, err := vfs.ReadFile(l.home.fs, filepath.Join(l.home.path, epochsName)); err == nil {
		if topic, h, err := decodeEpochs(b); err == nil && topic == l.topic {
			l.epochs = h.within(base, base)
		}
	}
	l.segs = []*segment{newSegment(l.home, base)}
	l.segs[0].known.Store(true)
	l.settle(base)
	l.synced.Store(base)
	l.point = l.pointNow()
	l.savedPoint = l.point // nothing to say that is not known
	if known {
		l.savedPoint = rp
	}
	r.rep.Segments = 1
	return nil
}

// settle points the owner's state at the end of the published one.
func (l *Log) settle(start int64) {
	l.w = l.active()
	l.w.jitterMs = l.jitter()
	l.w.createdMs = time.Now().UnixMilli()
	l.wPos, l.next = l.w.size, l.w.next
	l.start.Store(start)
	l.end.Store(l.w.next)
	total := int64(0)
	for _, s := range l.segs {
		total += s.size
	}
	l.bytes.Store(total)
}

// unwritten: the recovery point is the beginning of a segment that has no file
// yet, rolled to and never written.
func (r *recovery) unwritten(rp point, known bool) bool {
	return known && rp.pos == 0 && rp.offset == rp.segBase && rp.segBase > r.o.bases[len(r.o.bases)-1]
}

// build makes the segments, an unwritten one included.
func (r *recovery) build(rp point, known bool) {
	for i, base := range r.o.bases {
		s := newSegment(r.l.home, base)
		s.size, s.onDisk = r.o.sizes[i], true
		if i+1 < len(r.o.bases) {
			s.next = r.o.bases[i+1]
		}
		r.segs = append(r.segs, s)
	}
	if r.unwritten(rp, known) {
		r.segs[len(r.segs)-1].next = rp.segBase
		r.segs = append(r.segs, newSegment(r.l.home, rp.segBase))
	}
}

// locate decides where checking begins: at the recovery point, or, when its
// place is not there, at the beginning of the segment that should hold it.
func (r *recovery) locate(rp point, known bool) {
	if !known {
		r.rp = point{offset: r.segs[0].base, segBase: r.segs[0].base}
		return
	}
	for i, s := range r.segs {
		if s.base == rp.segBase && s.size >= rp.pos && rp.offset >= s.base {
			r.rp, r.at = rp, i
			return
		}
	}
	r.at = max(segmentOf(r.segs, rp.offset), 0)
	s := r.segs[r.at]
	r.rp = point{offset: s.base, segBase: s.base, epoch: rp.epoch}
	if s.base != rp.offset { // a roll whose file was never written ends exactly there
		r.l.log.Warn("the recovery point is not where it was; its segment is checked from the beginning",
			"file", s.file.Path(), "size", s.size, "recovery_point", rp.offset, "position", rp.pos)
	}
}

// loadEpochs reads the history, or makes it from the batches when the file is
// missing, damaged, older than the recovery point, or trimmed for a log start
// that a power cut took back.
func (r *recovery) loadEpochs(rp point, known bool, start int64) error {
	l := r.l
	path := filepath.Join(l.home.path, epochsName)
	latest := int32(-1)
	b, err := vfs.ReadFile(l.home.fs, path)
	if err == nil {
		topic, h, derr := decodeEpochs(b)
		if err = derr; err == nil && topic != l.topic {
			err = errDamaged
		}
		if err == nil {
			latest = h.latest()
			r.epochs = h.within(start, r.rp.offset)
		}
	}
	if errors.Is(err, ErrNewer) {
		return fmt.Errorf("%s: %w", path, err)
	}
	stale := known && rp.epoch > latest ||
		len(r.epochs) > 0 && r.epochs[0].Start > start ||
		len(r.epochs) == 0 && r.rp.offset > start
	if (err == nil || r.rp.offset == r.segs[r.live].base && r.rp.pos == 0) && !stale {
		r.epochsStale = err != nil
		return nil
	}
	l.log.Warn("leader epochs are read from the log: their file is missing, damaged or too old", "file", path, "error", err)
	r.rep.EpochsRebuilt, r.epochsStale = true, true
	r.epochs = nil
	return l.replay(r.segs, r.live, 0, r.at, r.rp.pos, r.rep, func(h record.Batch) {
		r.epochs = r.epochs.with(h.LeaderEpoch(), h.BaseOffset())
	})
}

// loadProducers makes the producer state at the log end: the newest snapshot
// there is, and the headers of the batches after it. It runs when the end is
// known, because a snapshot of what was cut must not be used.
//
// Segments below the log start still count: a kill may have come before they
// were removed, and before a snapshot was taken that replaces them. But if one
// of them is missing or torn, what the others say is too old.
func (r *recovery) loadProducers(trusted bool) error {
	l := r.l
	l.snapshots = r.o.snapshots
	i, pos, from := 0, int64(0), int64(-1)
	h, byID, ok := l.newestSnapshot(r.segs[0].base, r.end)
	switch {
	case trusted && r.rp.flags&pointNoProducers != 0 && (!ok || h.offset <= r.rp.offset):
		i, pos, from = r.at, r.rp.pos, r.rp.offset
	case ok:
		l.producers.byID = byID
		if h.offset == r.end {
			return nil
		}
		from = h.offset
		i = max(segmentOf(r.segs, h.offset), 0)
		if r.segs[i].base == h.segBase && h.pos <= r.segs[i].size {
			pos = h.pos
		}
	}
	if i >= len(r.segs) {
		return nil
	}
	now := time.Now().UnixMilli()
	add := func(h record.Batch) {
		if h.BaseOffset() >= from {
			l.producers.add(h, now, false)
			l.sinceSnap += int64(h.Size())
		}
	}
	if i < r.live {
		expect, gap := max(from, r.segs[i].base), false
		last := r.live - 1
		err := l.replay(r.segs, i, pos, last, r.segs[last].size, r.rep, func(h record.Batch) {
			gap = gap || h.BaseOffset() > expect
			expect = h.LastOffset() + 1
			add(h)
		})
		if err != nil && !errors.Is(err, ErrCorrupt) && !isNotExist(err) {
			return err
		}
		if err != nil || gap || expect != r.segs[r.live].base {
			l.producers.byID, l.sinceSnap = nil, 0
		}
		i, pos = r.live, 0
	}
	last := len(r.segs) - 1
	return l.replay(r.segs, i, pos, last, r.segs[last].size, r.rep, add)
}

// resumeIndex prepares the index of the segment that holds the recovery point
// so that check can go on adding to it.
func (r *recovery) resumeIndex() error {
	l, s := r.l, r.segs[r.at]
	head, x, err := l.readHeader(s.base)
	if err == nil && head.size == s.size && head.size == r.rp.pos && (r.at < len(r.segs)-1 || head.next == r.rp.offset) {
		s.setStats(head) // a clean stop: nothing is read
		s.idx = x
		return nil
	}
	from := indexEntry{maxTs: noIndexTimestamp}
	if kept := l.soundBlocks(s, r.rp.pos); kept != nil {
		last, ok, err := kept.floor(s.base, byPosition, r.rp.pos-1)
		if err == nil && ok && l.pointsAtBatch(s, last) {
			s.idx, from = kept, last
			s.lastEntry, s.entries = int64(last.pos), int64(kept.blocks*indexBlockMax)
			s.maxTs, s.firstTs = last.maxTs, l.firstTimestamp(s)
		}
	}
	if s.idx == nil {
		err := l.home.fs.Remove(offsetPath(l.home.path, s.base, indexSuffix))
		if err != nil && !isNotExist(err) {
			return fmt.Errorf("remove damaged index: %w", err)
		}
		r.rep.IndexRebuilt = err == nil // a young segment has none yet
	}
	pos := int64(from.pos)
	return l.replay(r.segs, r.at, pos, r.at, r.rp.pos, r.rep, func(h record.Batch) {
		s.index(uint32(h.BaseOffset()-s.base), pos, h.MaxTimestamp(), int64(l.cfg.IndexIntervalBytes))
		pos += int64(h.Size())
		s.next = h.LastOffset() + 1
	})
}

// soundBlocks keeps the index blocks that lie wholly before limit, and cuts
// the file behind them: what is there may be of a state of the log that was
// lost. nil if the file cannot be used.
func (l *Log) soundBlocks(s *segment, limit int64) (kept *indexFile) {
	f := newFile(l.home, s.base, indexSuffix)
	if f.acquire() != nil {
		return nil
	}
	defer f.Release()
	defer func() {
		if kept == nil {
			f.gone.Store(true) // nobody keeps this File: closed by Release
		}
	}()
	size, err := f.f.Size()
	if err != nil || size < indexHeaderSize+indexBlockSize {
		return nil
	}
	blocks := int((size - indexHeaderSize) / indexBlockSize)
	x := &indexFile{file: f, blocks: blocks}
	buf := blockPool.Get().(*[indexBlockSize]byte)
	defer blockPool.Put(buf)
	lo, hi := 0, blocks // blocks whose last entry lies before limit
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		n, err := x.read(s.base, mid, buf[:])
		if err != nil {
			return nil
		}
		if int64(blockEntry(buf[:], n-1).pos) < limit {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	x.blocks = lo
	if f.f.Truncate(indexHeaderSize+int64(lo)*indexBlockSize) != nil {
		return nil
	}
	return x
}

// firstTimestamp is the largest timestamp of a segment's first batch.
func (l *Log) firstTimestamp(s *segment) int64 {
	if s.file.acquire() != nil {
		return noIndexTimestamp
	}
	defer s.file.Release()
	w := newWalk(s.file, s.size)
	defer w.done()
	h, err := w.header(0)
	if err != nil {
		return noIndexTimestamp
	}
	return h.MaxTimestamp()
}

// pointsAtBatch compares an entry with the log.
func (l *Log) pointsAtBatch(s *segment, e indexEntry) bool {
	if s.file.acquire() != nil {
		return false
	}
	defer s.file.Release()
	w := newWalk(s.file, s.size)
	defer w.done()
	h, err := w.header(int64(e.pos))
	return err == nil && h.BaseOffset() == s.base+int64(e.rel)
}

// check reads everything from the recovery point on, takes sound batches up,
// and cuts at the first one that is not.
func (r *recovery) check() error {
	r.end = max(r.rp.offset, r.segs[r.at].base)
	for i := r.at; i < len(r.segs); i++ {
		s := r.segs[i]
		pos := int64(0)
		if i == r.at {
			pos = r.rp.pos
		} else if s.base != r.end {
			return r.cut(i-1, r.segs[i-1].size, fmt.Sprintf("the next segment begins at %d, this one ends at %d", s.base, r.end), true)
		}
		if pos < s.size {
			good, why, err := r.checkSegment(s, pos)
			if err != nil {
				return err
			}
			s.next = r.end
			s.known.Store(true)
			if good < s.size {
				return r.cut(i, good, why, false)
			}
		}
		s.next = r.end
		s.known.Store(true)
	}
	return nil
}

// checkSegment returns where the sound batches end. An error is one of the
// disk, not of the data.
func (r *recovery) checkSegment(s *segment, pos int64) (good int64, why string, err error) {
	l := r.l
	if err := s.file.acquire(); err != nil {
		return 0, "", err
	}
	defer s.file.Release()
	w := newWalk(s.file, s.size)
	defer w.done()
	var head [record.HeaderSize]byte
	for pos < s.size {
		h, err := w.header(pos)
		switch {
		case errors.Is(err, errEnd):
			return pos, fmt.Sprintf("%d bytes are less than a batch header", s.size-pos), nil
		case errors.Is(err, ErrCorrupt):
			return pos, err.Error(), nil
		case err != nil:
			return pos, "", err
		}
		copy(head[:], h) // the checksum moves the window
		b := record.Batch(head[:])
		if b.BaseOffset() < r.end || b.BaseOffset()-s.base > 1<<31-1 {
			return pos, fmt.Sprintf("batch at offset %d where at least %d is expected", b.BaseOffset(), r.end), nil
		}
		if err := w.checksum(pos, h); errors.Is(err, ErrCorrupt) {
			return pos, err.Error(), nil
		} else if err != nil {
			return pos, "", err
		}
		s.index(uint32(b.BaseOffset()-s.base), pos, b.MaxTimestamp(), int64(l.cfg.IndexIntervalBytes))
		if e := b.LeaderEpoch(); e > r.epochs.latest() {
			r.epochs, r.epochsStale = r.epochs.with(e, b.BaseOffset()), true
		}
		r.rep.CheckedBytes += int64(b.Size())
		r.end = b.LastOffset() + 1
		pos += int64(b.Size())
	}
	return pos, "", nil
}

// cut ends the log in segment i at pos. Whole segments behind it are set
// aside, not removed: if the checkpoint was lost they may hold what somebody
// wants back.
func (r *recovery) cut(i int, pos int64, why string, whole bool) error {
	l, s := r.l, r.segs[i]
	r.rep.CutFile, r.rep.CutAt, r.rep.CutReason = s.file.Path(), pos, why
	r.rep.CutBytes = s.size - pos
	for _, later := range r.segs[i+1:] {
		path := later.file.Path()
		if err := l.home.fs.Rename(path, path+damagedSuffix); err != nil {
			return fmt.Errorf("set damaged segment aside: %w", err)
		}
		if err := l.home.fs.Remove(offsetPath(l.home.path, later.base, indexSuffix)); err != nil && !isNotExist(err) {
			return fmt.Errorf("set damaged segment aside: %w", err)
		}
		r.rep.CutBytes += later.size
		r.rep.SetAside = append(r.rep.SetAside, path+damagedSuffix)
	}
	l.log.Warn("the log's tail is cut: it does not continue what lies before",
		"file", s.file.Path(), "position", pos, "bytes", r.rep.CutBytes, "log_end", r.end, "set_aside", len(r.rep.SetAside), "reason", why)
	r.segs = r.segs[:i+1]
	if !whole {
		if err := s.file.acquire(); err != nil {
			return err
		}
		defer s.file.Release()
		if err := s.file.f.Truncate(pos); err != nil {
			return fmt.Errorf("cut torn tail: %w", err)
		}
		s.size = pos
		// The sync that covers it must not be skipped: the old bytes could be
		// back after a power cut, behind new ones.
		if err := s.file.f.SyncData(); err != nil {
			return fmt.Errorf("cut torn tail: %w", err)
		}
	}
	if len(r.rep.SetAside) > 0 {
		if err := l.home.fs.SyncDir(l.home.path); err != nil {
			return fmt.Errorf("set damaged segment aside: %w", err)
		}
	}
	return nil
}

// install publishes the recovered state.
func (r *recovery) install(rp point, known bool, start int64) error {
	l := r.l
	next := max(r.end, start)
	if known && rp.offset > next {
		r.rep.LostFrom, r.rep.LostTo = r.end, rp.offset
		l.log.Error("records that were on disk are missing; the partition goes on at the offset after them",
			"directory", l.home.path, "lost_from", r.end, "lost_to", rp.offset)
		next = rp.offset
	}
	last := r.segs[len(r.segs)-1]
	last.next = r.end
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
	l.segs = r.segs
	l.epochs = r.epochs.within(start, r.end).trimmed(start)
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
	if r.epochsStale || len(l.epochs) != len(r.epochs) {
		l.writeEpochs()
	}
	if next > r.end {
		// What the producers wrote last may lie in the gap: better no state
		// than one that has their next batch refused.
		l.producers.byID = nil
		l.point.flags = pointNoProducers
		l.storeSnapshot(next, l.takeSnapshot(next, next, 0))
		if err := errors.Join(l.dir.points.put([]pointKey{l.key()}, []point{l.point}), l.dir.points.sync()); err != nil {
			return err
		}
		l.savedPoint = l.point
	}
	for _, s := range l.segs[r.at : len(l.segs)-1] {
		if len(s.tail) > 0 || s.idx == nil {
			l.seal(s)
		}
	}
	l.touched = r.rep.CheckedBytes > 0 || r.rep.HeaderBytes > 0
	r.rep.Segments = len(l.segs)
	if err := r.dropLaterSnapshots(); err != nil {
		return err
	}
	expired := 0
	for expired < len(l.segs)-1 && l.segs[expired].next <= start && !slices.Contains(l.dirty, l.segs[expired]) {
		expired++
	}
	l.dropFront(expired, 0)
	return nil
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
