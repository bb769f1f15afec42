package node

import (
	"math"

	"golang.org/x/sys/unix"

	"ringmain/segment"
)

// descriptors is how the process's open files are shared out: one budget, so
// that connections can never take what the logs need, nor the reverse.
type descriptors struct {
	connections int
	logs        int
	unsynced    int // logs, and half of what is kept for the rest
}

// reservedDescriptors are kept for what is neither: the metadata log, event
// loops, the HTTP port, directories and checkpoints.
const reservedDescriptors = 256

// unsyncedShare of the logs' descriptors (one in so many) are not in the budget of
// open files: files with unsynced bytes go beyond the budget until they are synced.
const unsyncedShare = 4

// shareDescriptors gives the logs a third of what the limit allows and the
// connections the rest. limit is ringmain.open.files, 0 for the process's own; each shard has
// a ring for each of its backends.
func shareDescriptors(limit, shards int) descriptors {
	var r unix.Rlimit
	most := 1 << 20
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &r); err == nil && r.Cur < math.MaxInt32 {
		most = int(r.Cur)
	}
	if limit == 0 || limit > most {
		limit = most
	}
	rings := shards * (1 + segment.SyncLanes)
	usable := max(limit-reservedDescriptors-rings, limit/2, 8)
	logs := max(usable/3, 4)
	return descriptors{connections: usable - logs, logs: logs, unsynced: logs + (limit-usable)/2}
}
