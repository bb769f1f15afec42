package segment

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"sort"
	"sync"

	"ringmain/model"
	"ringmain/record"
)

// The index of a segment is one file for offsets and times: every entry names
// a batch by offset and position, and carries the largest timestamp of all
// batches before it. See docs/format/index.md.
const (
	indexMagic       = "RMIX"
	indexVersion     = 2 // 1 says nothing of whose .log it is
	indexHeaderSize  = 96
	indexBlockSize   = 4096
	indexEntrySize   = 16
	indexBlockMax    = 255 // entries in a block; 16 bytes remain for the trailer
	indexTrailerAt   = indexBlockMax * indexEntrySize
	noIndexTimestamp = int64(-1 << 63) // "no batch before"
)

// indexEntry points to a batch.
type indexEntry struct {
	rel   uint32 // base offset minus the segment's
	pos   uint32 // of the batch in the .log file
	maxTs int64  // largest timestamp of the batches before pos
}

// indexTimestamp is what a batch adds to an index: that of an emptied batch is of
// records that are gone, and no lookup may lead to it.
func indexTimestamp(h record.Batch) int64 {
	if h.Count() == 0 {
		return record.NoTimestamp
	}
	return h.MaxTimestamp()
}

// stats is what the header of an index file says about its .log file.
type stats struct {
	size      int64 // of the .log file, in bytes; the stats hold only for it
	next      int64 // offset after the last record
	maxTs     int64 // largest timestamp, noIndexTimestamp if no batch
	firstTs   int64 // largest timestamp of the first batch
	lastEntry int64 // position of the last indexed batch, 0 if none
	entries   int64
	sums      sums  // of the batches at 0 and lastEntry
	partition int32 // whose .log it is; noPartition in a header of version 1
}

// indexFile is the part of an index that is on disk. Immutable: growing or
// rebuilding it makes another one.
type indexFile struct {
	file   *File
	blocks int
}

func encodeIndexHeader(k pointKey, base int64, s stats) []byte {
	b := make([]byte, indexHeaderSize)
	copy(b, indexMagic)
	binary.LittleEndian.PutUint16(b[4:], indexVersion)
	copy(b[8:], k.topic[:])
	binary.LittleEndian.PutUint64(b[24:], uint64(base))
	binary.LittleEndian.PutUint64(b[32:], uint64(s.size))
	binary.LittleEndian.PutUint64(b[40:], uint64(s.next))
	binary.LittleEndian.PutUint64(b[48:], uint64(s.maxTs))
	binary.LittleEndian.PutUint64(b[56:], uint64(s.firstTs))
	binary.LittleEndian.PutUint64(b[64:], uint64(s.lastEntry))
	binary.LittleEndian.PutUint64(b[72:], uint64(s.entries))
	binary.LittleEndian.PutUint32(b[80:], uint32(k.partition))
	binary.LittleEndian.PutUint32(b[84:], s.sums.first)
	binary.LittleEndian.PutUint32(b[88:], s.sums.last)
	binary.LittleEndian.PutUint32(b[indexHeaderSize-4:], crc32.Checksum(b[:indexHeaderSize-4], castagnoli))
	return b
}

func decodeIndexHeader(b []byte, topic model.TopicID, base int64) (stats, error) {
	if len(b) != indexHeaderSize || string(b[:4]) != indexMagic ||
		binary.LittleEndian.Uint32(b[indexHeaderSize-4:]) != crc32.Checksum(b[:indexHeaderSize-4], castagnoli) {
		return stats{}, errDamaged
	}
	// A newer index is not an error: it is rebuilt in the format we know.
	version := binary.LittleEndian.Uint16(b[4:])
	if version == 0 || version > indexVersion || model.TopicID(b[8:24]) != topic ||
		int64(binary.LittleEndian.Uint64(b[24:])) != base {
		return stats{}, errDamaged
	}
	s := stats{
		size:      int64(binary.LittleEndian.Uint64(b[32:])),
		next:      int64(binary.LittleEndian.Uint64(b[40:])),
		maxTs:     int64(binary.LittleEndian.Uint64(b[48:])),
		firstTs:   int64(binary.LittleEndian.Uint64(b[56:])),
		lastEntry: int64(binary.LittleEndian.Uint64(b[64:])),
		entries:   int64(binary.LittleEndian.Uint64(b[72:])),
		partition: noPartition,
	}
	if version > 1 {
		s.partition = int32(binary.LittleEndian.Uint32(b[80:]))
		s.sums = sums{binary.LittleEndian.Uint32(b[84:]), binary.LittleEndian.Uint32(b[88:])}
	}
	return s, nil
}

