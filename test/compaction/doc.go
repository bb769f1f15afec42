// Package compaction proves from outside what a compacted topic promises, with a
// client against a broker process.
//
// Keyed records are produced until compaction has passed over them; then every
// key has its last value, what is left is in order, and each record stands at
// the offset that was acknowledged. In a second test the broker is killed while
// its cleaner, slowed down, is at work.
//
//	go test ./test/compaction -rounds 20 -seed 7
//
// Start reading at compaction_test.go.
package compaction
