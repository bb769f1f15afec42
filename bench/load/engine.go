package load

import (
	"context"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"ringmain/bench/audit"
	"ringmain/bench/workload"
)

// Engine carries one load out.
//
// A run goes in this order: Open, Run, Close. Close may come at any time after Open
// began, and more than once.
type Engine interface {
	// Open connects and prepares, so that Run can begin at once. It sends nothing
	// that is part of the load (opening connections is the load of Storm and Idle,
	// which therefore do that in Run).
	Open(ctx context.Context) error
	// Run sends, as the workload says, the schedule beginning at begin on the clock of
	// pace.Now, until stop is closed. It then takes the answers that are under way and,
	// where the load reads what it writes, reads until everything acknowledged was seen
	// (Book.Unseen), but no longer than Env.Patience. A request that failed is noted
	// in the meter and does not end Run; what makes going on pointless does.
	Run(ctx context.Context, begin time.Duration, stop <-chan struct{}) error
	// Close gives everything back.
	Close()
}

// Env is what an engine is given.
type Env struct {
	Spec       workload.Spec
	Bootstrap  []string  // host:port
	Client     []kgo.Opt // how to reach the cluster: addresses, security
	Partitions []Partition
	// Book is the account of the records; nil: records carry no stamps (audit.Stamp)
	// and nothing is checked.
	Book *audit.Book
	// Dense: every offset between a partition's bounds has a record, so whoever reads
	// without a book notes each gap (Meter.Missed). A compacted topic is not dense.
	Dense    bool
	Meter    *Meter
	Patience time.Duration // how long the end may take
}

// Partition is one partition of the load. Its index in Env.Partitions is the number
// that stamps and the book use.
type Partition struct {
	Topic   string
	TopicID [16]byte
	Index   int32  // within its topic
	Leader  string // host:port
	// Start and End are the log's bounds when the load begins: fetches of what is
	// there stay within them, and those at the tail begin at End.
	Start, End int64
}
