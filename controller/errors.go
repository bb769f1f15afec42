package controller

import (
	"errors"
	"fmt"

	"ringmain/metadata"
)

var (
	// ErrClosed: the controller was closed, or closes.
	ErrClosed = errors.New("the controller is closed")

	// ErrStorage: the disk refused. After a full disk the next change may
	// succeed; after a failed sync no change will until a restart.
	ErrStorage = errors.New("metadata storage failed")

	// ErrNotLeader: another node leads the quorum, or none does. Nothing was
	// changed.
	ErrNotLeader = errors.New("this node does not lead the metadata quorum")

	// ErrOutcomeUnknown: leadership was lost while the change was being
	// committed. It may or may not be applied later.
	ErrOutcomeUnknown = errors.New("the outcome of the metadata change is unknown")

	// ErrTooLarge: the records of one change are larger than a log entry may be.
	ErrTooLarge = errors.New("metadata change is too large")

	// ErrDamaged: a file is not as it was written.
	ErrDamaged = errors.New("metadata file is damaged")

	// ErrNewer: a file was written by a newer release. Errors that wrap
	// metadata.ErrNewer are this one too.
	ErrNewer = metadata.ErrNewer

	// ErrForeign: the directory holds files that are not ours.
	ErrForeign = errors.New("directory belongs to something else")

	// ErrIdentity: the directory belongs to another node or cluster.
	ErrIdentity = errors.New("directory belongs to another node or cluster")
)

// DamageError says where a file is not as it was written. It is ErrDamaged.
type DamageError struct {
	File     string
	Position int64
	Reason   string
}

func (e *DamageError) Error() string {
	return fmt.Sprintf("%v: %s at byte %d: %s", ErrDamaged, e.File, e.Position, e.Reason)
}

// Is makes it one of the errors that are compared with ErrDamaged.
func (e *DamageError) Is(target error) bool { return target == ErrDamaged }

// damaged says what is wrong with a file, and where.
func damaged(path string, at int64, format string, args ...any) error {
	return &DamageError{path, at, fmt.Sprintf(format, args...)}
}
