// Package tail reads records of one topic, by assignment or as a member of a group,
// and hands them out in the order in which each partition holds them, until it is told to
// stop: at the end, at a time, after so many records, or never.
//
// It decides what to read (plan.go), reads it (run.go), and finds out that a
// partition holds nothing more although no record says so (gap.go): offsets at
// the end may belong to transaction markers or to records that compaction took.
//
// A Member (member.go) does the same with the partitions that a group gives it.
//
// The caller owns the client; Run is one goroutine and keeps nothing.
package tail
