// Package fetch reads a large topic in every way that a consumer may and checks
// every byte of it.
//
// Batches of many sizes are produced, and of each its place and a hash are
// remembered. Connections then fetch from random offsets, in small and large
// pieces, one connection and many, from the page cache and from the disk; some
// read slowly, some vanish in the middle of an answer (RST). Each answer must be
// whole batches, from the one that holds the offset on, without a gap, and equal
// to what was produced; while all of this goes on, a paced producer on a
// connection of its own measures how long its requests take.
//
// It is not a benchmark: the latencies are printed, and judged only where a limit
// is given, because tests run on busy machines.
//
//	go test ./test/fetch -v -mib 1024 -worst 2
//
// Start reading at fetch_test.go.
package fetch
