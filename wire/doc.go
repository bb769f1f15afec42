// Package wire turns frames into requests and responses into frames: headers,
// the shapes of all requests served, and a codec (franz-go's kmsg) behind a
// guard. Produce requests, Produce responses and Fetch responses, the three
// that carry the traffic, are coded by hand.
//
// It is not a connection (netio has those) and judges nothing that a request
// asks for (broker does): only whether its bytes are what they say.
//
// Nothing here has state between calls, apart from immutable tables built at
// start; all functions may be called from any goroutine, a FetchWriter belongs
// to one. There is nothing to recover after a crash.
//
// Invariants:
//   - nothing is allocated for a declared count or length before the bytes that
//     it promises are known to be there, and no request expands to more than
//     maxElements things, so that memory is bounded by the frame's size;
//   - what a frame holds beyond a valid body is ignored, as in Kafka;
//   - results may alias the frame (bytes always, strings never): a frame must
//     stay untouched while its request is in use.
//
// Start reading at schemas.go, the table to which a new API is added, then
// check.go, which applies it.
package wire
