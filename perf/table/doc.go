// Package table holds the table of the hot path: which loads a broker is measured
// with, what each of them must reach, and whether it does.
//
// There are two ways to read the table (Bounds). Beside Apache Kafka, the two
// brokers take turns for a few rounds, and the ratio of their medians is held
// against what is promised; these bounds are wide, so a few rounds decide them.
// Against an earlier build nothing may get worse; differences are small there, so
// package perf judges pairs of rounds.
//
// A Plan says what is measured and carries it out; it starts no broker and knows
// none, whoever calls it says how a side is measured. A Table is what came of it,
// and the JSON document that is kept of it. Nothing is kept between calls.
//
// Start reading at row.go, then plan.go.
package table
