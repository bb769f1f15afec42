package segment

import (
	"fmt"
	"slices"

	"ringmain/record"
)

// stranger takes up that a segment is another partition's file. Where segments with data lie
// behind it, its offsets are refused and the log goes on there; the end of the log cannot be
// read from it.
func (r *recovery) stranger(s *segment, d *DamageError) error {
	if !r.goesOn(s) {
		return d
	}
	r.l.refuseStranger(s, d)
	r.round = append(r.round, damagedPiece{s, 0, s.size})
	r.passed = append(r.passed, s)
	return nil
}

// passes reports whether recovery passes over the i-th segment, whose batches it is about to
// check, because it is another partition's. Behind the recovery point a header is believed
// only if the system ran on.
func (r *recovery) passes(i int) (bool, error) {
	l, s := r.l, r.segs[i]
	if d := l.dir.strange[s.file.Path()]; d != nil && !slices.Contains(r.passed, s) {
		if err := r.stranger(s, d); err != nil {
			return false, err
		}
	}
	if i > r.at && l.dir.sameBoot && s.size > 0 {
		if head, x, err := l.readHeader(s.base); err == nil {
			x.file.doom()
			if d, _ := l.identify(s, head); d != nil {
				if err := r.stranger(s, d); err != nil {
					return false, err
				}
			}
		}
	}
	if !slices.Contains(r.passed, s) {
		return false, nil
	}
	r.end = max(r.end, r.segs[i+1].base)
	return true, nil
}

// unmark has the checkpoint forget the first batch of a segment that is empty now: the next
// one to be written there is another. Before the log has readers.
func (l *Log) unmark() error {
	l.point.first = 0
	return l.savePointNow()
}

// unmarked compares the first batch of a segment with what the checkpoint noted of it beside
// the recovery point, which is of a batch that was synced: a segment that is written has no
// index header.
func (r *recovery) unmarked(s *segment) *DamageError {
	if d := r.l.dir.strange[s.file.Path()]; d != nil { // what a journal noted
		return d
	}
	p := r.noted
	if p.first == 0 || p.segBase != s.base {
		return nil
	}
	if cleaned, _ := r.l.dir.cleaned.get(r.l.key()); s.base < cleaned.offset {
		return nil
	}
	b := s.soundAt(0)
	if b == nil || mark(b.CRC()) == p.first {
		return nil
	}
	return markedOtherwise(s.file.Path(), b)
}

// markedOtherwise: the first batch of a file is not the one that the checkpoint notes.
func markedOtherwise(path string, b record.Batch) *DamageError {
	return &DamageError{File: path, Offset: b.BaseOffset(),
		Reason: fmt.Sprintf("the file is not the one that was synced: the checkpoint notes another first batch than this one, with checksum %#08x; it may be another partition's", b.CRC())}
}
