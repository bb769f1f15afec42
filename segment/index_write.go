package segment

import (
	"errors"
	"fmt"
	"os"

	"ringmain/internal/vfs"
)

// spillIndex moves entries of the active segment from memory to the file as
// whole blocks, so that a large segment does not cost memory. Owner. A failure
// only keeps them in memory.
func (l *Log) spillIndex(seg *segment) {
	if n := len(seg.tail) / indexBlockMax * indexBlockMax; n > 0 {
		if err := l.writeIndex(seg, n, false); err != nil {
			l.log.Warn("cannot write index; it stays in memory", "file", seg.file.Path(), "error", err)
		}
	}
}

// seal writes the whole index of a segment that gets no more batches, and
// frees its memory. Owner.
func (l *Log) seal(seg *segment) {
	if seg.allocated > 0 && seg.allocated < 1<<62 {
		if err := seg.file.acquire(); err == nil { // give back what was reserved beyond the end
			if err := seg.file.f.Truncate(seg.size); err != nil {
				l.log.Warn("cannot give back preallocated space", "file", seg.file.Path(), "error", err)
			}
			seg.file.Release()
		}
		seg.allocated = 0
	}
	if err := l.writeIndex(seg, len(seg.tail), true); err != nil {
		l.log.Warn("cannot write index; it is made again when needed", "file", seg.file.Path(), "error", err)
	}
}

// writeIndex appends blocks with the first n entries in memory, and with
// header set the header that makes them valid for the .log file as it is now.
func (l *Log) writeIndex(seg *segment, n int, header bool) error {
	seg.loadMu.Lock()
	defer seg.loadMu.Unlock()
	x := seg.idx
	if x == nil {
		x = &indexFile{file: newFile(l.home, seg.base, indexSuffix)}
	}
	if err := x.file.acquireFlag(os.O_RDWR | os.O_CREATE); err != nil {
		return err
	}
	defer func() {
		x.file.Release()
		if seg.idx == nil { // it could not be written: nobody keeps this File
			x.file.doom()
		}
	}()
	blocks, err := appendBlocks(x.file.f, x.blocks, seg.base, seg.tail[:n])
	if err != nil {
		return err
	}
	if header {
		if _, err := x.file.f.WriteAt(encodeIndexHeader(l.key(), seg.base, seg.sealed()), 0); err != nil {
			return fmt.Errorf("write index header: %w", err)
		}
		// Blocks of an earlier life of the file must not count.
		if err := x.file.f.Truncate(indexHeaderSize + int64(x.blocks+blocks)*indexBlockSize); err != nil {
			return fmt.Errorf("write index: %w", err)
		}
	}
	l.mu.Lock()
	seg.idx = &indexFile{file: x.file, blocks: x.blocks + blocks}
	seg.tail = append(seg.tail[:0], seg.tail[n:]...)
	if header && len(seg.tail) == 0 && seg != l.active() {
		seg.tail = nil
	}
	l.mu.Unlock()
	return nil
}

// appendBlocks writes entries behind the blocks that an index has.
func appendBlocks(f vfs.File, have int, base int64, es []indexEntry) (blocks int, err error) {
	buf := blockPool.Get().(*[indexBlockSize]byte)
	defer blockPool.Put(buf)
	for ; len(es) > 0; blocks++ {
		n := min(len(es), indexBlockMax)
		encodeIndexBlock(buf[:], base, es[:n])
		at := indexHeaderSize + int64(have+blocks)*indexBlockSize
		if _, err := f.WriteAt(buf[:], at); err != nil {
			return blocks, fmt.Errorf("write index block: %w", err)
		}
		es = es[n:]
	}
	return blocks, nil
}

