package segment

import (
	"fmt"
	"path/filepath"
	"slices"
)

// Nothing that a log's other files say tells, after a kill, that its newest segment is gone:
// a log that ends with the segment before it looks the same. So each log notes which segment
// is the newest that has a file, and an offset that no record has reached yet. The note is
// written with the first batch of a segment, and whenever the log comes to that offset; it
// is never synced, since after a power cut the newest segment may be lost by right.

// newestStep is how many offsets lie between two notes in one segment, at most as many are
// passed over when the newest segment is lost.
const newestStep = 1 << 16

// openNewest opens the checkpoint of the notes. After a power cut it counts for nothing, and
// may be torn anywhere.
func (d *Dir) openNewest() (err error) {
	path := filepath.Join(d.path, newestName)
	if d.powerCut() {
		if err := d.fs.Remove(path); err != nil && !isNotExist(err) {
			return fmt.Errorf("remove the notes of a run that a power cut ended: %w", err)
		}
	}
	d.newest, err = openCheckpoint(d.fs, path, 4, d.log)
	return err
}

// noteNewest writes the note if what was just written made it untrue. It comes before
// anybody is told of the batches. Owner.
func (l *Log) noteNewest() error {
	if l.w.base == l.noted.segBase && l.next <= l.noted.offset {
		return nil
	}
	return l.putNewest(point{offset: l.next + newestStep, segBase: l.w.base, epoch: -1})
}

func (l *Log) putNewest(p point) error {
	if err := l.dir.newest.put([]pointKey{l.key()}, []point{p}); err != nil {
		return fmt.Errorf("note the newest segment: %w", err)
	}
	l.noted = p
	return nil
}

// noNewest is the note of a log none of whose segments has a file.
var noNewest = point{segBase: -1, epoch: -1, flags: pointRemoved}

// settleNewest makes the note true for a log that has these segments, before others are
// removed or after they were lost. Owner.
func (l *Log) settleNewest(segs []*segment) error {
	for _, s := range slices.Backward(segs) {
		if s.onDisk {
			if s.base == l.noted.segBase && l.end.Load() <= l.noted.offset {
				return nil
			}
			return l.putNewest(point{offset: max(l.noted.offset, l.end.Load()), segBase: s.base, epoch: -1})
		}
	}
	if l.noted.segBase < 0 {
		return nil
	}
	return l.putNewest(noNewest)
}

// settleNewest makes the note true for what was recovered. On a full disk it is left to the
// first append: a log that cannot note anything has to open, so that it can be freed.
func (r *recovery) settleNewest() error {
	l := r.l
	err := l.settleNewest(l.segs)
	if !transient(err) {
		return err
	}
	l.log.Warn("cannot note the newest segment; that it is missing after a kill would not be noticed", "directory", l.home.path, "error", err)
	return nil
}

// loadNewest reads the note.
func (l *Log) loadNewest() {
	l.noted = noNewest
	if p, ok := l.dir.newest.get(l.key()); ok {
		l.noted = p
	}
}

// newestLost tells whether the newest segment is gone, after a kill, from a log that ends at
// end: d says which, and no record had the offset next or one above it. What the recovery
// point at rp has passed is known without it.
func (r *recovery) newestLost(end, rp int64) (next int64, d *DamageError) {
	p := r.l.noted
	if !r.l.dir.sameBoot || p.segBase < end || p.offset <= rp {
		return 0, nil
	}
	if _, there := slices.BinarySearch(r.o.bases, p.segBase); there {
		return 0, nil
	}
	return p.offset, &DamageError{File: offsetPath(r.l.home.path, p.segBase, logSuffix), Offset: p.segBase,
		Reason: fmt.Sprintf("the file is missing; its records had offsets below %d", p.offset)}
}
