package segment

import (
	"fmt"
	"math/bits"
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

	epochs      epochReader
	epochsStale bool
	// stored is the history in its file, beyond the recovery point too, unless it is older
	// than that. A power cut may have taken its last changes: a batch with a lower epoch
	// than it says is damaged, one with a higher need not be.
	stored epochHistory
	newest recovered
	round  []damagedPiece
	closed bool       // a clean stop closed the newest segment at the recovery point
	placed bool       // checking begins at a recovery point: no cleaning or repair has been behind it
	noted  point      // the recovery point of the checkpoint
	sealed int64      // size that the index of the segment at rp says its .log had, 0 if nothing
	passed []*segment // other partitions' files, with segments behind them
}

// damagedPiece is bytes of a segment that recovery has found damaged and gone round.
type damagedPiece struct {
	seg      *segment
	from, to int64 // in the .log file
}

// endOf is where the piece that pos lies in ends, pos if it lies in none.
func endOf(ps []damagedPiece, s *segment, pos int64) int64 {
	for _, p := range ps {
		if p.seg == s && p.from <= pos && pos < p.to {
			return p.to
		}
	}
	return pos
}

// recovered is a batch that was found.
type recovered struct {
	seg      *segment
	pos, end int64 // in the .log file
	offset   int64
	epoch    int32
}

