package segment

import "ringmain/record"

// recentMax is how many of the newest batches have their place in memory: a
// reader at the tail finds its range without a system call. The ring begins with
// recentMin and doubles: of many partitions most are idle.
const (
	recentMin = 4
	recentMax = 64
)

// recentBatches is a ring of the newest batches of the active segment, without
// a gap up to its end. Guarded by Log.mu.
type recentBatches struct {
	ring []spot
	n    int // added since the segment began
}

// spot is where a batch begins.
type spot struct {
	rel uint32
	pos uint32
}

func (r *recentBatches) reset() { r.n = 0 }

func (r *recentBatches) add(rel, pos uint32) {
	if size := len(r.ring); r.n == size && size < recentMax {
		ring := make([]spot, max(recentMin, 2*size))
		copy(ring, r.ring)
		r.ring = ring
	}
	r.ring[r.n%len(r.ring)] = spot{rel, pos}
	r.n++
}

func (r *recentBatches) count() int { return min(r.n, len(r.ring)) }

// at gives the i-th oldest of those that are kept.
func (r *recentBatches) at(i int) spot { return r.ring[(r.n-r.count()+i)%len(r.ring)] }

// upTo finds the last kept batch that begins at or before rel (or pos); -1 if
// all begin after it.
func (r *recentBatches) upTo(rel int64) int {
	lo, hi := 0, r.count()
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		if int64(r.at(mid).rel) <= rel {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo - 1
}

func (r *recentBatches) upToPos(pos int64) int {
	lo, hi := 0, r.count()
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		if int64(r.at(mid).pos) <= pos {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo - 1
}

// stagedBatch waits for Flush.
type stagedBatch struct {
	seg   *segment
	b     record.Batch
	pos   int64
	maxTs int64
}
