// Package groups proves the group coordinator from outside, over real sockets.
//
// FindCoordinator for the coordinators that are not there gets a final error, so that no
// client hangs; members of either protocol are removed by their id; a group settles whose
// target assignment is larger than a batch should be. Four measurements run only when they
// are asked for:
//
//	go test ./test/groups -run TestMembersSettle -members 500 [-broker 127.0.0.1:19092]
//	go test ./test/groups -run TestManyPartitionsSettle -members 3000 -partitions 10000
//	go test ./test/groups -run TestCommitsCost -groups 10000
//	go test ./test/groups -run TestOffsetsLoad -offsets 1000000
//
// What kills do to commits is tested in test/crash. Start reading at members_test.go.
package groups
