// Package netio carries connections: length-prefixed frames in, strictly ordered
// responses out, with bounded memory in between.
//
// It sees frames, not Kafka: the four length bytes are read and checked here and
// the rest goes to the Handler untouched. It does not parse requests, does not
// know topics, and stores nothing.
//
// Owner. Every connection belongs to one loop, a goroutine of gnet's that waits in
// epoll. The Handler's methods run on it and must not block. Other goroutines
// reach a connection only by messages (Slot.Send, Slot.Finish, Conn.Post,
// Conn.Close, Conn.Resume, Frame.Release), which the loop takes all at once, one
// wake-up for the lot. gnet is used as a poller of sockets that we accept ourselves (it ends
// its engine when descriptors run out) and as the reader of what fits into one small
// buffer; the rest of a large frame is read past it. Nothing outbound is ever given to
// it, because it can neither send file ranges nor say when a socket has room again.
//
// Invariants:
//   - Responses leave in the order of Conn.Reserve, whenever they were sent.
//   - A Slot is answered exactly once, by Send, Finish or Skip; what comes after the
//     connection closed is released and forgotten.
//   - FileRange.File.Release is called exactly once, sent or not.
//   - A peer that has much in flight is slowed by not reading from it, never closed
//     for it. A connection with nothing in flight is always read, so one peer's
//     backlog cannot stop another's single request.
//   - No memory is reserved for bytes that have only been announced, beyond a
//     small budget shared by all connections (see input.go).
//   - Inside OnTraffic a connection is closed only by returning gnet.Close.
//
// Crash behaviour: nothing is kept; peers see their connections reset.
//
// Start reading at server.go, then loop.go (the mailbox), input.go (bytes to
// frames), ahead.go (large frames without a copy), slot.go and output.go (responses to
// bytes), bulk.go and pace.go (large answers take turns and give way), memory.go (when
// reading stops and goes on).
package netio
