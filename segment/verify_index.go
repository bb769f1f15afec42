package segment

import (
	"bytes"
	"fmt"
	"slices"

	"ringmain/internal/vfs"
)

// indexesOf compares the index of each segment with its batches.
func (x *examined) indexesOf() error {
	for i, s := range x.segs {
		if why := x.unmarked(s); why != "" {
			x.strange(s, why, x.next(i))
			continue
		}
		file := x.path(offsetName(s.base, indexSuffix))
		b, err := vfs.ReadFile(x.v.fs, file)
		last := i == len(x.segs)-1
		if isNotExist(err) {
			if !last && s.size > 0 { // that of the last is written when it is closed
				x.indexFix(s, Finding{File: file, Position: -1, Reason: "the file is missing", Harmless: x.unsealed(s)})
			}
			continue
		}
		if err != nil {
			return err
		}
		x.index(i, file, b, last)
	}
	return nil
}

// unsealed tells that the last process may have ended before it wrote the index of a closed
// segment, which it does when the next one has its first batches, and before the recovery
// point passes. The next start writes it.
func (x *examined) unsealed(s *scanned) bool {
	rp, known := x.v.points[x.key()]
	return !x.v.clean && len(s.bad) == 0 && (!known || s.base >= rp.segBase)
}

// indexFix has an index made again from its segment.
func (x *examined) indexFix(s *scanned, f Finding) {
	f.Repair = "make it again from the batches"
	if f.Position >= 0 {
		f.Repair = "set it aside and make it again from the batches"
	}
	fix := func() error { return x.makeIndex(s) }
	if len(s.bad) > 0 {
		fix = nil // takeOut makes it
	}
	x.v.fix(f, fix)
}

