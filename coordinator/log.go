package coordinator

import "ringmain/record"

// Log is one partition of the topic, as long as this broker leads it. Package broker
// has the implementation over a replica.
type Log interface {
	// Writer begins a sequence of appends that build on each other.
	Writer() Writer
	// MaxBatchBytes is the largest batch that the topic is to have (max.message.bytes).
	// It does not block.
	MaxBatchBytes() int
	// Bounds gives the offset of the first record and the high watermark. It does not
	// block.
	Bounds() (start, end int64)
	// Secure returns when all below end is durable, whoever wrote it.
	Secure(end int64) error
	// Read reads whole batches from the one that holds offset on, or from the next
	// there is, up to and without the one that holds end: most bytes of them, or one
	// batch where that is larger. They are in buf if it has the room. Nothing: there is
	// no batch any more.
	Read(offset, end int64, most int, buf []byte) ([]byte, error)
}

// Writer appends to a log for one machine.
type Writer interface {
	// Append appends a batch, which belongs to the log from then on. done is called
	// once, on any goroutine: with nil when the batch is as durable as
	// acknowledgements of acks=all are, else with what went wrong; whether the batch
	// is in the log is not known then. Append and done must not block.
	//
	// Batches are stored in the order of the calls, and none is when an earlier one was
	// not: what is in the log is always the beginning of what was appended.
	Append(b record.Batch, done func(err error))
}