// encodeIndexBlock fills b (indexBlockSize) with at most indexBlockMax entries.
func encodeIndexBlock(b []byte, base int64, es []indexEntry) {
	clear(b)
	for i, e := range es {
		p := b[i*indexEntrySize:]
		binary.LittleEndian.PutUint32(p, e.rel)
		binary.LittleEndian.PutUint32(p[4:], e.pos)
		binary.LittleEndian.PutUint64(p[8:], uint64(e.maxTs))
	}
	t := b[indexTrailerAt:]
	binary.LittleEndian.PutUint64(t, uint64(base))
	binary.LittleEndian.PutUint32(t[8:], uint32(len(es)))
	binary.LittleEndian.PutUint32(t[12:], crc32.Checksum(b[:indexBlockSize-4], castagnoli))
}

// checkIndexBlock returns the number of entries, or errDamaged.
func checkIndexBlock(b []byte, base int64) (int, error) {
	t := b[indexTrailerAt:]
	n := binary.LittleEndian.Uint32(t[8:])
	if binary.LittleEndian.Uint32(t[12:]) != crc32.Checksum(b[:indexBlockSize-4], castagnoli) ||
		int64(binary.LittleEndian.Uint64(t)) != base || n == 0 || n > indexBlockMax {
		return 0, errDamaged
	}
	return int(n), nil
}

func blockEntry(b []byte, i int) indexEntry {
	p := b[i*indexEntrySize:]
	return indexEntry{
		rel:   binary.LittleEndian.Uint32(p),
		pos:   binary.LittleEndian.Uint32(p[4:]),
		maxTs: int64(binary.LittleEndian.Uint64(p[8:])),
	}
}

// indexKey is what an entry is looked up by. In each of the three orders the
// entries of a segment never fall.
type indexKey uint8

const (
	byOffset   indexKey = iota // floor: the last entry with rel <= key
	byPosition                 // floor: the last entry with pos <= key
	byTime                     // floor: the last entry with maxTs < key
)

// within reports whether e may be the floor of key.
func (k indexKey) within(e indexEntry, key int64) bool {
	switch k {
	case byOffset:
		return int64(e.rel) <= key
	case byPosition:
		return int64(e.pos) <= key
	}
	return e.maxTs < key
}

// floorOf finds the floor among entries in memory; i = -1 if all are above.
func floorOf(es []indexEntry, k indexKey, key int64) int {
	return sort.Search(len(es), func(i int) bool { return !k.within(es[i], key) }) - 1
}

var blockPool = sync.Pool{New: func() any { return new([indexBlockSize]byte) }}

// floor finds the floor in the file. ok is false when all entries are above
// the key. Any damage met on the way is errDamaged.
func (x *indexFile) floor(base int64, k indexKey, key int64) (e indexEntry, ok bool, err error) {
	if x == nil || x.blocks == 0 {
		return e, false, nil
	}
	if err := x.file.acquire(); err != nil {
		return e, false, err
	}
	defer x.file.Release()
	buf := blockPool.Get().(*[indexBlockSize]byte)
	defer blockPool.Put(buf)
	lo, hi := 0, x.blocks // the first block whose first entry is above the key
	held := -1
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		if _, err := x.read(base, mid, buf[:]); err != nil {
			return e, false, err
		}
		held = mid
		if k.within(blockEntry(buf[:], 0), key) {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo == 0 {
		return e, false, nil
	}
	if held != lo-1 {
		if _, err := x.read(base, lo-1, buf[:]); err != nil {
			return e, false, err
		}
	}
	n, err := checkIndexBlock(buf[:], base)
	if err != nil {
		return e, false, err
	}
	a, b := 0, n
	for a < b {
		mid := int(uint(a+b) >> 1)
		if k.within(blockEntry(buf[:], mid), key) {
			a = mid + 1
		} else {
			b = mid
		}
	}
	return blockEntry(buf[:], a-1), true, nil
}

// read fills buf with a checked block. A reference to the file is held.
func (x *indexFile) read(base int64, block int, buf []byte) (entries int, err error) {
	_, err = x.file.ReadAt(buf, indexHeaderSize+int64(block)*indexBlockSize)
	if errors.Is(err, io.EOF) {
		return 0, errDamaged
	}
	if err != nil {
		return 0, err
	}
	return checkIndexBlock(buf, base)
}
