// Package controller is the metadata quorum: it puts metadata records in one
// order, keeps them on disk, and hands out the image that they make. It is the
// only package that knows hashicorp/raft.
//
// What it is not: it does not know what a valid topic is (package broker
// decides that in the function it gives to Change), it opens no files of
// partitions, and it answers no client.
//
// Owners. The proposer goroutine runs the functions given to Change, one after
// the other, each against an image that includes all changes before it; what
// they want in one turn becomes one entry of the raft log, hence one sync. The
// FSM goroutine (raft's) applies entries and publishes the image. Each watcher
// has a goroutine of its own. Raft's main goroutine writes log entries, terms
// and votes; its snapshot goroutine writes checkpoints.
//
// Invariants:
//   - What Change answered without an error is on disk on a majority and in
//     Image().
//   - Nothing panics because of what is on the disk or because the disk fails.
//     Every file is verified before raft sees it; damage, files of a newer
//     release and files of somebody else stop Open with a sentence that names
//     the file and the byte. Only the tail that a crash left of the last write,
//     which nobody was told of, is cut.
//   - A failed sync, and a term that could not be written, are final: the
//     controller takes no change any more, and goes on serving Image(). A full
//     disk is not final: the change is refused, and the next one is tried.
//
// Crash behaviour: every log entry is synced before it counts; terms and votes
// lie in two slots that are overwritten in turn, in blocks that exist since the
// directory was formatted, so that a full disk cannot stop an election;
// checkpoints appear by rename. Formatting is finished by the next Open if a
// crash interrupts it.
//
// Files, all in Config.Dir and described in docs/format/raft-log.md:
// quorum-state (identity, term, vote), <first index>.raft (the log),
// <index>-<term>.checkpoint (images), .lock.
//
// Start reading at controller.go, then change.go.
package controller
