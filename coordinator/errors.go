package coordinator

import "errors"

// Why a request was not served, or why its outcome is unknown. Clients try all of
// them again.
var (
	// ErrNotCoordinator: another broker leads the partition (NOT_COORDINATOR).
	ErrNotCoordinator = errors.New("coordinator: this broker is not the coordinator of the group")
	// ErrLoading: the partition is still being read (COORDINATOR_LOAD_IN_PROGRESS).
	ErrLoading = errors.New("coordinator: the coordinator is loading the group's partition")
	// ErrUnavailable: the write failed or the broker stops; what was asked may or may
	// not have happened (COORDINATOR_NOT_AVAILABLE).
	ErrUnavailable = errors.New("coordinator: the coordinator is not available")
)
