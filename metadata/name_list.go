package metadata

import (
	"slices"
	"sort"
)

// nameList is a sorted list of distinct names that is never modified: insert
// and remove return another one. It is cut into chunks so that a change copies
// a chunk and the list of chunks, a few KiB, instead of every name. Edits are
// those of hashTrie.
type nameList struct {
	chunks []nameChunk // none is empty; sorted within and across
	n      int
	edit   *edit
}

type nameChunk struct {
	names []string
	edit  *edit
}

const nameChunkMax = 128

// chunk returns the chunk that has, or should have, the name.
func (l nameList) chunk(name string) int {
	i := sort.Search(len(l.chunks), func(i int) bool { return l.chunks[i].names[0] > name })
	return max(i-1, 0)
}

// own makes the list of chunks, and chunk c of it, the edit's own.
func (l *nameList) own(e *edit, c int) *nameChunk {
	if e == nil || l.edit != e {
		l.chunks, l.edit = slices.Clone(l.chunks), e
	}
	k := &l.chunks[c]
	if e == nil || k.edit != e {
		names := make([]string, len(k.names), len(k.names)+1)
		copy(names, k.names)
		*k = nameChunk{names, e}
	}
	return k
}

func (l nameList) insert(e *edit, name string) nameList {
	if len(l.chunks) == 0 {
		return nameList{chunks: []nameChunk{{[]string{name}, e}}, n: 1, edit: e}
	}
	c := l.chunk(name)
	i, found := slices.BinarySearch(l.chunks[c].names, name)
	if found {
		return l
	}
	k := l.own(e, c)
	k.names = slices.Insert(k.names, i, name)
	if n := len(k.names); n > nameChunkMax {
		half := n / 2
		if c == len(l.chunks)-1 && i == n-1 {
			half = n - 1 // names come in order: leave full chunks behind
		}
		back := nameChunk{slices.Clone(k.names[half:]), e}
		k.names = k.names[:half:half]
		l.chunks = slices.Insert(l.chunks, c+1, back)
	}
	l.n++
	return l
}

func (l nameList) remove(e *edit, name string) nameList {
	if len(l.chunks) == 0 {
		return l
	}
	c := l.chunk(name)
	i, found := slices.BinarySearch(l.chunks[c].names, name)
	if !found {
		return l
	}
	k := l.own(e, c)
	k.names = slices.Delete(k.names, i, i+1)
	if len(k.names) == 0 {
		l.chunks = slices.Delete(l.chunks, c, c+1)
	}
	l.n--
	return l
}

// first returns the first name of a list that is not empty.
func (l nameList) first() string { return l.chunks[0].names[0] }

// flat returns all names in one sorted slice.
func (l nameList) flat() []string {
	names := make([]string, 0, l.n)
	for _, c := range l.chunks {
		names = append(names, c.names...)
	}
	return names
}
