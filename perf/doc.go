// Package perf tells differences between brokers from noise: it compares
// results of ringmain bench and says what they show, and what they do not.
//
// It is arithmetic over result documents. It measures nothing itself (package
// bench does), draws nothing (package perf/report does) and keeps nothing
// between calls; a Comparison belongs to whoever asked for it.
//
// Two things make a verdict worth having on a machine that drifts, changes
// between speeds and stalls now and then:
//
//   - Rounds are compared in pairs of neighbours. What changes more slowly than
//     a pair lasts is in both rounds of it and falls out of their ratio.
//   - Which side goes first is drawn by lot, equally often for each side
//     (Order). A fixed pattern, ABBA for example, is in step with any
//     disturbance of the same length, and then calls one side slower every
//     time; a drawn order is in step with nothing, whatever the machine does.
//
// The ratios are judged by their signed ranks (signedRank), whose error is known
// exactly for as few pairs as eleven, and which one stalled round cannot decide.
//
// Start reading at compare.go, then pairs.go.
package perf
