// Package segment is one partition's log on disk: append, index, recover,
// roll, retain, compact, and plan reads; and the log directory that holds
// partitions.
//
// What it is not: it knows no leaders, no replicas, no high watermark and no
// metadata image; it validates no records (package record has done that) and
// sends nothing (it yields ranges of files). It imports no configuration: see
// Config.
//
// # Owner
//
// A Log has one owner, the shard loop. Methods marked "owner" are called by
// it alone, one at a time; methods marked "any" by every goroutine at any
// moment. What both touch lies behind Log.mu, which is held for memory
// operations only, never over a system call.
//
// # Invariants
//
//   - The .log file is the truth; everything else can be rebuilt from it or
//     is checked against it before it is believed.
//   - The visible size of a .log file is the end of its last batch; bytes
//     after the published end are never read by anyone but recovery.
//   - start <= synced <= end for a log that was written (synced may lie below
//     start after a retention), and none of the three falls, TruncateTo aside.
//   - An offset that was ever below the recovery point is never given to
//     another record, whatever happens to the files.
//   - Segments follow each other without a gap: a segment's name is the end
//     of the one before, or higher where data was lost. Inside of a segment
//     compaction leaves gaps, never at its end.
//   - An fsync error is final for the log: nothing is written after it.
//   - A File is closed only when nobody holds a reference.
//
// # Crash behaviour
//
// SIGKILL takes nothing that Flush has published. After a power cut the log
// is a prefix that holds at least everything below SyncedOffset. At open, only
// what lies at or after the checkpointed recovery point is read and checked;
// the first batch there that is torn, fails its CRC or does not continue the
// offsets ends the log, and the file is cut at that place. Of the other files
// only checkpoints and the directory's identity are ever synced: indexes,
// producer snapshots and epoch histories carry checksums and are rebuilt when
// missing, damaged or older than the log says.
//
// Compaction (Log.Clean) runs on a goroutine of its own. It reads closed
// segments, writes new ones beside them, and asks the owner for each change of
// segments (Log.Replace); a synced note decides whether a crash leaves the old
// or the new ones.
//
// Start reading at log.go (the state), append.go (Stage, Flush), recover.go,
// plan.go, cleaning.go. Formats: docs/format.
package segment
