// Package show prints results: a table for people, one JSON document for
// programs, and a progress bar while long work runs.
//
// It knows nothing of Kafka. Tables never let bytes from a broker reach the
// terminal as control characters; JSON is written exactly once per command.
// Start reading at table.go.
package show
