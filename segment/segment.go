package segment

import (
	"sync"
	"sync/atomic"

	"ringmain/record"
)

// segment is one .log file with its index. size, next, tail, idx and hint are
// guarded by Log.mu (the last segment changes; a closed one does not, apart
// from a rebuilt index). The other fields belong to the owner.
type segment struct {
	base int64
	file *File
	size int64 // published bytes
	next int64 // offset after the last record

	idx  *indexFile   // blocks on disk; nil if none
	tail []indexEntry // entries after those blocks
	hint hint         // where the last plan ended

	// What a closed segment's index header says, read when first needed.
	known   atomic.Bool // the stats below are valid
	loadMu  sync.Mutex  // one reader loads or rebuilds; also held to write the index file
	maxTs   int64
	firstTs int64
	sums    sums
	// claim is the header that the stats were taken from unread, until the .log was
	// compared with it (Log.prove).
	claim atomic.Pointer[stats]

	// Owner only, of the segment being written.
	lastEntry int64 // position of the last indexed batch
	entries   int64
	createdMs int64 // when the first batch came, for batches without a time
	jitterMs  int64
	allocated int64 // preallocated up to here
	pinned    bool  // file holds a reference because of unsynced bytes
	handedOut int64 // bytes that were given to a sync
	onDisk    bool  // the .log file exists
	unindexed bool  // it took the place of others at the start, and its index is to be made yet
}

// hint is a batch whose place is known: it spares a sequential reader the
// index.
type hint struct {
	offset int64 // its base offset
	last   int64 // its last offset
	pos    uint32
	size   uint32 // 0: nothing but pos is known
}

func hintOf(h record.Batch, pos int64) hint {
	return hint{offset: h.BaseOffset(), last: h.LastOffset(), pos: uint32(pos), size: uint32(h.Size())}
}

func newSegment(h *home, base int64) *segment {
	s := &segment{
		base:    base,
		file:    newFile(h, base, logSuffix),
		next:    base,
		maxTs:   noIndexTimestamp,
		firstTs: noIndexTimestamp,
	}
	return s
}

func (s *segment) stats() stats {
	return stats{size: s.size, next: s.next, maxTs: s.maxTs, firstTs: s.firstTs, lastEntry: s.lastEntry, entries: s.entries, sums: s.sums}
}

func (s *segment) setStats(v stats) {
	s.maxTs, s.firstTs, s.lastEntry, s.entries, s.sums = v.maxTs, v.firstTs, v.lastEntry, v.entries, v.sums
}
