package segment

import "slices"

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

// lostAt is the damage that took the record at offset, or nil. mu is held.
func (l *Log) lostAt(offset int64) error {
	for i := range l.lost {
		if s := &l.lost[i]; s.from <= offset && offset < s.to {
			return s.damage
		}
	}
	return nil
}

// missing looks for segments that are gone: an index without its log, between
// two segments of which the first ends where the index begins. Whoever removes
// a segment removes its index first. Once, at the open.
func (l *Log) missing(o onDisk) {
	logStart := int64(0)
	if st, ok := l.dir.starts.get(l.key()); ok {
		logStart = st.offset
	}
	for _, base := range o.indexes {
		if _, there := slices.BinarySearch(o.bases, base); there || base < logStart {
			continue
		}
		i := segmentOf(l.segs, base)
		if i >= 0 && l.segs[i].base == base || i+1 >= len(l.segs) { // the one being written, or beyond the end
			continue
		}
		if i >= 0 {
			before, _, err := l.readHeader(l.segs[i].base)
			if err != nil || before.next > base {
				continue // its offsets are in the segment before
			}
			if l.leadsTo(l.segs[i], l.segs[i+1].base) {
				continue // both indexes are of another time: a power cut brings them back
			}
		}
		d := &DamageError{File: offsetPath(l.home.path, base, logSuffix), Offset: base, Reason: "the file is missing"}
		to := l.segs[i+1].base
		l.log.Error("a segment is missing; reads of its offsets are refused", "file", d.File, "lost_from", base, "lost_to", to)
		l.lose(base, to, d)
	}
}
