package segment

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"math/bits"
)

const saltBytes = 16

// mapSlotBytes is the memory of one key.
const mapSlotBytes = 24

// offsetMap knows for each key the offset of its newest record. It holds 16
// bytes of a salted SHA-256 of the key instead of the key, so that memory
// depends on the number of keys alone. That two keys share them is out of
// reach, by chance and, because nobody knows the salt, by intent; Kafka's MD5
// lets whoever makes two colliding keys lose a record of somebody else. One
// goroutine.
type offsetMap struct {
	in    []byte // the salt, and a key behind it
	slots []mapSlot
	used  int
	most  int // keys that fit
}

type mapSlot struct {
	digest [16]byte
	next   int64 // offset + 1; 0 is free
}

// newOffsetMap makes a map of at most limit bytes, filled up to the share load
// of its slots, and no larger than keys need.
func newOffsetMap(limit int64, load float64, keys int64) *offsetMap {
	if load <= 0 || load > 1 {
		load = 0.9
	}
	slots := limit / mapSlotBytes
	if wanted := keys + keys/2 + 8; wanted < slots { // sparse while memory is there: short searches
		slots = wanted
	}
	slots = max(slots, 2)
	m := &offsetMap{in: make([]byte, saltBytes, 256), slots: make([]mapSlot, slots), most: max(1, int(float64(slots)*load))}
	m.most = min(m.most, int(slots)-1) // a search ends at a free slot
	rand.Read(m.in)
	return m
}

// find gives the key's slot, or the free one it would take.
func (m *offsetMap) find(key []byte) (s *mapSlot, digest [16]byte) {
	m.in = append(m.in[:saltBytes], key...)
	sum := sha256.Sum256(m.in)
	digest = [16]byte(sum[:16])
	at, _ := bits.Mul64(binary.LittleEndian.Uint64(digest[:]), uint64(len(m.slots)))
	for {
		s := &m.slots[at]
		if s.next == 0 || s.digest == digest {
			return s, digest
		}
		if at++; at == uint64(len(m.slots)) {
			at = 0
		}
	}
}

// put notes a record; offsets must come in ascending order. It is refused when
// the key is new and the map full.
func (m *offsetMap) put(key []byte, offset int64) bool {
	s, digest := m.find(key)
	if s.next == 0 {
		if m.used >= m.most {
			return false
		}
		m.used++
		s.digest = digest
	}
	s.next = offset + 1
	return true
}

// newest is the offset of the key's newest record, -1 if none was put.
func (m *offsetMap) newest(key []byte) int64 {
	s, _ := m.find(key)
	return s.next - 1
}