// load makes the stats of a closed segment known: from the header of its
// index if that belongs to the .log file as it is, else by building the index
// again. Any goroutine.
func (l *Log) load(seg *segment) error {
	if seg.known.Load() {
		return l.prove(seg)
	}
	seg.loadMu.Lock()
	defer seg.loadMu.Unlock()
	if seg.known.Load() {
		return nil
	}
	if seg.file.gone.Load() { // replaced: the files of its name are another's
		return errGone
	}
	if err := seg.file.acquire(); err == nil {
		defer seg.file.Release()
	} else if !isNotExist(err) {
		return err // nothing is taken for sound for want of a descriptor
	}
	s, x, err := l.readHeader(seg.base)
	if err == nil {
		defer func() {
			if seg.idx != x {
				x.file.doom()
			}
		}()
		d, ours := l.identify(seg, s)
		if d != nil {
			l.refuseStranger(seg, d)
			return d
		}
		if !ours {
			return l.rebuildLocked(seg, otherIndex)
		}
	}
	if err == nil && s.size == seg.size && s.next <= seg.next {
		if d := l.strangeness(seg, s, x); d != nil {
			if l.leadsTo(seg, seg.next) { // either of the two may be the other one
				return l.rebuildLocked(seg, d.Reason)
			}
			l.refuseStranger(seg, d)
			return d
		}
		if s.next < seg.next && l.leadsTo(seg, seg.next) {
			return l.rebuildLocked(seg, "the index says another end than the batches")
		}
		l.gapBehind(seg, s.next, 0)
		l.mu.Lock()
		seg.setStats(s)
		seg.idx = x
		l.mu.Unlock()
		seg.known.Store(true)
		return nil
	}
	if err == nil && s.size != seg.size {
		if d := l.stranger(seg, seg.next, s, x); d != nil {
			l.refuseStranger(seg, d)
			return d
		}
	}
	if err == nil && s.size > seg.size && !l.leadsTo(seg, seg.next) {
		return l.rebuildWith(seg, "the index knows more bytes than the log has", s.size)
	}
	return l.rebuildLocked(seg, "the index is missing, damaged or of another state of the log")
}

// readHeader reads the header of an index file.
func (l *Log) readHeader(base int64) (s stats, x *indexFile, err error) {
	f := newFile(l.home, base, indexSuffix)
	if err := f.acquire(); err != nil {
		return stats{}, nil, err
	}
	defer f.Release()
	defer func() {
		if err != nil {
			f.gone.Store(true) // nobody keeps this File: closed by Release
		}
	}()
	var b [indexHeaderSize]byte
	if _, err = f.ReadAt(b[:], 0); err != nil {
		return stats{}, nil, errDamaged
	}
	s, err = decodeIndexHeader(b[:], l.topic, base)
	if err != nil {
		return stats{}, nil, err
	}
	size, err := f.f.Size()
	if err != nil {
		return stats{}, nil, err
	}
	blocks := (size - indexHeaderSize) / indexBlockSize
	if (size-indexHeaderSize)%indexBlockSize != 0 || s.entries > blocks*indexBlockMax { // cut, or something behind it
		return stats{}, nil, errDamaged
	}
	return s, &indexFile{file: f, blocks: int(blocks)}, nil
}

// rebuild makes the index again after a lookup in stale met damage. A second
// caller finds it done.
func (l *Log) rebuild(seg *segment, stale *indexFile, why string) error {
	seg.loadMu.Lock()
	defer seg.loadMu.Unlock()
	l.mu.Lock()
	now := seg.idx
	l.mu.Unlock()
	if now != stale {
		return nil
	}
	if seg.file.gone.Load() {
		return errGone
	}
	return l.rebuildLocked(seg, why)
}

// rebuildLocked reads the headers of all batches that the index on disk
// covers, and replaces it. loadMu is held; the log is the truth, its headers
// are checked on the way, and what is no batch is gone round, so that readers
// of the others find them. If the new index cannot be written it is kept in
// memory.
func (l *Log) rebuildLocked(seg *segment, why string) error {
	return l.rebuildWith(seg, why, 0)
}

