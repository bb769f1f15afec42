// Package crash kills a broker under load and checks what it promised.
//
// Producers write to several partitions, each record naming its partition and rank:
// with acks=all and idempotence, and beside them without it, with acks=1, while
// log starts are raised and a topic comes and goes. The broker is killed with SIGKILL
// at random moments, those of its start included, and started again on the same
// directory while they go on. Afterwards everything is read back: each acknowledged
// record stands at the offset that was acknowledged, no record stands twice, no offset
// was given to two, and the ranks rise. Groups commit offsets over such kills: none that
// was acknowledged is lost, and none is read lower than before. Further tests kill
// recovery itself and compare what it makes of the files, and empty partitions.
//
// A killed process loses nothing that it handed to the kernel, so this proves the
// recovery of logs, producer state and metadata, not the syncing; power loss is
// tested where the file system can be faked (segment, controller).
//
//	make crash KILLS=50
//	go test ./test/crash -rounds 50 -seed 7 -timeout 1h
//
// Start reading at kill_test.go.
package crash
