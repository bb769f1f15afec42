// Package bench puts loads on Kafka-protocol brokers and checks what they do
// with them.
//
// Verify writes records with acks=all, reads back all that was acknowledged and
// judges it, over restarts of brokers and of itself.
//
// It is not a broker and uses nothing of one: everything here works against any
// broker that speaks the protocol. Topics that it did not make are written to
// only when its options say so, and are never deleted.
//
// A verification belongs to the goroutine that runs it; its account
// (bench/audit) is shared with the writer and the readers. Start reading at
// verify.go.
package bench
