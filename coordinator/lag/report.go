package lag

import (
	"slices"
	"strings"
)

// Entry is one group in one partition.
type Entry struct {
	Commit
	Bounds
	Records int64   // from the committed offset to End
	Seconds float64 // since the first of them arrived; 0 where there is none
}

// Report is how far all groups are behind at one moment. It does not change.
type Report struct {
	TimeMs  int64
	Entries []Entry // by group, topic and partition
}

// Group gives the entries of one group, none if it has committed nothing.
func (r *Report) Group(id string) []Entry {
	from, _ := slices.BinarySearchFunc(r.Entries, id, func(e Entry, id string) int { return strings.Compare(e.Group, id) })
	to := from
	for to < len(r.Entries) && r.Entries[to].Group == id {
		to++
	}
	return r.Entries[from:to]
}

// Sum is the lag of several entries: all their records, and the seconds of the one that
// is furthest behind.
func Sum(entries []Entry) (records int64, seconds float64) {
	for i := range entries {
		records += entries[i].Records
		seconds = max(seconds, entries[i].Seconds)
	}
	return records, seconds
}

// Runs calls fn for each run of entries that same holds for.
func Runs(entries []Entry, same func(a, b *Entry) bool, fn func(run []Entry)) {
	for len(entries) > 0 {
		n := 1
		for n < len(entries) && same(&entries[0], &entries[n]) {
			n++
		}
		fn(entries[:n])
		entries = entries[n:]
	}
}

// SameGroup is for Runs.
func SameGroup(a, b *Entry) bool { return a.Group == b.Group }

// SameTopic is for Runs.
func SameTopic(a, b *Entry) bool { return a.Group == b.Group && a.Topic == b.Topic }

func compareEntries(a, b Entry) int {
	if n := strings.Compare(a.Group, b.Group); n != 0 {
		return n
	}
	if n := strings.Compare(a.Topic, b.Topic); n != 0 {
		return n
	}
	return int(a.Partition) - int(b.Partition)
}
