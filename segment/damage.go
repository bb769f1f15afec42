package segment

import "fmt"

// DamageError says where stored bytes are not what was written. It is
// ErrCorrupt.
type DamageError struct {
	File     string
	Position int64 // in the file
	Offset   int64 // base offset of the batch there, as far as it is known; -1 if not
	Reason   string
}

func (e *DamageError) Error() string {
	return fmt.Sprintf("%v: %s at byte %d: %s", ErrCorrupt, e.File, e.Position, e.Reason)
}

// Is makes it one of the errors that are compared with ErrCorrupt.
func (e *DamageError) Is(target error) bool { return target == ErrCorrupt }

func corrupt(path string, pos int64, format string, args ...any) error {
	return corruptBatch(path, pos, -1, format, args...)
}

// corruptBatch is corrupt for a batch whose offset is known.
func corruptBatch(path string, pos, offset int64, format string, args ...any) error {
	return &DamageError{File: path, Position: pos, Offset: offset, Reason: fmt.Sprintf(format, args...)}
}
