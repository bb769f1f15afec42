// Package groups proves the group coordinator from outside, over real sockets.
//
// Committing clients go on while the broker is killed with SIGKILL at random moments,
// those of its start included: every offset that was acknowledged is there afterwards,
// with its metadata, and none ever goes back. FindCoordinator for the coordinators that
// are not there gets a final error, so that no client hangs.
//
// Three measurements run only when they are asked for:
//
//	go test ./test/groups -run TestMembersSettle -members 500 [-broker 127.0.0.1:19092]
//	go test ./test/groups -run TestCommitsCost -groups 10000
//	go test ./test/groups -run TestOffsetsLoad -offsets 1000000
//
// Start reading at kill_test.go.
package groups
