package segment

import (
	"fmt"
	"slices"
)

// lostSpan is offsets that were in the log and whose records are gone, with the
// file they were in. A read there is refused: to go on behind it without a word
// would hide the loss. `ringmain log repair` accepts it.
type lostSpan struct {
	from, to int64 // to is not lost
	damage   *DamageError
}

// lose takes a span up, once. The caller has logged it. mu is not held.
func (l *Log) lose(from, to int64, damage *DamageError) {
	if from >= to {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range l.lost {
		if s.from == from && s.to == to {
			return
		}
	}
	l.lost = append(l.lost, lostSpan{from, to, damage})
}

// gapBehind looks at where the last batch of a closed segment ends: the next one begins
// there, or records are gone. Inside of a segment compaction leaves gaps, at its end it does
// not. had is the size that the file once had, 0 if nobody knows.
func (l *Log) gapBehind(seg *segment, end, had int64) {
	l.mu.Lock()
	from, to := max(end, l.start.Load()), seg.next
	known := l.lostAt(from) != nil
	l.mu.Unlock()
	if known {
		return
	}
	d := &DamageError{File: seg.file.Path(), Position: seg.size, Offset: end,
		Reason: fmt.Sprintf("the file ends before offset %d, the next one begins at %d", end, to)}
	if had > 0 {
		d.Reason = fmt.Sprintf("the file has %d bytes, it had %d", seg.size, had)
	}
	l.gap(from, to, d)
}

// gap refuses reads of offsets between two segments.
func (l *Log) gap(from, to int64, d *DamageError) {
	if from >= to {
		return
	}
	l.log.Error("records are missing at the end of a segment; reads of their offsets are refused",
		"file", d.File, "position", d.Position, "lost_from", from, "lost_to", to, "reason", d.Reason)
	l.lose(from, to, d)
}

// lostBefore reports whether the offsets right before a segment are lost.
func (l *Log) lostBefore(base int64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.ContainsFunc(l.lost, func(s lostSpan) bool { return s.to == base })
}

// lostAt is the damage that took the record at offset, or nil. mu is held.
func (l *Log) lostAt(offset int64) error {
	for i := range l.lost {
		if s := &l.lost[i]; s.from <= offset && offset < s.to {
			return s.damage
		}
	}
	return nil
}

// lostWithin is the damage that took records between two offsets, to not included, or nil.
func (l *Log) lostWithin(from, to int64) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range l.lost {
		if s := &l.lost[i]; s.from < to && from < s.to {
			return s.damage
		}
	}
	return nil
}

// missing looks for segments that are gone: an index without its log, between
// two segments of which the first ends where the index begins, and a log that begins
// above its start. Whoever removes a segment removes its index first, and raises the log
// start before that. What only a gap tells of is found when it is read (gapBehind). Once,
// at the open.
func (l *Log) missing(o onDisk) {
	logStart := int64(0)
	if st, ok := l.dir.starts.get(l.key()); ok {
		logStart = st.offset
	}
	if len(o.bases) > 0 && o.bases[0] > logStart {
		l.log.Error("the first segments are missing, or the note of the log start is; the log begins behind them",
			"file", offsetPath(l.home.path, o.bases[0], logSuffix), "lost_from", logStart, "lost_to", o.bases[0])
	}
	for _, base := range o.indexes {
		if _, there := slices.BinarySearch(o.bases, base); there || base < logStart {
			continue
		}
		i := segmentOf(l.segs, base)
		if i < 0 || l.segs[i].base == base || i+1 >= len(l.segs) { // said above, the one being written, or beyond the end
			continue
		}
		before, x, err := l.readHeader(l.segs[i].base)
		if err != nil {
			continue
		}
		if x.file.doom(); before.next > base {
			continue // its offsets are in the segment before
		}
		if l.leadsTo(l.segs[i], l.segs[i+1].base) {
			continue // both indexes are of another time: a power cut brings them back
		}
		d := &DamageError{File: offsetPath(l.home.path, base, logSuffix), Offset: base, Reason: "the file is missing"}
		to := l.segs[i+1].base
		l.log.Error("a segment is missing; reads of its offsets are refused", "file", d.File, "lost_from", base, "lost_to", to)
		l.lose(base, to, d)
	}
}
