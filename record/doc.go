// Package record views, validates, restamps, compresses and builds record
// batches of format 2, the only format that Kafka 4 stores or sends.
//
// It is not a log: it knows neither offsets already given out nor producers'
// states (segment does), and it decides nothing about topics (broker does).
//
// A Batch is a view of bytes owned by somebody else; whoever owns the bytes may
// call the methods that change them. A Validator belongs to one goroutine, all
// functions are safe for any. Nothing here keeps files or goroutines, so a
// crash leaves nothing behind.
//
// Invariants:
//   - what Validate lets through can be read by every client: each record lies
//     exactly inside its batch, the compressed part decodes to exactly the
//     records announced, the header's counts, largest timestamp and checksum
//     are true;
//   - memory is bounded whatever the bytes say: compressed batches are walked
//     through a streaming decoder with fixed buffers (decoder.go gives the
//     limits), and no declared size is believed before it was checked;
//   - valid uncompressed input costs no allocation.
//
// Start reading at validate.go, then walk.go. batch.go has the layout.
package record