func (x *examined) index(i int, file string, b []byte, last bool) {
	s := x.segs[i]
	sealed := len(b) >= indexHeaderSize && len(bytes.TrimLeft(b[:indexHeaderSize], "\x00")) > 0
	harmless := !x.v.clean && !x.v.killed || !sealed && x.unsealed(s) // none is synced
	at := func(pos int, format string, args ...any) {
		x.indexFix(s, Finding{File: file, Position: int64(pos), Bytes: int64(len(b)), Reason: fmt.Sprintf(format, args...), Harmless: harmless})
	}
	if len(b) < indexHeaderSize {
		at(0, "%d bytes are less than a header", len(b))
		return
	}
	var head stats
	if sealed {
		var err error
		if head, err = decodeIndexHeader(b[:indexHeaderSize], x.topic, s.base); err != nil {
			at(0, "the header is damaged, or of another topic, segment or version")
			return
		}
		switch why, ours := x.identify(s, head); {
		case why != "":
			x.strange(s, why, max(x.next(i), head.next))
			return
		case !ours:
			at(0, "the header is of partition %d, or of another time, and knows other batches", head.partition)
			return
		}
	} else if !last || x.v.clean && s.size > 0 {
		at(0, "the header is empty, and the segment is closed")
		return
	}
	rp, known := x.v.points[x.key()]
	if last && x.v.clean && known && rp.segBase == s.base && rp.pos == head.size && rp.offset == head.next && s.size > head.size {
		s.endAt(head.size, head.next)
	}
	// The blocks first: they tell a damaged index from a log that was changed.
	wrong, wrongAt, entries := "", 0, 0
	short := false // which says nothing of the log
	for p := indexHeaderSize; p < len(b) && wrong == ""; p += indexBlockSize {
		if p+indexBlockSize > len(b) {
			wrong, wrongAt, short = fmt.Sprintf("a block of %d bytes", len(b)-p), p, true
			break
		}
		n, err := checkIndexBlock(b[p:p+indexBlockSize], s.base)
		if err != nil {
			at(p, "a block is damaged: %v", err)
			return
		}
		for k := range n {
			e := blockEntry(b[p:], k)
			entries++
			if int64(e.pos) >= s.size || s.inBad(int64(e.pos)) {
				continue // gone with what the log has lost
			}
			batch, ok := s.at(int64(e.pos))
			if !ok || batch.base != s.base+int64(e.rel) || len(s.bad) == 0 && batch.maxTs != e.maxTs {
				wrong, wrongAt = fmt.Sprintf("an entry says that offset %d begins at byte %d of the log and that times before it go up to %d, which is not so", s.base+int64(e.rel), e.pos, e.maxTs), p+k*indexEntrySize
				break
			}
		}
	}
	closed := !last || x.rolled() || !known || rp.offset <= s.end // nothing else knows that it was longer
	old := sealed && last && head.size < s.size && !x.v.clean     // it went on after its index was closed
	full := x.whole(i, head)
	switch {
	case !sealed && wrong == "", old && wrong == "":
	case sealed && len(s.batches) > 0 && !full && x.believes(s, head.size-1) && (wrong != "" && !short || head.firstTs != s.stats.firstTs && !s.inBad(0)):
		why := wrong
		if why == "" || short {
			why = fmt.Sprintf("the first batch is of time %d, the index says %d", s.stats.firstTs, head.firstTs)
		}
		x.strange(s, "the file is not the one its index was made from, and may be another partition's: "+why, max(head.next, x.next(i)))
	case wrong != "":
		at(wrongAt, "%s", wrong)
	case sealed && head.size > s.size && head.next > s.end && len(s.bad) == 0 && closed:
		x.moved = true
		x.v.fix(Finding{File: s.file.Path(), Position: s.size, From: s.end, To: head.next,
			Reason: fmt.Sprintf("the file has %d bytes, it had %d", s.size, head.size),
			Repair: "set its index aside and make it again; the offsets stay unused"}, func() error { return x.makeIndex(s) })
	case sealed && len(s.bad) == 0 && (head.size != s.size || head.next != s.end || head.maxTs != s.stats.maxTs || head.firstTs != s.stats.firstTs):
		if last && head.size > s.size { // point says what is lost
			x.v.fixes = append(x.v.fixes, func() error { return x.makeIndex(s) })
			return
		}
		at(0, "the header says %d bytes, next offset %d, times %d to %d; the log has %d, %d, %d to %d",
			head.size, head.next, head.firstTs, head.maxTs, s.size, s.end, s.stats.firstTs, s.stats.maxTs)
	}
}

// whole tells that a .log file fits what lies around it, so that an index which
// does not fit it is the one that is wrong.
func (x *examined) whole(i int, head stats) bool {
	s := x.segs[i]
	if len(s.bad) > 0 {
		return false
	}
	if i+1 < len(x.segs) {
		return s.end == x.segs[i+1].base
	}
	rp, known := x.v.points[x.key()]
	if !known || rp.segBase != s.base {
		return s.end == head.next
	}
	return s.size >= rp.pos && s.end >= rp.offset && (!x.v.clean || s.size == rp.pos)
}

// endAt says that a clean stop closed the segment at a position, and that what lies behind
// it was put there since.
func (s *scanned) endAt(pos, next int64) {
	for n := len(s.batches); n > 0 && s.batches[n-1].pos >= pos; n = len(s.batches) {
		s.stats.maxTs, s.batches = s.batches[n-1].maxTs, s.batches[:n-1]
	}
	s.bad = slices.DeleteFunc(s.bad, func(b badPiece) bool { return b.from >= pos })
	s.bad = append(s.bad, badPiece{from: pos, to: s.size, first: next, end: -1, why: fmt.Sprintf("the file had %d bytes at the clean stop", pos)})
	s.end, s.soundTo = next, pos
}

// inBad tells whether a position lies in bytes that are no batch.
func (s *scanned) inBad(pos int64) bool {
	for _, b := range s.bad {
		if b.from <= pos && pos < b.to {
			return true
		}
	}
	return false
}
