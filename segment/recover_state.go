package segment

import (
	"errors"
	"fmt"
	"path/filepath"
	"sort"
	"time"

	"ringmain/internal/vfs"
	"ringmain/record"
)

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
			r.stored, r.epochs.h = h, h.within(start, r.rp.offset)
		}
	}
	if errors.Is(err, ErrNewer) {
		return fmt.Errorf("%s: %w", path, err)
	}
	stale := known && rp.epoch > latest ||
		len(r.epochs.h) > 0 && r.epochs.h[0].Start > start ||
		len(r.epochs.h) == 0 && r.rp.offset > start
	if (err == nil || r.rp.offset == r.segs[r.live].base && r.rp.pos == 0) && !stale {
		r.epochsStale = err != nil
		return nil
	}
	l.log.Warn("leader epochs are read from the log: their file is missing, damaged or too old", "file", path, "error", err)
	r.rep.EpochsRebuilt, r.epochsStale = true, true
	r.stored, r.epochs.h = nil, nil
	return l.replay(r.segs, r.live, 0, r.at, r.rp.pos, nil, r.rep, nil, func(_ int64, h record.Batch) {
		if h != nil {
			r.epochs.add(h.LeaderEpoch(), h.BaseOffset())
		}
	})
}

// loadProducers makes the producer state at the log end: the newest snapshot
// there is, and the headers of the batches after it. It runs when the end is
// known, because a snapshot of what was cut must not be used.
//
// Segments below the log start still count: a kill may have come before they
// were removed, and before a snapshot was taken that replaces them. But if one
// of them is missing or torn, what the others say is too old.
//
// The producer of a batch was seen last when the batch's file was written to at the
// latest. Kafka goes by the batch's largest timestamp, with which a producer of old events
// is forgotten at every start, and what it sends again is appended twice.
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
		// From the beginning of the segment is always right; if the segment was
		// cleaned since, the position means nothing.
		i = max(segmentOf(r.segs, h.offset), 0)
		if s := r.segs[i]; s.base == h.segBase && h.pos < s.size {
			if b := s.soundAt(h.pos); b != nil && b.BaseOffset() == h.offset {
				pos = h.pos
			}
		}
	}
	if i >= len(r.segs) {
		return nil
	}
	now := time.Now().UnixMilli()
	// Before the recovery point nothing but headers is read, so that a start is short. A batch
	// that its producer cannot have sent next has its checksum compared all the same.
	doubtful := func(h record.Batch) bool { return h.BaseOffset() >= from && l.producers.surprising(h) }
	add := func(_ int64, h record.Batch) {
		if h == nil {
			l.producers.doubtAll()
		} else if h.BaseOffset() >= from {
			l.producers.add(h, min(r.o.writtenTo(h.BaseOffset()), now), false)
			l.sinceSnap += int64(h.Size())
		}
	}
	if i < r.live {
		// A gap between segments is a missing or torn one; those inside of a
		// segment are compaction's. What lies behind it counts as if it were all.
		expect := r.segs[i].base
		for k := i; ; k, pos = k+1, 0 {
			if r.segs[k].base != expect {
				l.producers.byID, l.sinceSnap = nil, 0
			}
			if k == r.live {
				break
			}
			expect = r.segs[k].base
			err := l.replay(r.segs, k, pos, k, r.segs[k].size, nil, r.rep, doubtful, func(pos int64, h record.Batch) {
				if h != nil {
					expect = h.LastOffset() + 1
				}
				add(pos, h)
			})
			if err != nil && !errors.Is(err, ErrCorrupt) && !isNotExist(err) {
				return err
			}
		}
		i, pos = r.live, 0
	}
	last := len(r.segs) - 1
	return l.replay(r.segs, i, pos, last, r.segs[last].size, r.round, r.rep, doubtful, add)
}

// writtenTo is when the segment of an offset was written to last, ms since 1970.
func (o *onDisk) writtenTo(offset int64) int64 {
	return o.written[max(sort.Search(len(o.bases), func(i int) bool { return o.bases[i] > offset })-1, 0)]
}

// resumeIndex prepares the index of the segment that holds the recovery point
// so that check can go on adding to it.
func (r *recovery) resumeIndex() error {
	l, s := r.l, r.segs[r.at]
	head, x, err := l.readHeader(s.base)
	if err == nil && head.partition != noPartition && head.partition != l.tp.Partition {
		x.file.doom()
		if d, _ := l.identify(s, head); d != nil {
			return r.stranger(s, d)
		}
		err = errDamaged
	}
	if err == nil && head.size == s.size && head.size == r.rp.pos && (r.at < len(r.segs)-1 || head.next == r.rp.offset) {
		s.setStats(head) // a clean stop: nothing is read
		s.idx = x
		if head.partition != noPartition {
			s.claim.Store(&head)
		}
		return nil
	}
	if err == nil {
		defer x.file.doom() // what can be kept of it is opened again
		r.sealed = head.size
		if d, _ := l.identify(s, head); d != nil {
			return r.stranger(s, d)
		}
	}
	if d := r.unmarked(s); d != nil {
		return r.stranger(s, d)
	}
	r.closed = err == nil && l.dir.clean && head.size == r.rp.pos && head.next == r.rp.offset
	if err == nil && l.dir.clean && head.size != s.size {
		if d := l.stranger(s, r.rp.offset, head, x); d != nil {
			return d
		}
	}
	if errors.Is(err, errDamaged) && l.dir.clean { // after a kill it has no header yet
		l.log.Warn("an index is damaged and is built again from the log", "file", offsetPath(l.home.path, s.base, indexSuffix), "bytes", r.rp.pos)
	}
	from := indexEntry{maxTs: noIndexTimestamp}
	if kept := l.soundBlocks(s, r.rp.pos); kept != nil {
		last, ok, err := kept.floor(s.base, byPosition, r.rp.pos-1)
		if err == nil && ok && l.pointsAtBatch(s, last) {
			s.idx, from = kept, last
			s.lastEntry, s.entries = int64(last.pos), int64(kept.blocks*indexBlockMax)
			s.maxTs, s.firstTs = last.maxTs, l.firstTimestamp(s)
		} else {
			kept.file.doom()
		}
	}
	if s.idx == nil {
		err := l.home.fs.Remove(offsetPath(l.home.path, s.base, indexSuffix))
		if err != nil && !isNotExist(err) {
			return fmt.Errorf("remove damaged index: %w", err)
		}
		r.rep.IndexRebuilt = err == nil // a young segment has none yet
	}
	expect := int64(from.pos)
	err = l.replay(r.segs, r.at, expect, r.at, r.rp.pos, nil, r.rep, nil, func(pos int64, h record.Batch) {
		if h == nil {
			return
		}
		interval := int64(l.cfg.IndexIntervalBytes)
		if pos != expect {
			interval = -1 // behind damage: the way there is blocked
		}
		s.index(uint32(h.BaseOffset()-s.base), pos, indexTimestamp(h), h.CRC(), interval)
		expect = pos + int64(h.Size())
		s.next = h.LastOffset() + 1
	})
	if r.rp.pos > 0 { // nobody has compared these checksums
		s.sums = s.sumsWith(s.lastEntry)
	}
	return err
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
	return indexTimestamp(h)
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
