// Package lag tells how far consumer groups are behind: in records, and in seconds
// since the first record that they have not read arrived.
//
// Nothing is counted on the way of a record. A report is worked out when somebody asks:
// from the committed offsets, from both ends of the logs, and, for the seconds, from the
// time of the first unread record. Where a topic's timestamps are the broker's
// (LogAppendTime) that is the record's. Where producers choose them they may lie, so the
// Watcher keeps some pairs of a time and a log end for each partition that a group
// reads (samples.go), and the age is read off them.
//
// It also holds what a group's lag must not do (Rule) and tells when that begins and
// ends: in the log, in the metrics and to a webhook.
//
// Owner: the Watcher's goroutine runs the checks; its mutex guards the samples, so that
// reports may be asked for from anywhere. Nothing of it is stored: after a start the
// samples begin anew, and a rule that is broken is told again.
//
// Start reading at watcher.go, then report.go and rule.go.
package lag
