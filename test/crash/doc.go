// Package crash kills a broker under load and checks what it promised.
//
// Idempotent producers write with acks=all to several partitions, each record
// naming its partition and rank. The broker is killed with SIGKILL at random
// moments and started again on the same directory while they go on. Afterwards
// everything is read back: each acknowledged record stands at the offset that was
// acknowledged, no record stands twice, and the ranks rise.
//
// A killed process loses nothing that it handed to the kernel, so this proves the
// recovery of logs, producer state and metadata, not the syncing; power loss is
// tested where the file system can be faked (segment, controller).
//
//	go test ./test/crash -rounds 50 -seed 7
//
// Start reading at kill_test.go.
package crash
