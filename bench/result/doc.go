// Package result is the document that a measurement leaves: what was asked, what
// was reached, how long it took, what it cost, where it ran and what went wrong.
// docs/format/bench.md describes it for people who write programs.
//
// It is data and its JSON form, nothing else: package bench fills it, package
// perf compares several, perf/report draws them. A Document belongs to whoever
// made or read it.
//
// The format has a number. A field can be added without a new number; one that
// changes its meaning or goes away needs a new one, and a document of a newer
// format is refused by name. Whatever an older build wrote can be read.
//
// Start reading at document.go.
package result
