package segment

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"ringmain/internal/vfs"
	"ringmain/model"
)

const (
	replacementMagic   = "RMRP"
	replacementVersion = 1
	replacementSize    = 16 + 8 + 8 + 8 + 4
)

// ErrSuperseded: the segments that were cleaned are not those of the log any
// more (retention, truncation); the cleaning counts for nothing.
var ErrSuperseded = errors.New("the segments changed while they were cleaned")

// errNamesUnsure: the sync of a directory failed, so which of its names are on
// disk is not known.
var errNamesUnsure = errors.New("names in the partition's directory may not be on disk")

// errBusy: somebody builds an index of one of the segments; try again.
var errBusy = errors.New("an index is being built")

// replacement is what a note BASE.swap says: the segments from base up to end
// are replaced by one whose bytes have this size and checksum. See
// docs/format/swap.md.
type replacement struct {
	topic     model.TopicID
	base, end int64
	size      int64
	crc       uint32
}

func (r replacement) encode() []byte {
	b := append([]byte(nil), r.topic[:]...)
	for _, v := range []int64{r.base, r.end, r.size} {
		b = binary.LittleEndian.AppendUint64(b, uint64(v))
	}
	return sealEnvelope(replacementMagic, replacementVersion, binary.LittleEndian.AppendUint32(b, r.crc))
}

func decodeReplacement(file []byte) (r replacement, err error) {
	b, err := openEnvelope(file, replacementMagic, replacementVersion)
	if err != nil {
		return r, err
	}
	if len(b) != replacementSize {
		return r, errDamaged
	}
	r.topic = model.TopicID(b[:16])
	r.base = int64(binary.LittleEndian.Uint64(b[16:]))
	r.end = int64(binary.LittleEndian.Uint64(b[24:]))
	r.size = int64(binary.LittleEndian.Uint64(b[32:]))
	r.crc = binary.LittleEndian.Uint32(b[40:])
	return r, nil
}

// Replacement is a cleaned segment that is to take the place of old ones.
type Replacement struct {
	replacement
	old  []*segment
	seg  *segment
	done atomic.Bool // its file has its name
}

// announce writes the note: from now on a restart ends what was begun.
func (l *Log) announce(r *Replacement) error {
	l.home.names.Lock()
	defer l.home.names.Unlock()
	if l.closed.Load() {
		return ErrClosed
	}
	return vfs.WriteFile(l.home.fs, offsetPath(l.home.path, r.base, swapSuffix), r.encode(), true)
}

// retract takes the note of a replacement back that did not take place.
func (l *Log) retract(r *Replacement) error {
	l.home.names.Lock()
	defer l.home.names.Unlock()
	if l.closed.Load() {
		return nil
	}
	err := l.home.fs.Remove(offsetPath(l.home.path, r.base, swapSuffix))
	if isNotExist(err) {
		err = nil
	}
	return errors.Join(err, l.home.fs.SyncDir(l.home.path))
}

// Replace puts a cleaned segment in the place of the old ones, on disk and for
// readers; those that hold ranges or are looking for one keep the old files.
// It renames and waits for nothing. Owner.
func (l *Log) Replace(r *Replacement) error {
	if err := l.Err(); err != nil {
		return err
	}
	n := len(r.old)
	i := slices.Index(l.segs, r.old[0])
	if i < 0 || i+n >= len(l.segs) || !slices.Equal(l.segs[i:i+n], r.old) {
		return ErrSuperseded
	}
	for _, s := range r.old {
		if slices.Contains(l.dirty, s) || slices.Contains(l.inflight, s) {
			return ErrSuperseded
		}
	}
	// Nobody may open a file by a name that changes its meaning: what is looked
	// into stays open, and indexes are neither loaded nor built.
	for k, s := range r.old {
		if !s.loadMu.TryLock() {
			for _, locked := range r.old[:k] {
				locked.loadMu.Unlock()
			}
			return errBusy
		}
	}
	defer func() {
		for _, s := range r.old {
			s.loadMu.Unlock()
		}
	}()
	held := []*File{r.old[0].file}
	if x := r.old[0].idx; x != nil {
		held = append(held, x.file)
	}
	for k, f := range held {
		if err := f.acquire(); err != nil && !(k > 0 && isNotExist(err)) {
			for _, g := range held[:k] {
				g.Release()
			}
			return err
		} else if err != nil {
			held = held[:k]
		}
	}
	defer func() {
		for _, f := range held {
			f.Release()
		}
	}()
	if err := l.rename(r); err != nil {
		return err
	}
	before := int64(0)
	for _, s := range r.old {
		before += s.size
	}
	l.mu.Lock()
	l.segs = slices.Concat(l.segs[:i:i], []*segment{r.seg}, l.segs[i+n:])
	l.bytes.Add(r.seg.size - before)
	l.mu.Unlock()
	for _, s := range r.old {
		s.file.doomVoid() // what is left of it was synced in the new one
		if s.idx != nil {
			s.idx.file.doom()
		}
	}
	return nil
}

