package segment

import (
	"errors"
	"io/fs"
	"syscall"
)

// Errors to compare with errors.Is.
var (
	// ErrStorage: the disk failed this log; it stays failed until it is opened
	// again (KAFKA_STORAGE_ERROR).
	ErrStorage = errors.New("storage failed")
	// ErrNoSpace: the write did not fit (disk, quota or descriptors). Nothing
	// of it remains, and the log can be written again when there is room.
	ErrNoSpace = errors.New("no space left for the log")
	// ErrClosed: the log was closed or deleted.
	ErrClosed = errors.New("log is closed")
	// ErrOffsetOutOfRange: below the log start or above the log end.
	ErrOffsetOutOfRange = errors.New("offset out of range")
	// ErrCorrupt: stored bytes are not what was written.
	ErrCorrupt = errors.New("stored data is damaged")

	// ErrOutOfOrderSequence: a gap in an idempotent producer's sequence (45).
	ErrOutOfOrderSequence = errors.New("out of order sequence number")
	// ErrInvalidProducerEpoch: the producer's epoch is older than known (47).
	ErrInvalidProducerEpoch = errors.New("invalid producer epoch")

	// ErrTopicID: the directory belongs to another topic of the same name.
	ErrTopicID = errors.New("partition directory belongs to another topic id")
	// ErrForeign: the directory was not formatted by Ringmain.
	ErrForeign = errors.New("not a Ringmain data directory")
	// ErrNewer: written by a later version.
	ErrNewer = errors.New("written by a newer version of Ringmain")
	// ErrIdentity: the directory belongs to another cluster or node.
	ErrIdentity = errors.New("data directory belongs to another cluster or node")
	// ErrLocked: another process uses the directory.
	ErrLocked = errors.New("data directory is in use by another process")
)

// errGone: the file was removed while a reader looked for it; look again.
var errGone = errors.New("segment was removed")

// transient reports whether a failed write or create may succeed later and
// has left nothing that cannot be taken back.
func transient(err error) bool {
	for _, e := range []error{syscall.ENOSPC, syscall.EDQUOT, syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

func isNotExist(err error) bool { return errors.Is(err, fs.ErrNotExist) }
