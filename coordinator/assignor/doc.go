// Package assignor shares the partitions of topics among the members of a consumer
// group, on the broker, for the group protocol of KIP-848: uniform and range, by the
// rules of Kafka 4.4.
//
// An assignor is a pure function: the same members and topics, in whatever order,
// give the same shares. It knows nothing of epochs, or of who must give up what
// first; that is package coordinator/group's work.
//
// Racks play no part: the assignors of Kafka 4.4 do not look at them either. A
// consumer that wants to read nearby fetches from the nearest replica (KIP-392).
//
// Start reading at assignor.go.
package assignor
