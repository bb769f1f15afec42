// Package groups compares two brokers over random sequences of requests to the group
// coordinator: JoinGroup, SyncGroup, Heartbeat, LeaveGroup, OffsetCommit, OffsetFetch,
// OffsetDelete, DescribeGroups, ListGroups, DeleteGroups and FindCoordinator, in all
// versions, of members that come, go, come back, and say what is wrong. Both brokers get
// the same requests, with the member ids that each of them has given out; every field of
// every answer, who is answered when, and the groups' states after each step have to be
// the same.
//
// By itself the test compares two processes of ours, which shows that the comparison
// holds. Against an Apache Kafka 4.4, started with group.initial.rebalance.delay.ms=0:
//
//	go test ./test/likeness/groups -kafka 127.0.0.1:19092 [-seed 1] [-sequences 1000] [-steps 40]
//
// A sequence that differs is shortened and shown. What is meant to differ
// (docs/deviations.md) is in known.go, or is not asked: nobody sends a request again that
// waits, and ids that were only given out do not leave.
//
// Start reading at sequence.go, then requests.go.
package groups
