package node

import (
	"os"
	"runtime"
	"sync"
)

// processors is how many the process may use, the limits of its container
// included, as the runtime found it at the start.
var processors = sync.OnceValue(func() int { return runtime.GOMAXPROCS(0) })

// eventLoops leaves half of a larger machine to the shards. On two processors a
// second loop still pays: while one loop waits for its shard, the other reads and
// answers (perf/0007-event-loops.md).
func eventLoops(processors int) int {
	return max(1, processors/2, min(2, processors))
}

// leaveRoom lets the runtime run one goroutine more than there are event loops. A
// loop that waits for the network keeps its place in the runtime's count of
// processors until the runtime's monitor takes it away, and the monitor of an idle
// process looks every 10 ms: with all places held by loops, a shard that was given
// work waits for that (perf/0009-room-beside-the-loops.md). Whoever has set
// GOMAXPROCS has decided.
func leaveRoom(loops int) {
	if os.Getenv("GOMAXPROCS") == "" && runtime.GOMAXPROCS(0) <= loops {
		runtime.GOMAXPROCS(loops + 1)
	}
}
