// Package workload says what a load is: a Spec, how it is read from a YAML file
// and from flags, what is allowed, and the distributions in it (record sizes,
// keys, bytes that compress so well and not better).
//
// It sends nothing and knows no broker. A Spec is a value; whoever has one may
// change it and call Validate again. The distributions draw from a random source
// that the caller owns, so that one seed gives one load, whatever the engine.
//
// Every field has one text form, which is the same in a file, on the command
// line and in a result: "64KiB", "uniform:100:2KiB", "zipf:100000:0.99",
// "50000", "100MB".
//
// Start reading at spec.go; limits.go has every bound, file.go the reading.
package workload
