// Package records is the codec of __consumer_offsets: the keys and values that
// Kafka 4.4 writes there, so that its tools can read what we write and we can read
// what it wrote. The first two bytes of a key say what kind of record it is; the
// first two of a value are the version of its encoding.
//
// Every kind has a function that makes a record of a value, or a tombstone of nil.
// Values are written in the versions that Kafka 4.4 writes. All older ones are read.
// Fields of a newer release that are tagged are passed over, as Kafka does
// (KIP-915); a version that is not known is refused.
//
// A string of a key has at most MaxString bytes, for its length has two; whoever
// makes records of what came with a request looks at that first.
//
// Start reading at decode.go.
package records
