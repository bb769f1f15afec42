// Package conformance holds the broker to what Apache Kafka 4.4 answers.
//
// For every API that the broker serves, and every version of it, scripts of
// requests (the normal course and each typical mistake) are sent over a real
// socket. The answers were recorded once from Apache Kafka 4.4.0 and are stored in
// testdata/golden; the test runs the same scripts against our broker and compares
// field by field. What differs from run to run (addresses, topic and producer ids,
// times) and what is prose (messages, documentation) is masked before it is stored:
// of a message only that there is one.
//
// A difference fails the test unless deviations.go lists it with a reason; a listed
// deviation that no longer differs fails too, so that the list only tells the truth.
//
// To record again, start an Apache Kafka 4.4 with node id 1 and default settings and run
//
//	go test ./test/conformance -run TestGolden -record -broker 127.0.0.1:19092
//
// Start reading at script.go, then mask.go, then any scenarios_*.go.
package conformance
