package segment

import "sync/atomic"

// sound is what this process knows of the bytes of a .log file: those it wrote
// or recovered are as they were written; those an earlier process left are not
// known before their first read has compared the checksums, whether the page
// cache has them or not.
//
// What is known is everything from a place on (what recovery checked, and what
// was appended since), and one run before it, which grows with a reader that
// goes on where it was. A second reader elsewhere below begins a run of its own,
// so that what both read may be checked more than once: that costs time, and an
// exact account would cost memory of every segment there is. The zero value
// knows everything: a new file.
type sound struct {
	from atomic.Int64 // bytes at and after it are known
	run  atomic.Pointer[run]
}

// run is a known piece of a file; immutable.
type run struct{ from, to int64 }

// unknownBelow says that the bytes before pos were left by an earlier process.
// Before the file has readers.
func (s *sound) unknownBelow(pos int64) { s.from.Store(pos) }

// knows reports whether all of [from, to) is known. For what was appended by
// this process it is one load.
func (s *sound) knows(from, to int64) bool {
	first := s.from.Load()
	if from >= first {
		return true
	}
	r := s.run.Load()
	return r != nil && r.from <= from && (to <= r.to || r.to >= first)
}

// learn takes a piece up whose checksums were right.
func (s *sound) learn(from, to int64) {
	for {
		first, old := s.from.Load(), s.run.Load()
		if from >= first {
			return
		}
		if to >= first {
			// In two steps: between them less is known than there could be.
			if !s.from.CompareAndSwap(first, from) {
				continue
			}
			if old != nil && old.to >= from && old.from < from {
				s.from.CompareAndSwap(from, old.from)
			}
			return
		}
		grown := &run{from, to}
		if old != nil && old.from <= to && from <= old.to {
			grown.from, grown.to = min(from, old.from), max(to, old.to)
		}
		if s.run.CompareAndSwap(old, grown) {
			return
		}
	}
}
