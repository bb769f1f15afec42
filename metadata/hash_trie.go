package metadata

import (
	"hash/maphash"
	"math/bits"
	"slices"
)

// hashTrie is a map that is never modified: set and delete return another one
// and share all but the path to the key, so that one more topic costs about a
// microsecond among ten and among a hundred thousand. (Cloning a Go map costs
// 300 us with 10,000 topics: creating them one by one would be quadratic.)
//
// A change of many keys passes one edit to all its calls: nodes that were made
// under it are not copied again. Whoever made the edit drops it before it shows
// the trie to others.
//
// The hash seed differs between processes. Nothing of that shows: the order of
// all is not used where it would be seen.
type hashTrie[K comparable, V any] struct {
	root *trieNode[K, V]
	n    int
}

// edit marks what was made during one change.
type edit struct{ _ byte } // not empty: distinct edits must have distinct addresses

// trieNode has a slot for each set bit of bitmap, in the order of the bits. At
// the depth where the hash has no bits left, bitmap is 0 and slots is a plain
// list.
type trieNode[K comparable, V any] struct {
	bitmap uint32
	slots  []trieSlot[K, V]
	edit   *edit
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

func (t hashTrie[K, V]) set(e *edit, key K, value V) hashTrie[K, V] {
	root, added := t.root.with(e, maphash.Comparable(trieSeed, key), 0, key, value)
	if added {
		t.n++
	}
	t.root = root
	return t
}

func (t hashTrie[K, V]) delete(e *edit, key K) hashTrie[K, V] {
	root, removed := t.root.without(e, maphash.Comparable(trieSeed, key), 0, key)
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

func (n *trieNode[K, V]) with(e *edit, hash uint64, shift int, key K, value V) (_ *trieNode[K, V], added bool) {
	entry := trieSlot[K, V]{key: key, value: value}
	if shift >= trieDepth {
		if n == nil {
			return &trieNode[K, V]{slots: []trieSlot[K, V]{entry}, edit: e}, true
		}
		if i := n.find(key); i >= 0 {
			return n.replace(e, i, entry), false
		}
		return n.insert(e, len(n.slots), entry), true
	}
	if n == nil {
		n = &trieNode[K, V]{edit: e}
	}
	i, set := n.slot(hash >> shift)
	if !set {
		c := n.insert(e, i, entry)
		c.bitmap |= 1 << (hash >> shift & (1<<trieBits - 1))
		return c, true
	}
	old := n.slots[i]
	if old.node == nil && old.key == key {
		return n.replace(e, i, entry), false
	}
	child := old.node
	if child == nil { // two keys for one slot: both move one level down
		child, _ = child.with(e, maphash.Comparable(trieSeed, old.key), shift+trieBits, old.key, old.value)
	}
	child, added = child.with(e, hash, shift+trieBits, key, value)
	return n.replace(e, i, trieSlot[K, V]{node: child}), added
}

func (n *trieNode[K, V]) without(e *edit, hash uint64, shift int, key K) (_ *trieNode[K, V], removed bool) {
	if n == nil {
		return nil, false
	}
	if shift >= trieDepth {
		if i := n.find(key); i >= 0 {
			return n.remove(e, i, 0), true
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
		return n.remove(e, i, bit), true
	}
	child, removed := s.node.without(e, hash, shift+trieBits, key)
	switch {
	case !removed:
		return n, false
	case child == nil:
		return n.remove(e, i, bit), true
	case len(child.slots) == 1 && child.slots[0].node == nil: // pull the last one up
		return n.replace(e, i, child.slots[0]), true
	}
	return n.replace(e, i, trieSlot[K, V]{node: child}), true
}

// own returns n when it was made under e, else a copy with room for one more.
func (n *trieNode[K, V]) own(e *edit) *trieNode[K, V] {
	if e != nil && n.edit == e {
		return n
	}
	slots := make([]trieSlot[K, V], len(n.slots), len(n.slots)+1)
	copy(slots, n.slots)
	return &trieNode[K, V]{bitmap: n.bitmap, slots: slots, edit: e}
}

func (n *trieNode[K, V]) replace(e *edit, i int, s trieSlot[K, V]) *trieNode[K, V] {
	n = n.own(e)
	n.slots[i] = s
	return n
}

func (n *trieNode[K, V]) insert(e *edit, i int, s trieSlot[K, V]) *trieNode[K, V] {
	n = n.own(e)
	n.slots = slices.Insert(n.slots, i, s)
	return n
}

// remove returns nil when nothing is left.
func (n *trieNode[K, V]) remove(e *edit, i int, bit uint32) *trieNode[K, V] {
	if len(n.slots) == 1 {
		return nil
	}
	n = n.own(e)
	n.slots = slices.Delete(n.slots, i, i+1)
	n.bitmap &^= bit
	return n
}
