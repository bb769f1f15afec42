package metadata

import (
	"hash/maphash"
	"math/bits"
)

// hashTrie is a map that is never modified: set and delete return another one
// and share all but the path to the key, so that one more topic costs about a
// microsecond among ten and among a hundred thousand. (Cloning a Go map costs
// 300 us with 10,000 topics: creating them one by one would be quadratic.)
//
// The hash seed differs between processes. Nothing of that shows: the order of
// all is not used where it would be seen.
type hashTrie[K comparable, V any] struct {
	root *trieNode[K, V]
	n    int
}

// trieNode has a slot for each set bit of bitmap, in the order of the bits. At
// the depth where the hash has no bits left, bitmap is 0 and slots is a plain
// list.
type trieNode[K comparable, V any] struct {
	bitmap uint32
	slots  []trieSlot[K, V]
}

// trieSlot holds a deeper node, or one key with its value.
type trieSlot[K comparable, V any] struct {
	node  *trieNode[K, V]
	key   K
	value V
}

const (
	trieBits  = 5
	trieDepth = 60 // bits of the hash that are used
)

var trieSeed = maphash.MakeSeed()

func (t hashTrie[K, V]) len() int { return t.n }

func (t hashTrie[K, V]) get(key K) (value V, ok bool) {
	node, hash := t.root, maphash.Comparable(trieSeed, key)
	for shift := 0; node != nil; shift += trieBits {
		if shift >= trieDepth {
			if i := node.find(key); i >= 0 {
				return node.slots[i].value, true
			}
			return value, false
		}
		i, set := node.slot(hash >> shift)
		if !set {
			return value, false
		}
		s := &node.slots[i]
		if s.node == nil {
			if s.key == key {
				return s.value, true
			}
			return value, false
		}
		node = s.node
	}
	return value, false
}

func (t hashTrie[K, V]) set(key K, value V) hashTrie[K, V] {
	root, added := t.root.with(maphash.Comparable(trieSeed, key), 0, key, value)
	if added {
		t.n++
	}
	t.root = root
	return t
}

func (t hashTrie[K, V]) delete(key K) hashTrie[K, V] {
	root, removed := t.root.without(maphash.Comparable(trieSeed, key), 0, key)
	if removed {
		t.root = root
		t.n--
	}
	return t
}

// all calls fn for every key, in no order that means anything.
func (t hashTrie[K, V]) all(fn func(K, V)) { t.root.all(fn) }

func (n *trieNode[K, V]) all(fn func(K, V)) {
	if n == nil {
		return
	}
	for i := range n.slots {
		if s := &n.slots[i]; s.node != nil {
			s.node.all(fn)
		} else {
			fn(s.key, s.value)
		}
	}
}

// slot returns where the slot for these hash bits is, or would be inserted.
func (n *trieNode[K, V]) slot(hash uint64) (i int, set bool) {
	bit := uint32(1) << (hash & (1<<trieBits - 1))
	return bits.OnesCount32(n.bitmap & (bit - 1)), n.bitmap&bit != 0
}

func (n *trieNode[K, V]) find(key K) int {
	for i := range n.slots {
		if n.slots[i].key == key {
			return i
		}
	}
	return -1
}

func (n *trieNode[K, V]) with(hash uint64, shift int, key K, value V) (_ *trieNode[K, V], added bool) {
	entry := trieSlot[K, V]{key: key, value: value}
	if shift >= trieDepth {
		if n == nil {
			return &trieNode[K, V]{slots: []trieSlot[K, V]{entry}}, true
		}
		if i := n.find(key); i >= 0 {
			return n.replace(i, entry), false
		}
		return n.insert(len(n.slots), entry), true
	}
	if n == nil {
		n = &trieNode[K, V]{}
	}
	i, set := n.slot(hash >> shift)
	if !set {
		c := n.insert(i, entry)
		c.bitmap |= 1 << (hash >> shift & (1<<trieBits - 1))
		return c, true
	}
	old := n.slots[i]
	if old.node == nil && old.key == key {
		return n.replace(i, entry), false
	}
	child := old.node
	if child == nil { // two keys for one slot: both move one level down
		child, _ = child.with(maphash.Comparable(trieSeed, old.key), shift+trieBits, old.key, old.value)
	}
	child, added = child.with(hash, shift+trieBits, key, value)
	return n.replace(i, trieSlot[K, V]{node: child}), added
}

func (n *trieNode[K, V]) without(hash uint64, shift int, key K) (_ *trieNode[K, V], removed bool) {
	if n == nil {
		return nil, false
	}
	if shift >= trieDepth {
		if i := n.find(key); i >= 0 {
			return n.remove(i, 0), true
		}
		return n, false
	}
	i, set := n.slot(hash >> shift)
	if !set {
		return n, false
	}
	bit := uint32(1) << (hash >> shift & (1<<trieBits - 1))
	s := n.slots[i]
	if s.node == nil {
		if s.key != key {
			return n, false
		}
		return n.remove(i, bit), true
	}
	child, removed := s.node.without(hash, shift+trieBits, key)
	switch {
	case !removed:
		return n, false
	case child == nil:
		return n.remove(i, bit), true
	case len(child.slots) == 1 && child.slots[0].node == nil: // pull the last one up
		return n.replace(i, child.slots[0]), true
	}
	return n.replace(i, trieSlot[K, V]{node: child}), true
}

func (n *trieNode[K, V]) replace(i int, s trieSlot[K, V]) *trieNode[K, V] {
	slots := make([]trieSlot[K, V], len(n.slots))
	copy(slots, n.slots)
	slots[i] = s
	return &trieNode[K, V]{bitmap: n.bitmap, slots: slots}
}

func (n *trieNode[K, V]) insert(i int, s trieSlot[K, V]) *trieNode[K, V] {
	slots := make([]trieSlot[K, V], len(n.slots)+1)
	copy(slots, n.slots[:i])
	slots[i] = s
	copy(slots[i+1:], n.slots[i:])
	return &trieNode[K, V]{bitmap: n.bitmap, slots: slots}
}

// remove returns nil when nothing is left.
func (n *trieNode[K, V]) remove(i int, bit uint32) *trieNode[K, V] {
	if len(n.slots) == 1 {
		return nil
	}
	slots := make([]trieSlot[K, V], 0, len(n.slots)-1)
	slots = append(append(slots, n.slots[:i]...), n.slots[i+1:]...)
	return &trieNode[K, V]{bitmap: n.bitmap &^ bit, slots: slots}
}
