package segment

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"time"

	"ringmain/internal/vfs"
	"ringmain/record"
)

// CleanOptions are what a cleaning needs beside the log.
type CleanOptions struct {
	Config Config // the log's, whose own copy is its owner's
	Stable int64  // the last stable offset: nothing at or above it is touched
	NowMs  int64

	MapBytes    int64   // log.cleaner.dedupe.buffer.size, this thread's share
	MapLoad     float64 // log.cleaner.io.buffer.load.factor
	BufferBytes int     // log.cleaner.io.buffer.size, this thread's share

	// Pace is told of the bytes that are about to be read or written; it waits
	// as long as the throttle wants, and its error ends the cleaning.
	Pace func(bytes int) error
	// Replace has the log's owner call Log.Replace.
	Replace func(*Replacement) error
}

// Cleaned is what a cleaning did, also one that ended early.
type Cleaned struct {
	First, End   int64 // the part whose keys were collected, in offsets
	Keys         int
	ReadBytes    int64
	WrittenBytes int64
	BytesBefore  int64 // of the segments that were replaced
	BytesAfter   int64 // of those that replaced them
	Segments     int   // replaced
}

// minBuffer is the least that a cleaning reads and writes at once.
const minBuffer = 64 << 10

// cleaning is one pass of compaction over a log: it collects the newest offset
// of each key of the part that no pass has seen, then writes every segment up
// to the end of that part anew without the records that a newer one of the
// same key makes superfluous. One goroutine, none of the log's.
type cleaning struct {
	l      *Log
	o      CleanOptions
	segs   []*segment // closed, from the first live one on
	first  int64
	end    int64 // nothing at or above it is touched; falls to where the map was full
	in     batchReader
	out    []byte
	result Cleaned
}

// Clean compacts the log, one pass over what Cleanable names. It reads and
// writes on the caller's goroutine, which must not be the owner's; the owner is
// asked for each replacement. Records keep their offsets. An error leaves every
// segment as it was or replaced whole. One at a time for each log.
func (l *Log) Clean(o CleanOptions) (Cleaned, error) {
	if !l.cleaning.CompareAndSwap(false, true) {
		return Cleaned{}, fmt.Errorf("clean %s: it is being cleaned already", l.tp)
	}
	defer l.cleaning.Store(false)
	c := &cleaning{l: l, o: o}
	c.in.pace = c.reading
	err := l.settleReplacements()
	if err == nil {
		err = c.run()
	}
	if errors.Is(err, errGone) { // retention has taken a segment between two looks at it
		err = superseded(err)
	}
	if err != nil && l.closed.Load() {
		err = ErrClosed
	}
	return c.result, err
}

func (c *cleaning) reading(n int) error {
	c.result.ReadBytes += int64(n)
	return c.o.Pace(n)
}

func (c *cleaning) writing(n int) error {
	c.result.WrittenBytes += int64(n)
	return c.o.Pace(n)
}

func (c *cleaning) run() error {
	l := c.l
	what, err := l.Cleanable(c.o.Config, c.o.Stable, c.o.NowMs)
	if err != nil || what.First >= what.End {
		return err
	}
	c.first, c.end = what.First, what.End
	start := l.start.Load()
	all := l.segmentList()
	for _, s := range all[:len(all)-1] {
		if s.next > start && s.next <= c.end {
			c.segs = append(c.segs, s)
		}
	}
	for _, s := range c.segs { // is it the one it was, and does it end where the next begins?
		if err := l.load(s); err != nil {
			return superseded(err)
		}
	}
	producers := l.producers.lastWrites(c.end)
	buffer := max(c.o.BufferBytes/2, minBuffer)
	c.in.buf, c.out = make([]byte, buffer), make([]byte, 0, buffer)

	txns, err := c.findTransactions()
	if err != nil {
		return err
	}
	if c.end = min(c.end, txns.firstOpen()); c.first >= c.end {
		return nil
	}
	keys := newOffsetMap(c.o.MapBytes, c.o.MapLoad, c.end-c.first)
	if err := c.collect(keys, &txns); err != nil {
		return err
	}
	c.result.First, c.result.End, c.result.Keys = c.first, c.end, keys.used
	for len(c.segs) > 0 && c.segs[len(c.segs)-1].base >= c.end {
		c.segs = c.segs[:len(c.segs)-1]
	}
	if len(c.segs) == 0 {
		return nil
	}
	if err := l.savePoint(c.segs[len(c.segs)-1].next); err != nil {
		return err
	}
	s := newSieve(keys, c.end, txns, producers, c.o.NowMs, c.o.Config.DeleteRetentionMs)
	for _, g := range groupSegments(c.segs, int64(c.o.Config.SegmentBytes), l.lostBefore) {
		if err := c.cleanGroup(g, s); err != nil {
			return err
		}
	}
	return l.saveCleaned(c.end)
}

