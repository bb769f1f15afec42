package segment

import (
	"fmt"
)

// ProbeIO chooses the backend for a log directory. engine is "auto", "uring"
// or "pwritev" (ringmain.io.engine). factory makes one backend per shard; name
// and why are for the log. "auto" takes the full ring where the file system
// completes buffered ring writes at once (XFS), pwritev for data with a ring
// for the syncs of several files where it does not (ext4), and pwritev where
// there is no ring. An error only if engine is "uring" and there is none, or
// engine is unknown.
func ProbeIO(dir, engine string) (factory func() (LogIO, error), name, why string, err error) {
	plain := func() (LogIO, error) { return NewPwritevIO(), nil }
	switch engine {
	case "pwritev":
		return plain, "pwritev", "ringmain.io.engine asks for it", nil
	case "auto", "", "uring":
	default:
		return nil, "", "", fmt.Errorf("ringmain.io.engine=%q: want auto, uring or pwritev", engine)
	}
	factory, name, why, err = probeRing(dir, engine == "uring")
	if err == nil {
		return factory, name, why, nil
	}
	if engine == "uring" {
		return nil, "", "", fmt.Errorf("ringmain.io.engine=uring: %w", err)
	}
	return plain, "pwritev", err.Error(), nil
}
