package record

import (
	"errors"
	"fmt"
)

// Kind is why a batch was refused. Its value is Kafka's error code, and each
// kind is a sentinel: errors.Is(err, record.ErrCorrupt).
type Kind int16

const (
	ErrCorrupt          Kind = 2  // CORRUPT_MESSAGE: length, magic or checksum wrong
	ErrTooLarge         Kind = 10 // MESSAGE_TOO_LARGE: above max.message.bytes, or a decompression limit
	ErrListTooLarge     Kind = 18 // RECORD_LIST_TOO_LARGE: does not fit a segment
	ErrTimestamp        Kind = 32 // INVALID_TIMESTAMP
	ErrUnsupportedCodec Kind = 76 // UNSUPPORTED_COMPRESSION_TYPE
	ErrInvalid          Kind = 87 // INVALID_RECORD
)

// ErrIncomplete means that the bytes end before the batch does.
var ErrIncomplete = errors.New("bytes end inside a record batch")

// Code is Kafka's error code.
func (k Kind) Code() int16 { return int16(k) }

func (k Kind) Error() string {
	switch k {
	case ErrCorrupt:
		return "corrupt batch"
	case ErrTooLarge:
		return "batch too large"
	case ErrListTooLarge:
		return "batch larger than a segment"
	case ErrTimestamp:
		return "invalid timestamp"
	case ErrUnsupportedCodec:
		return "unsupported compression type"
	case ErrInvalid:
		return "invalid record"
	}
	return fmt.Sprintf("batch refused with code %d", int16(k))
}

// RecordError names one record that was refused (KIP-467).
type RecordError struct {
	BatchIndex int32 // index of the record in its batch, from 0
	Message    string
}

// Error is a refused batch. Records is empty unless single records were the
// reason; it then names the first maxRecordErrors of them.
type Error struct {
	Kind    Kind
	Message string
	Records []RecordError
	// Request: the request is at fault, so that Kafka refuses it without asking
	// the log (whose start offset is then not in the answer).
	Request bool
}

func (e *Error) Error() string { return e.Kind.Error() + ": " + e.Message }

// Unwrap makes errors.Is find the kind.
func (e *Error) Unwrap() error { return e.Kind }

func failf(k Kind, format string, args ...any) *Error {
	return &Error{Kind: k, Message: fmt.Sprintf(format, args...)}
}
