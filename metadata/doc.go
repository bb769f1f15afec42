// Package metadata is the cluster's metadata as a value: an immutable Image,
// the Records that are the only way to change it, and the Delta that says what
// a change touched.
//
// It is not a store and not a server. It knows no files, no network, no clock
// and no consensus: package controller orders the records, keeps them on disk
// and calls Apply; package broker reads images.
//
// Owner: an Image has none. It is never modified after Apply or ReadSnapshot
// returned it, so any goroutine may read it and may keep it for as long as it
// likes. Images share structure; a new one costs what the change costs, not
// what the cluster weighs.
//
// Invariants:
//   - Apply is pure and deterministic: equal image, records and index give an
//     equal image on every node and in every release. Whatever is not
//     deterministic (ids, times, random choices) is inside the records.
//   - Apply does all of a slice of records or nothing.
//   - Partition indexes of a topic are 0..n-1, without holes.
//   - A topic id is used once. A topic that is deleted and created again has
//     another id, and its partitions start at leader epoch 0.
//   - Leader and partition epochs never fall while the topic id stays.
//   - FeaturesEpoch is the index of the record that last changed a feature; it
//     never falls, also across snapshots.
//
// Crash behaviour: none, there is nothing to crash. Every encoding that this
// package writes carries a version; what a newer release wrote is refused with
// ErrNewer and a sentence, never guessed at. Encodings of earlier releases stay
// readable: testdata holds samples of them.
//
// Start reading at record.go (what can happen), then apply.go (what it does).
// docs/format/metadata-record.md and docs/format/metadata-snapshot.md describe
// the bytes.
package metadata
