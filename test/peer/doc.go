// Package peer is a client driven by hand: one connection, one request at a time,
// every byte under the test's control.
//
// Tests that prove the broker from outside use it where a real client would hide
// what was answered: it pins versions, sends frames that no client would send,
// builds record batches with any field wrong, and accepts an answer only when its
// bytes are exactly what they decode to (no byte more, no byte in another form).
// It shares no code with the broker: the codec is franz-go's kmsg, batches are
// built and read here.
//
// A Conn belongs to one goroutine. Start reading at conn.go, then batch.go.
package peer
