package segment

import (
	"sync"
	"sync/atomic"
)

// sound is what this process knows of the bytes of a .log file: those it wrote
// or recovered are as they were written; those an earlier process left are not
// known before their first read has compared the checksums, whether the page
// cache has them or not; and those that had to come from the disk are not known
// any more.
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
	mu   sync.Mutex // held to change them
}

// run is a known piece of a file; immutable.
type run struct{ from, to int64 }

// readahead is how far behind a read from the disk the system may have brought
// bytes into the cache that nobody has looked at.
const readahead = 2 << 20

// unknownBelow says that the bytes before pos were left by an earlier process.
// Before the file has readers.
func (s *sound) unknownBelow(pos int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.from.Store(pos)
	s.run.Store(nil)
}

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
	s.mu.Lock()
	defer s.mu.Unlock()
	first, old := s.from.Load(), s.run.Load()
	if from >= first || from >= to {
		return
	}
	if old != nil && old.from <= to && from <= old.to {
		from, to = min(from, old.from), max(to, old.to)
	}
	if to >= first {
		s.from.Store(from)
		return
	}
	s.run.Store(&run{from, to})
}

// forget says that a piece came from the disk, and what the system read ahead
// behind it.
func (s *sound) forget(from, to int64) {
	to += readahead
	s.mu.Lock()
	defer s.mu.Unlock()
	first, old := s.from.Load(), s.run.Load()
	if first < to {
		s.from.Store(to)
		kept := run{first, to}
		if old != nil && (old.to >= first || first >= from) {
			kept.from = min(first, old.from)
			if old.to < first {
				kept.to = old.to
			}
		}
		old = &kept
	}
	if old == nil || old.to <= from || to <= old.from {
		s.run.Store(old)
		return
	}
	if old.from >= from {
		s.run.Store(nil)
		return
	}
	s.run.Store(&run{old.from, from})
}
