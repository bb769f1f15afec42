package segment

import "fmt"

// unlike says which sound batch at a position is not the one of which somebody noted the
// checksum, "" if none.
func (s *scanned) unlike(pos int64, noted uint32) string {
	b, ok := s.at(pos)
	if !ok || noted == 0 || b.sum == noted {
		return ""
	}
	return fmt.Sprintf("the file is not the one its index was made from: the batch at byte %d is sound and has checksum %#08x, the index says %#08x; it may be another partition's", pos, b.sum, noted)
}

// has tells whether the batch at a position says that it has a checksum.
func (s *scanned) has(pos int64, sum uint32) bool {
	b, ok := s.at(pos)
	return ok && b.sum == sum
}

// identify is Log.identify for a verifier: why a .log file is another partition's, "" if
// nothing says so, and whether the header is this file's.
func (x *examined) identify(s *scanned, was stats) (why string, ours bool) {
	if was.partition == noPartition {
		return "", true
	}
	if why = s.unlike(0, was.sums.first); why == "" {
		why = s.unlike(was.lastEntry, was.sums.last)
	}
	if !x.believes(s, was.lastEntry) { // a start makes it again
		return "", why == "" && was.partition == x.tp.Partition
	}
	if was.partition != x.tp.Partition {
		if why != "" || !s.has(0, was.sums.first) && !s.has(was.lastEntry, was.sums.last) {
			return "", false
		}
		return fmt.Sprintf("the file and its index are those of partition %d", was.partition), true
	}
	if was.size > s.size && !x.v.clean {
		return "", true // after a power cut it may be of what was lost
	}
	return why, true
}

// believes tells whether what an index says of a place in a segment counts: after a power cut
// it may be of a time of which the log has nothing, unless that was known to be synced.
func (x *examined) believes(s *scanned, pos int64) bool {
	rp, known := x.v.points[x.key()]
	return x.v.clean || x.v.killed || known && (s.base < rp.segBase || s.base == rp.segBase && pos < rp.pos)
}

// unmarked is recovery.unmarked for a verifier.
func (x *examined) unmarked(s *scanned) string {
	p := x.v.points[x.key()]
	b, ok := s.at(0)
	if !ok || p.first == 0 || p.segBase != s.base || s.base < x.v.cleaned[x.key()].offset || mark(b.sum) == p.first {
		return ""
	}
	return fmt.Sprintf("the file is not the one that was synced: the checkpoint notes another first batch than this one, with checksum %#08x; it may be another partition's", b.sum)
}
