package metadata

import (
	"slices"
	"sort"
)

// nameList is a sorted list of distinct names that is never modified: insert
// and remove return another one. It is cut into chunks so that a change copies
// a chunk and the list of chunks, a few KiB, instead of every name.
type nameList struct {
	chunks [][]string // none is empty; sorted within and across
	n      int
}

const nameChunkMax = 128

// chunk returns the chunk that has, or should have, the name.
func (l nameList) chunk(name string) int {
	i := sort.Search(len(l.chunks), func(i int) bool { return l.chunks[i][0] > name })
	return max(i-1, 0)
}

func (l nameList) insert(name string) nameList {
	if len(l.chunks) == 0 {
		return nameList{chunks: [][]string{{name}}, n: 1}
	}
	c := l.chunk(name)
	old := l.chunks[c]
	i, found := slices.BinarySearch(old, name)
	if found {
		return l
	}
	names := make([]string, 0, len(old)+1)
	names = append(append(append(names, old[:i]...), name), old[i:]...)
	chunks := make([][]string, 0, len(l.chunks)+1)
	chunks = append(chunks, l.chunks[:c]...)
	if half := len(names) / 2; len(names) > nameChunkMax {
		chunks = append(chunks, names[:half:half], names[half:])
	} else {
		chunks = append(chunks, names)
	}
	return nameList{chunks: append(chunks, l.chunks[c+1:]...), n: l.n + 1}
}

func (l nameList) remove(name string) nameList {
	if len(l.chunks) == 0 {
		return l
	}
	c := l.chunk(name)
	old := l.chunks[c]
	i, found := slices.BinarySearch(old, name)
	if !found {
		return l
	}
	chunks := make([][]string, 0, len(l.chunks))
	chunks = append(chunks, l.chunks[:c]...)
	if len(old) > 1 {
		names := make([]string, 0, len(old)-1)
		chunks = append(chunks, append(append(names, old[:i]...), old[i+1:]...))
	}
	return nameList{chunks: append(chunks, l.chunks[c+1:]...), n: l.n - 1}
}

// flat returns all names in one sorted slice.
func (l nameList) flat() []string {
	names := make([]string, 0, l.n)
	for _, c := range l.chunks {
		names = append(names, c...)
	}
	return names
}
