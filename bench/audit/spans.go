package audit

import "sort"

// maxSpans bounds the spans of one set: 24 bytes each, 1.5 MiB. What does not
// fit is counted and makes the verdict say that it is not complete.
const maxSpans = 1 << 16

// anywhere is the shift of a span whose offsets nobody knows or compares.
const anywhere = int64(-1) << 63

// span is the sequences from..to-1, all of them at offset sequence+shift.
type span struct {
	from, to uint64
	shift    int64
}

// spans is a set of sequences: sorted, not overlapping, neighbours of one shift
// joined. What arrives in order extends the last one.
type spans struct {
	list    []span
	dropped uint64 // sequences that had no room
}

// add puts from..to-1 into the set and returns how many were not in it. Those
// that were keep the shift they had.
func (s *spans) add(from, to uint64, shift int64) (fresh uint64) {
	if n := len(s.list); n > 0 && s.list[n-1].to == from && s.list[n-1].shift == shift {
		s.list[n-1].to = to
		return to - from
	}
	i := sort.Search(len(s.list), func(i int) bool { return s.list[i].to > from })
	for from < to {
		end := to
		if i < len(s.list) {
			if at := s.list[i]; at.from <= from { // already here
				from = max(from, at.to)
				i++
				continue
			}
			end = min(to, s.list[i].from)
		}
		fresh += end - from
		i = s.insert(i, span{from, end, shift})
		from = end
	}
	return fresh
}

// insert puts a span that overlaps no other before index i, joins it with its
// neighbours, and returns the index from which add goes on looking.
func (s *spans) insert(i int, x span) int {
	joinsBefore := i > 0 && s.list[i-1].to == x.from && s.list[i-1].shift == x.shift
	joinsAfter := i < len(s.list) && s.list[i].from == x.to && s.list[i].shift == x.shift
	switch {
	case joinsBefore && joinsAfter:
		s.list[i-1].to = s.list[i].to
		s.list = append(s.list[:i], s.list[i+1:]...)
		return i - 1 // as below
	case joinsBefore:
		s.list[i-1].to = x.to
		return i
	case joinsAfter:
		s.list[i].from = x.from
		return i // it goes on behind x, so add has to look at it still
	case len(s.list) >= maxSpans:
		s.dropped += x.to - x.from
		return i
	}
	s.list = append(s.list, span{})
	copy(s.list[i+1:], s.list[i:])
	s.list[i] = x
	return i + 1
}

// count is the number of sequences in the set.
func (s *spans) count() (n uint64) {
	for _, x := range s.list {
		n += x.to - x.from
	}
	return n
}

// end is one more than the largest sequence in the set.
func (s *spans) end() uint64 {
	if len(s.list) == 0 {
		return 0
	}
	return s.list[len(s.list)-1].to
}

// without calls each for every run of sequences that is in s and not in other,
// in order, with the shift it has in s.
func (s *spans) without(other *spans, each func(span)) {
	j := 0
	for _, x := range s.list {
		for x.from < x.to {
			for j < len(other.list) && other.list[j].to <= x.from {
				j++
			}
			if j == len(other.list) || other.list[j].from >= x.to {
				each(x)
				break
			}
			if o := other.list[j]; o.from > x.from {
				each(span{x.from, o.from, x.shift})
			}
			x.from = min(other.list[j].to, x.to)
		}
	}
}

// elsewhere calls each for every run of sequences that both sets have, at
// different offsets that both know; it is given as s has it, with the other's
// shift beside it.
func (s *spans) elsewhere(other *spans, each func(ours span, theirs int64)) {
	j := 0
	for _, x := range s.list {
		for j < len(other.list) && other.list[j].to <= x.from {
			j++
		}
		for k := j; k < len(other.list) && other.list[k].from < x.to; k++ {
			o := other.list[k]
			if o.shift != x.shift && o.shift != anywhere && x.shift != anywhere {
				each(span{max(x.from, o.from), min(x.to, o.to), x.shift}, o.shift)
			}
		}
	}
}