// rebuildWith is rebuildLocked for a segment that was had bytes long when it was closed
// (0: as long as it is). The index of one that was longer is the witness of what is gone, so
// it stays, and the new one is kept in memory.
func (l *Log) rebuildWith(seg *segment, why string, had int64) error {
	replace := had == 0
	l.mu.Lock()
	size := seg.size
	whole := seg != l.active() // else the newest entries are in memory
	tail := seg.tail
	if !whole && len(tail) > 0 {
		size = int64(tail[0].pos)
	}
	interval := int64(l.cfg.IndexIntervalBytes)
	old := seg.idx
	l.mu.Unlock()
	if !seg.unindexed {
		l.log.Warn("building the index again from the log", "file", seg.file.Path(), "bytes", size, "reason", why)
	}

	tmp := &segment{base: seg.base, maxTs: noIndexTimestamp, firstTs: noIndexTimestamp}
	end, err := l.indexBatches(seg, tmp, size, interval)
	if err != nil {
		return err
	}
	if whole {
		l.gapBehind(seg, end, had)
		tmp.sums = seg.sumsWith(tmp.lastEntry)
	}
	var x *indexFile
	if replace {
		made := tmp.stats()
		made.size, made.next = size, end
		x, err = l.replaceIndex(seg, old, tmp, made, whole)
		if err != nil {
			l.log.Warn("cannot write the index; it stays in memory", "file", seg.file.Path(), "error", err)
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if whole {
		seg.setStats(tmp.stats())
		seg.tail = nil
	}
	seg.idx = x
	if err != nil || !replace {
		seg.tail = append(tmp.tail, seg.tail...)
	}
	if whole {
		seg.known.Store(true)
	}
	return nil
}

// indexBatches gives tmp an entry for every interval bytes of the first size
// bytes of a segment.
func (l *Log) indexBatches(seg, tmp *segment, size, interval int64) (end int64, err error) {
	if err := seg.file.acquire(); err != nil {
		return 0, err
	}
	defer seg.file.Release()
	w := newWalk(seg.file, size)
	defer w.done()
	pos, expect := int64(0), seg.base
	before, low := pos, expect
	gap := interval // how far from the last entry the next one is at least
	var damage *DamageError
	for pos < size {
		h, err := w.header(pos)
		doubt := pos
		switch {
		case errors.Is(err, errEnd):
			err = corrupt(seg.file.Path(), pos, "%d bytes are less than a batch header", size-pos)
		case err == nil:
			if doubt, err = w.follows(before, pos, h, low, expect); err == nil {
				h, err = w.header(pos)
			}
		}
		if errors.Is(err, ErrCorrupt) {
			damage = &DamageError{File: seg.file.Path(), Position: pos, Offset: expect, Reason: err.Error()}
			if pos, err = l.goRound(w, pos, doubt, expect, err); err != nil {
				return 0, err
			}
			before, gap = pos, -1 // the next one gets an entry: the way there is blocked
			continue
		}
		if err != nil {
			return 0, err
		}
		if damage != nil { // the index does not know their times
			l.lose(expect, h.BaseOffset(), damage)
			damage = nil
		}
		tmp.index(uint32(h.BaseOffset()-seg.base), pos, indexTimestamp(h), h.CRC(), gap)
		before, low = pos, expect
		pos, expect, gap = pos+int64(h.Size()), h.LastOffset()+1, interval
	}
	return expect, nil
}

// replaceIndex writes a new index file over the old one.
func (l *Log) replaceIndex(seg *segment, old *indexFile, built *segment, s stats, header bool) (_ *indexFile, err error) {
	path := offsetPath(l.home.path, seg.base, indexSuffix)
	if old != nil {
		old.file.doom()
	}
	if err := l.home.fs.Remove(path); err != nil && !isNotExist(err) {
		return nil, err
	}
	x := &indexFile{file: newFile(l.home, seg.base, indexSuffix)}
	if err := x.file.acquireFlag(os.O_RDWR | os.O_CREATE | os.O_TRUNC); err != nil {
		return nil, err
	}
	defer func() {
		x.file.Release()
		if err != nil { // nobody keeps this File
			x.file.doom()
		}
	}()
	blocks, err := appendBlocks(x.file.f, 0, seg.base, built.tail)
	if err != nil {
		return nil, err
	}
	if header {
		if _, err := x.file.f.WriteAt(encodeIndexHeader(l.key(), seg.base, s), 0); err != nil {
			return nil, err
		}
	}
	return &indexFile{file: x.file, blocks: blocks}, nil
}