// findTransactions reads the headers of the part that no pass has seen. What
// lies before has no aborted records left: a pass ends before the first
// transaction without a marker.
func (c *cleaning) findTransactions() (transactions, error) {
	var t transactions
	for _, seg := range c.segs {
		if seg.next <= c.first || seg.size == 0 {
			continue
		}
		pos, found, err := c.l.locate(seg, seg.size, c.first)
		if err != nil {
			return t, err
		}
		if !found {
			continue
		}
		err = c.l.batches(seg, pos, c.end, func(w *walk, pos int64, h record.Batch) (bool, error) {
			if err := c.reading(min(h.Size(), walkWindow)); err != nil { // small batches are read whole
				return false, err
			}
			switch {
			case h.Control():
				b, err := w.whole(pos, h)
				if err != nil {
					return false, err
				}
				m, ok, err := record.MarkerOf(b)
				if ok && (m == record.Abort || m == record.Commit) {
					t.marker(b, m)
				}
				return err == nil, err
			case h.Transactional():
				t.data(h)
			}
			return true, nil
		})
		if err != nil {
			return t, err
		}
	}
	return t, nil
}

// collect fills the map with the keys from first on. Where it is full, the pass
// ends for now: the rest is left to the next.
func (c *cleaning) collect(keys *offsetMap, txns *transactions) error {
	for _, seg := range c.segs {
		if seg.next <= c.first || seg.base >= c.end || seg.size == 0 {
			continue
		}
		pos, found, err := c.l.locate(seg, seg.size, c.first)
		if err != nil {
			return err
		}
		if !found {
			continue
		}
		full, err := c.collectFrom(seg, pos, keys, txns)
		if full || err != nil {
			return err
		}
	}
	return nil
}

