// Package badinput sends the broker what no good client sends.
//
// Each test is named after the row of the table in docs/bad-input.md that it
// proves: frames, headers, arrays, strings, batches and requests that are wrong,
// huge, slow or hostile, each over a real socket. A test demands the right answer
// (an error code, or the end of that one connection) and then that nothing else
// suffered: a connection that was open before still works, records stored before
// are still there, the process is alive, its memory has not grown, and standard
// output holds nothing but the ready line.
//
// With BROKER=host:port the answers are checked against that broker and the
// process is not. KAFKA=1 says that it is an Apache Kafka, which is laxer in the
// rows that are marked so.
//
// Start reading at rig_test.go.
package badinput
