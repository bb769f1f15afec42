package metadata

import "errors"

var (
	// ErrNewer says that bytes were written by a newer release: a record type,
	// a record version or a format version that this one does not know.
	ErrNewer = errors.New("written by a newer release of ringmain")

	// ErrCorrupt says that bytes are not what this package ever wrote.
	ErrCorrupt = errors.New("metadata is damaged")

	// ErrInvalidChange says that records do not fit the image that they were
	// applied to. Nothing of them was applied.
	ErrInvalidChange = errors.New("metadata change does not fit")
)