func (c *cleaning) collectFrom(seg *segment, pos int64, keys *offsetMap, txns *transactions) (full bool, err error) {
	if err := seg.file.acquire(); err != nil {
		return false, superseded(err)
	}
	defer seg.file.Release()
	c.in.open(seg.file, pos, seg.size)
	for {
		b, err := c.in.next()
		if errors.Is(err, io.EOF) || err == nil && b.BaseOffset() >= c.end {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		if b.Control() || b.Count() == 0 || txns.isAborted(b) {
			continue
		}
		if full, err := c.collectBatch(b, keys); full || err != nil {
			return full, err
		}
	}
}

func (c *cleaning) collectBatch(b record.Batch, keys *offsetMap) (full bool, err error) {
	err = record.Each(b, func(rec record.Record) (bool, error) {
		if rec.Offset >= c.first && rec.Key != nil && !keys.put(rec.Key, rec.Offset) {
			c.end, full = rec.Offset, true
		}
		return !full, nil
	})
	return full, err
}

// superseded says that a segment was removed while it was looked at.
func superseded(err error) error {
	if errors.Is(err, errGone) || isNotExist(err) {
		return fmt.Errorf("%w: %w", ErrSuperseded, err)
	}
	return err
}

// groupSegments joins neighbours that together are no larger than a segment may
// be, so that a log that shrinks does not become one of many small files. Lost offsets
// stay between two segments, where readers are told of them.
func groupSegments(segs []*segment, segmentBytes int64, lostBefore func(base int64) bool) [][]*segment {
	var groups [][]*segment
	size := int64(0)
	for i, s := range segs {
		if s.size == 0 {
			continue
		}
		n := len(groups) - 1
		if n < 0 || size+s.size > segmentBytes || segs[i-1].next != s.base || segs[i-1].size == 0 || lostBefore(s.base) ||
			s.next-groups[n][0].base > math.MaxInt32 {
			groups, size = append(groups, nil), 0
			n++
		}
		groups[n] = append(groups[n], s)
		size += s.size
	}
	return groups
}

// cleanGroup writes a group of segments as one and has it take their place.
func (c *cleaning) cleanGroup(group []*segment, s *sieve) error {
	l := c.l
	w, err := newCleanedFile(l, group[0].base, c.out, c.writing)
	if err != nil {
		return err
	}
	changed := len(group) > 1
	before := int64(0)
	for i, seg := range group {
		before += seg.size
		differs, err := c.sieveSegment(seg, s, w, i == len(group)-1)
		if err != nil {
			w.discard()
			return err
		}
		changed = changed || differs
	}
	c.out = w.out
	if !changed {
		w.discard()
		return nil
	}
	seg, err := w.finish()
	if err != nil {
		w.discard()
		return err
	}
	r := &Replacement{replacement: replacement{l.topic, seg.base, group[len(group)-1].next, seg.size, w.crc}, old: group, seg: seg}
	if err := c.replace(r); err != nil {
		return err
	}
	c.result.Segments += len(group)
	c.result.BytesBefore += before
	c.result.BytesAfter += seg.size
	return nil
}

// sieveSegment adds what is left of a segment to w, and tells whether that is
// less than everything.
func (c *cleaning) sieveSegment(seg *segment, s *sieve, w *cleanedFile, lastOfGroup bool) (differs bool, err error) {
	if err := seg.file.acquire(); err != nil {
		return false, superseded(err)
	}
	defer seg.file.Release()
	c.in.open(seg.file, 0, seg.size)
	for {
		b, err := c.in.next()
		if errors.Is(err, io.EOF) {
			return differs, nil
		}
		if err != nil {
			return false, err
		}
		left, err := s.pass(b, lastOfGroup && c.in.atEnd())
		if err != nil {
			return false, fmt.Errorf("clean the batch at offset %d of %s: %w", b.BaseOffset(), seg.file.Path(), err)
		}
		differs = differs || len(left) != len(b) || left.CRC() != b.CRC()
		if left == nil {
			continue
		}
		if err := w.add(left, int64(c.o.Config.IndexIntervalBytes)); err != nil {
			return false, err
		}
	}
}

// replace has a cleaned segment take its place, in steps of which a restart can
// end each (docs/format/swap.md).
func (c *cleaning) replace(r *Replacement) error {
	l := c.l
	old := r.old[0].file
	replaced, err := l.openOld(old)
	if err != nil {
		l.removeCleaned(r.base)
		return superseded(err)
	}
	err = l.announce(r)
	for err == nil {
		if err = c.o.Replace(r); !errors.Is(err, errBusy) {
			break
		}
		time.Sleep(5 * time.Millisecond)
		err = c.o.Pace(0)
	}
	if !r.done.Load() {
		if err == nil {
			err = errors.New("the segment was not replaced")
		}
		err = errors.Join(err, l.retract(r), replaced.Close())
		l.removeCleaned(r.base)
		return err
	}
	if err := errors.Join(err, l.settleReplacements(r.replacement)); err != nil {
		return errors.Join(err, replaced.Close())
	}
	l.dir.reaper.removeReplaced(replaced, []*File{old})
	return nil
}

// openOld gives a descriptor of a segment's file by which it can be freed in steps, after the
// cleaned one has taken its name.
func (l *Log) openOld(old *File) (vfs.File, error) {
	l.home.names.Lock()
	defer l.home.names.Unlock()
	if l.closed.Load() {
		return nil, ErrClosed
	}
	return l.home.fs.OpenFile(old.Path(), os.O_RDWR)
}

// savePoint makes a recovery point durable that lies beyond the segments that
// will be replaced: one inside of them names a position that is about to lose
// its meaning. So it does with the producer state at the beginning of the
// segment of that point, which recovery then reads instead of the batches that
// a cleaning thins out.
func (l *Log) savePoint(end int64) error {
	d := l.dir
	d.saving.Lock()
	defer d.saving.Unlock()
	if l.closed.Load() {
		return ErrClosed
	}
	l.mu.Lock()
	p := l.point
	l.mu.Unlock()
	if p.segBase < end {
		return ErrSuperseded
	}
	if err := l.syncSnapshot(p.segBase); err != nil {
		return err
	}
	if err := d.points.put([]pointKey{l.key()}, []point{p}); err != nil {
		return err
	}
	if err := d.points.sync(); err != nil {
		return err
	}
	l.mu.Lock()
	l.savedPoint = p
	l.mu.Unlock()
	return nil
}

// syncSnapshot makes the bytes of a producer snapshot durable, if it is there;
// its name becomes durable with that of the cleaned segment.
func (l *Log) syncSnapshot(offset int64) error {
	f, err := l.home.fs.OpenFile(offsetPath(l.home.path, offset, snapshotSuffix), os.O_RDWR)
	if isNotExist(err) {
		return nil
	}
	if err == nil {
		err = errors.Join(f.SyncData(), f.Close())
	}
	if err != nil {
		return fmt.Errorf("sync producer snapshot: %w", err)
	}
	return nil
}

// saveCleaned notes how far passes have come. If it is lost, a later pass reads
// more than it needs to.
func (l *Log) saveCleaned(offset int64) error {
	if err := l.putCleaned(offset); err != nil {
		return err
	}
	return l.dir.cleaned.sync()
}

func (l *Log) putCleaned(offset int64) error {
	l.dir.saving.Lock()
	defer l.dir.saving.Unlock()
	if l.closed.Load() {
		return ErrClosed
	}
	return l.dir.cleaned.put([]pointKey{l.key()}, []point{{offset: offset, epoch: -1}})
}

// lastWrites is, for every live producer, its last batch below an offset that no
// power cut can take back. A newer batch above it may be lost, and then this one
// is the last.
func (t *producerTable) lastWrites(below int64) map[int64]lastWrite {
	t.mu.Lock()
	defer t.mu.Unlock()
	out := make(map[int64]lastWrite, len(t.byID))
	for id, p := range t.byID {
		w := lastWrite{offset: -1, epoch: p.epoch, marked: p.n == 0}
		for _, m := range p.batches[:p.n] {
			if m.LastOffset < below {
				w.offset = m.LastOffset
			}
		}
		out[id] = w
	}
	return out
}
