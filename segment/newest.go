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

// newestNote is what is noted of one log.
type newestNote struct {
	segBase int64 // the newest segment with a file, -1 if none has one
	offset  int64 // no record has reached it
}

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
	return l.putNewest(newestNote{l.w.base, l.next + newestStep})
}

func (l *Log) putNewest(n newestNote) error {
	p := point{offset: n.offset, segBase: n.segBase, epoch: -1}
	if n == noNewest {
		p.flags = pointRemoved
	}
	if err := l.dir.newest.put([]pointKey{l.key()}, []point{p}); err != nil {
		return fmt.Errorf("note the newest segment: %w", err)
	}
	l.noted = n
	return nil
}

// noNewest is the note of a log none of whose segments has a file.
var noNewest = newestNote{segBase: -1}

// settleNewest makes the note true for a log that has these segments, before others are
// removed or after they were lost. Owner.
func (l *Log) settleNewest(segs []*segment) error {
	for _, s := range slices.Backward(segs) {
		if s.onDisk {
			if s.base == l.noted.segBase && l.end.Load() <= l.noted.offset {
				return nil
			}
			return l.putNewest(newestNote{s.base, max(l.noted.offset, l.end.Load())})
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
		l.noted = newestNote{p.segBase, p.offset}
	}
}

// newestLost tells whether the newest segment is gone, after a kill, from a log that ends at
// end: d says which, and no record had the offset next or one above it. What the recovery
// point at rp has passed is known without it.
func (r *recovery) newestLost(end, rp int64) (next int64, d *DamageError) {
	n := r.l.noted
	if !r.l.dir.sameBoot || n.segBase < end || n.offset <= rp {
		return 0, nil
	}
	if _, there := slices.BinarySearch(r.o.bases, n.segBase); there {
		return 0, nil
	}
	return n.offset, &DamageError{File: offsetPath(r.l.home.path, n.segBase, logSuffix), Offset: n.segBase,
		Reason: fmt.Sprintf("the file is missing; its records had offsets below %d", n.offset)}
}
