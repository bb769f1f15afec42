// Package partition holds the replicas of partitions and the shard loops that
// own them.
//
// A Shard is one goroutine. It alone appends to the logs of its replicas,
// moves their high watermarks, keeps those who wait for data or for a sync,
// runs retention, and puts in place what compaction has written elsewhere. Everybody else does one of two things: post a Command to
// the shard, or read what the replica publishes (its offsets are atomics, its
// log's reads are safe from any goroutine).
//
// A round of the loop takes every command that is waiting, stages the appends,
// writes each touched log once, publishes the new ends, answers what needs no
// sync, and hands the rest to the shard's syncer. The syncer is a second
// goroutine, so the loop never waits in an fdatasync; what has queued up while
// one sync ran is the next group commit.
//
// Crash behaviour: an answer for acks=all is given only after the sync of its
// bytes was reported, so a kill at any point loses nothing acknowledged. A
// failed write or sync is final for the log: it answers ErrStorage from then
// on.
//
// Start reading at Shard.round.
package partition