// rename gives the cleaned files their names. The old index goes first: beside
// the new log it would be believed if the sizes happened to agree.
func (l *Log) rename(r *Replacement) error {
	fsys := l.home.fs
	index := offsetPath(l.home.path, r.base, indexSuffix)
	if err := fsys.Remove(index); err != nil && !isNotExist(err) {
		return fmt.Errorf("remove old index: %w", err)
	}
	if err := fsys.Rename(cleanedPath(l.home, r.base, logSuffix), offsetPath(l.home.path, r.base, logSuffix)); err != nil {
		return fmt.Errorf("put cleaned segment in place: %w", err)
	}
	r.done.Store(true)
	if r.seg.idx == nil {
		return nil
	}
	if err := fsys.Rename(cleanedPath(l.home, r.base, indexSuffix), index); err != nil {
		l.log.Warn("cannot put the index of a cleaned segment in place; it is made again when needed", "file", index, "error", err)
		r.seg.idx = nil
		r.seg.known.Store(false)
	}
	return nil
}

// settle ends the replacements that took place: r, and those before it of which
// the disk refused a part. None may be left when a note is written again or the
// log is truncated. Any goroutine.
func (l *Log) settleReplacements(r ...replacement) error {
	l.home.names.Lock()
	defer l.home.names.Unlock()
	l.unsettled = append(l.unsettled, r...)
	for len(l.unsettled) > 0 {
		if l.closed.Load() {
			return ErrClosed // the next start goes on here
		}
		err := l.finishReplacement(l.unsettled[0])
		if errors.Is(err, errNamesUnsure) {
			return l.fail(err) // a second sync would be believed, and files removed
		}
		if err != nil {
			return err
		}
		l.unsettled = l.unsettled[1:]
	}
	return nil
}

// finishReplacement is the part that a restart may have to do again. Each step
// is durable before the next: a note must not go before the files it speaks of,
// and these not before the segment that has their records. The old segments get names
// that are no segment's, and are removed in steps.
func (l *Log) finishReplacement(r replacement) error {
	h := l.home
	if err := h.fs.SyncDir(h.path); err != nil {
		return fmt.Errorf("%w: make the name of a cleaned segment durable: %w", errNamesUnsure, err)
	}
	es, err := h.fs.ReadDir(h.path)
	if err != nil {
		return fmt.Errorf("read partition directory: %w", err)
	}
	removed := false
	for _, e := range es {
		var err error
		if o, ok := parseOffsetName(e.Name, indexSuffix); ok && o > r.base && o < r.end {
			err = h.fs.Remove(offsetPath(h.path, o, indexSuffix))
		} else if o, ok := parseOffsetName(e.Name, logSuffix); ok && o > r.base && o < r.end {
			err = l.dir.removeLog(h.path, o)
		} else {
			continue
		}
		if err != nil && !isNotExist(err) {
			return fmt.Errorf("remove replaced segment: %w", err)
		}
		removed = true
	}
	if removed {
		if err := h.fs.SyncDir(h.path); err != nil {
			return fmt.Errorf("%w: remove replaced segments: %w", errNamesUnsure, err)
		}
	}
	if err := h.fs.Remove(offsetPath(h.path, r.base, swapSuffix)); err != nil && !isNotExist(err) {
		return fmt.Errorf("remove replacement note: %w", err)
	}
	return nil
}