// recover finds the end of the log: it believes what lies before the recovery
// point, checks what lies after it, and cuts what is no continuation.
func (l *Log) recover(o onDisk, rep *RecoveryReport) error {
	r := &recovery{l: l, o: o, rep: rep}
	rp, known := l.dir.points.get(l.key())
	r.noted = rp
	logStart := int64(0)
	if st, ok := l.dir.starts.get(l.key()); ok {
		logStart = st.offset
	}
	l.loadNewest()
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
	next, lost := r.newestLost(0, max(base, rp.offset))
	if lost != nil {
		r.rep.LostFrom, r.rep.LostTo = logStart, next
		l.log.Error("all segments of a partition are missing; it goes on at an offset that none of the lost records had",
			"file", lost.File, "lost_from", logStart, "lost_to", next)
		base = next
	}
	l.snapshots = r.o.snapshots
	// What a recovery point says of producers is so at its offset: the log may have had
	// some since, before it was emptied.
	if !known || rp.flags&pointNoProducers == 0 || rp.offset < base {
		if _, byID, ok := l.newestSnapshot(base, base); ok {
			l.producers.byID = byID
		}
	}
	if b, err := vfs.ReadFile(l.home.fs, filepath.Join(l.home.path, epochsName)); err == nil {
		if topic, h, err := decodeEpochs(b); err == nil && topic == l.topic {
			l.epochs = h.within(base, base)
			switch began := !known && len(h) > 0 && h[len(h)-1].Start >= base; { // written behind the first batch
			case began && l.dir.powerCut(): // which was lost by right, and is not to be missed after a kill
				l.epochs = h.truncated(base)
				l.writeEpochs(false)
			case began && lost == nil && l.dir.sameBoot:
				l.beginsAgain(base, "epoch", h.latest())
			}
		}
	}
	begun := known && rp.segBase == base && rp.first != 0
	if begun {
		l.beginsAgain(base)
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
	if lost != nil {
		if err := l.savePointNow(); err != nil {
			return err
		}
	}
	if err := r.dropLaterSnapshots(); err != nil {
		return err
	}
	r.rep.Segments = 1
	if begun {
		if err := l.unmark(); err != nil {
			return err
		}
	}
	return r.settleNewest()
}

// beginsAgain says that something tells of records from base on, and nothing how many there were.
func (l *Log) beginsAgain(base int64, why ...any) {
	l.log.Error("all segments of a partition are missing, and how far it had come is not noted; its offsets begin again",
		append([]any{"file", offsetPath(l.home.path, base, logSuffix), "lost_from", base}, why...)...)
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
		s.unindexed = slices.Contains(r.o.unindexed, base)
		s.size, s.onDisk = r.o.sizes[i], true
		s.file.sound.unknownBelow(s.size) // check says what it has read
		if i+1 < len(r.o.bases) {
			s.next = r.o.bases[i+1]
			s.file.found, s.file.end = s.size, s.next
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
	cleaned, _ := r.l.dir.cleaned.get(r.l.key())
	for i, s := range r.segs {
		// A position in a segment that was cleaned since would mean nothing. None
		// is ever left behind (savePoint), unless a newer entry was damaged.
		if s.base == rp.segBase && s.size >= rp.pos && rp.offset >= s.base && s.base >= cleaned.offset {
			r.rp, r.at, r.placed = rp, i, true
			return
		}
	}
	r.at = max(segmentOf(r.segs, rp.offset), 0)
	s := r.segs[r.at]
	r.rp = point{offset: s.base, segBase: s.base, epoch: rp.epoch}
	start, _ := r.l.dir.starts.get(r.l.key())
	expired := rp.segBase < r.segs[0].base && r.segs[0].base <= start.offset
	if s.base != rp.offset && !expired { // a roll whose file was never written ends exactly there
		r.l.log.Warn("the recovery point is not where it was; its segment is checked from the beginning",
			"file", s.file.Path(), "size", s.size, "recovery_point", rp.offset, "position", rp.pos)
	}
}

// check reads everything from the recovery point on, takes sound batches up,
// and cuts at the first one that is not.
func (r *recovery) check() error {
	l := r.l
	r.end = max(r.rp.offset, r.segs[r.at].base)
	for i := r.at; i < len(r.segs); i++ {
		s := r.segs[i]
		pos := int64(0)
		if i == r.at {
			pos = r.rp.pos
		} else if s.base != r.end && !slices.ContainsFunc(r.segs[i:], func(s *segment) bool { return s.size > 0 }) {
			// A roll makes the file before it writes the end of the old
			// segment: a kill in between leaves it empty, and too high.
			for _, s := range r.segs[i:] {
				if err := l.removeNow(s); err != nil {
					return fmt.Errorf("remove empty segment: %w", err)
				}
			}
			r.segs = r.segs[:i]
			return nil
		} else if s.base > r.end && l.dir.sameBoot {
			r.passGap(r.segs[i-1], s.base)
		} else if s.base != r.end {
			return r.cut(i-1, r.segs[i-1].size, fmt.Sprintf("the next segment begins at %d, this one ends at %d", s.base, r.end), true)
		}
		if strange, err := r.passes(i); err != nil {
			return err
		} else if strange {
			continue
		}
		if pos < s.size {
			if r.closed && i == len(r.segs)-1 {
				return r.cut(i, pos, fmt.Sprintf("the file had %d bytes at the clean stop", pos), false)
			}
			s.file.sound.unknownBelow(pos)
			good, why, err := r.checkSegment(s, pos)
			if err != nil {
				return err
			}
			s.next = r.end
			s.known.Store(true)
			if good < s.size && l.dir.sameBoot && r.goesOn(s) && r.segs[i+1].base >= r.end {
				r.passTail(s, good, r.segs[i+1].base, why)
			} else if good < s.size {
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
	b := record.Batch(head[:])
	interval := int64(l.cfg.IndexIntervalBytes)
	for gap := interval; pos < s.size; {
		doubt, bad, err := w.check(pos, r.end, b)
		if err != nil {
			return pos, "", err
		}
		if bad != nil {
			next, err := r.goRound(w, s, pos, doubt, bad)
			if err == nil && next > pos {
				pos, gap = next, -1 // the way there is blocked, so it gets an index entry
				continue
			}
			whole := false
			if err == nil {
				whole, err = w.lastWhole(pos, b)
			}
			if err != nil || !whole || !r.misplaced(s, pos, b, gap < 0) {
				return pos, bad.Error(), err
			}
		}
		if bad != nil || r.misplaced(s, pos, b, gap < 0) {
			l.log.Error("the offset of a batch is wrong; reads of it are refused",
				"file", s.file.Path(), "position", pos, "offset", b.BaseOffset(), "want", r.end)
			next := pos + int64(b.Size())
			s.file.sound.unknownBelow(next)
			end := r.end + int64(b.LastOffsetDelta()) + 1
			r.goneRound(s, pos, next, end, fmt.Sprintf("the batch says offset %d, where offset %d is the next", b.BaseOffset(), r.end))
			r.end, pos, gap = end, next, -1
			continue
		}
		r.checkEpoch(s, pos, b)
		s.index(uint32(b.BaseOffset()-s.base), pos, indexTimestamp(b), b.CRC(), gap)
		r.rep.CheckedBytes += int64(b.Size())
		r.end = b.LastOffset() + 1
		pos, gap = pos+int64(b.Size()), interval
	}
	return pos, "", nil
}

// goRound finds the sound batch behind what is no continuation, if that can only be damage:
// where the system ran on, nothing but the end of the last write is torn. Reads of what
// lies between are refused. next is pos where the log ends there.
func (r *recovery) goRound(w *walk, s *segment, pos, doubt int64, why error) (next int64, err error) {
	if !r.l.dir.sameBoot {
		return pos, nil
	}
	next, found, err := w.behind(doubt, r.end, s.size)
	if err != nil || !found {
		return pos, err
	}
	h, err := w.header(next)
	if err != nil {
		return pos, err
	}
	r.l.log.Error("bytes of a segment are no batch; reads of what was there are refused",
		"file", s.file.Path(), "position", pos, "bytes", next-pos, "offset", r.end, "next_offset", h.BaseOffset(), "reason", why)
	s.file.sound.unknownBelow(next)
	r.goneRound(s, pos, next, h.BaseOffset(), why.Error())
	return next, nil
}

// goneRound takes bytes up that no recovery believes, with the offsets from the end so far to
// the next one.
func (r *recovery) goneRound(s *segment, pos, end, next int64, why string) {
	r.round = append(r.round, damagedPiece{s, pos, end})
	r.l.lose(r.end, next, &DamageError{File: s.file.Path(), Position: pos, Offset: r.end, Reason: why})
}

// misplaced tells whether a batch whose checksum is right has a wrong offset, which the
// checksum does not cover. Behind most batches there is one that contradicts it (passesOver);
// behind the last one of a segment there is the name of the next, and behind the last of the
// log nothing. What was appended since the recovery point follows without a gap, unless
// damage lies between; without such a point only a flipped bit is told from a gap that a
// cleaning has left.
func (r *recovery) misplaced(s *segment, pos int64, b record.Batch, behindDamage bool) bool {
	if !r.l.dir.sameBoot || b.BaseOffset() == r.end {
		return false
	}
	if i := slices.Index(r.segs, s); r.goesOn(s) {
		return b.LastOffset() >= r.segs[i+1].base
	}
	if pos+int64(b.Size()) < s.size || behindDamage {
		return false
	}
	if cleaned, _ := r.l.dir.cleaned.get(r.l.key()); s.base < cleaned.offset {
		return false
	}
	if b.BaseOffset() < r.end && s.repeats(pos, b) {
		return false // no wrong offset: the torn end holds what the place held once
	}
	return r.placed || bits.OnesCount64(uint64(b.BaseOffset()^r.end)) == 1
}

// repeats tells whether the batch at pos is one that the segment has before it, offset and
// all.
func (s *segment) repeats(pos int64, b record.Batch) bool {
	base, sum := b.BaseOffset(), b.CRC()
	w := newWalk(s.file, s.size)
	defer w.done()
	for at := int64(0); at < pos; {
		h, err := w.header(at)
		if err != nil {
			return false
		}
		if h.BaseOffset() == base && h.CRC() == sum {
			return true
		}
		at += int64(h.Size())
	}
	return false
}

// goesOn reports whether a later segment has data: none had before this one was whole.
func (r *recovery) goesOn(s *segment) bool {
	return slices.ContainsFunc(r.segs, func(later *segment) bool { return later.base > s.base && later.size > 0 })
}

// passTail goes round damage from pos to the end of a segment that was whole.
func (r *recovery) passTail(s *segment, pos, next int64, why string) {
	r.l.log.Error("the end of a closed segment is damaged; reads of what was there are refused",
		"file", s.file.Path(), "position", pos, "bytes", s.size-pos, "offset", r.end, "next_offset", next, "reason", why)
	s.file.sound.unknownBelow(s.size)
	r.goneRound(s, pos, s.size, next, why)
	r.end = next
}

// passGap goes on at a segment that begins behind the end of the one before it, which no
// kill does. If there is the index of a segment between them, reads of the gap are refused
// on its word (missing).
func (r *recovery) passGap(before *segment, next int64) {
	from := r.end
	r.end = next
	if slices.Contains(r.o.indexes, from) {
		return
	}
	r.l.gap(from, next, &DamageError{File: before.file.Path(), Position: before.size, Offset: from,
		Reason: fmt.Sprintf("the file ends before offset %d, the next one begins at %d", from, next)})
}

// checkEpoch takes the leader epoch of a sound batch up. One that is wrong is no end of the
// log, as what is torn would be: the batch stays, unknown, so that its readers are refused.
func (r *recovery) checkEpoch(s *segment, pos int64, b record.Batch) {
	if want, wrong := r.stored.contradicts(b.LeaderEpoch(), b.BaseOffset()); wrong && b.LeaderEpoch() < want {
		r.refuse(recovered{s, pos, pos + int64(b.Size()), b.BaseOffset(), b.LeaderEpoch()}, want)
		return
	}
	latest := r.epochs.h.latest()
	if r.epochs.add(b.LeaderEpoch(), b.BaseOffset()) {
		r.refuse(r.newest, r.epochs.h.at(r.newest.offset))
	}
	if r.stored.at(b.BaseOffset()) == b.LeaderEpoch() {
		r.epochs.alone = false // the file says so too
	}
	r.epochsStale = r.epochsStale || r.epochs.h.latest() != latest
	r.newest = recovered{s, pos, pos + int64(b.Size()), b.BaseOffset(), b.LeaderEpoch()}
}

func (r *recovery) refuse(b recovered, want int32) {
	if b.seg == nil {
		return // it lies before the recovery point, where nothing is known before its first read
	}
	r.l.log.Error("a batch has a wrong leader epoch; reads of it are refused",
		"file", b.seg.file.Path(), "position", b.pos, "offset", b.offset, "epoch", b.epoch, "want", want)
	b.seg.file.sound.unknownBelow(b.end)
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
		if err := l.home.fs.Remove(offsetPath(l.home.path, later.base, indexSuffix)); err != nil && !isNotExist(err) {
			return fmt.Errorf("set damaged segment aside: %w", err)
		}
		if err := l.home.fs.Rename(path, path+damagedSuffix); err != nil {
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
		if err := r.keepTail(s, pos); err != nil {
			return err
		}
		if err := s.file.f.Truncate(pos); err != nil {
			return fmt.Errorf("cut torn tail: %w", err)
		}
		s.size = pos
		// The sync that covers it must not be skipped: the old bytes could be
		// back after a power cut, behind new ones.
		if err := s.file.syncData(); err != nil {
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
