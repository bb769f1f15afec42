// Package data runs random scripts of requests against an Apache Kafka 4.4 and
// against our broker at the same time, and compares every field of every answer.
//
// The goldens (test/conformance) hold what somebody thought of; this finds what nobody
// did. A script comes from a seed, so what differs can be run again alone:
//
//	go test ./test/likeness/data -kafka 127.0.0.1:19092 -seeds 500
//	go test ./test/likeness/data -kafka 127.0.0.1:19092 -family sessions -seed 17 -seeds 1 -v
//
// That Kafka is one node with the settings of overrides (data_test.go), and
// log.initial.task.delay.ms=500.
//
// Without -kafka the scripts run against two brokers of ours, which must agree: that
// keeps the scripts and the comparison working where no Kafka is.
//
// Start reading at script.go, then plain.go (what of an answer is compared), then any of
// the families.
package data
