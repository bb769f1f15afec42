package broker

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"ringmain/controller"
	"ringmain/metadata"
	"ringmain/model"
	"ringmain/segment"
	"ringmain/wire"
)

// admin is what the administrative handlers need. They run on the bounded pool
// and may block: on the metadata log, on the applier, on a directory.
//
// Every change follows one pattern. What can be checked without the metadata
// is checked first; the rest is checked inside Metadata.Change, against the
// image that the records will be applied to, so of two requests that exclude
// each other only one succeeds. The answer is given when the change is served
// here: a client that produces to a new topic right after the answer finds its
// leader.
type admin struct {
	cfg      Settings
	meta     Metadata
	logs     Logs
	configs  configsOf
	replicas *replicas
	loggers  loggers
	log      *slog.Logger
	damage   *damageLog
	now      func() time.Time
}

// Settings are the values that do not change while the broker runs. The node
// fills them from server.properties.
type Settings struct {
	NodeID int32 // node.id

	NumPartitions            int32 // num.partitions: what -1 stands for in CreateTopics, and auto-creation
	DefaultReplicationFactor int16 // default.replication.factor, likewise
	AutoCreateTopics         bool  // auto.create.topics.enable
	DeleteTopics             bool  // delete.topic.enable

	// MaxRequestPartitions is max.request.partition.size.limit: the most
	// partitions that one answer of DescribeTopicPartitions holds.
	MaxRequestPartitions int32
	// MaxNewPartitions is ringmain.request.max.partitions: the most partitions
	// that one request may create.
	MaxNewPartitions int32

	MaxTransactionTimeoutMs int32 // transaction.max.timeout.ms

	FetchMaxBytes  int32         // fetch.max.bytes
	RetentionCheck time.Duration // log.retention.check.interval.ms

	FetchSessions int // max.incremental.fetch.session.cache.slots
	PoolSize      int // goroutines for what blocks or takes long

	Groups GroupSettings
}

// Metadata is what handlers read and change the metadata with: the controller,
// and the applier that serves what was changed.
type Metadata interface {
	metadataWriter
	// WaitServed returns when everything up to index is served by this broker:
	// logs created or deleted, configurations in effect.
	WaitServed(ctx context.Context, index int64) error
}

// metadataWriter is the part of Metadata that is the controller's.
type metadataWriter interface {
	// Image gives the metadata as this broker has it now.
	Image() *metadata.Image
	// Change runs fn against the newest image, with every earlier change
	// applied and no other change in between, writes the records it returns
	// and waits until they are applied here. It gives their index in the
	// metadata log. An error of fn is given back as it is, and nothing is
	// written.
	Change(ctx context.Context, fn func(*metadata.Image) ([]metadata.Record, error)) (int64, error)
	// AllocateProducerID gives a producer id that nobody had before.
	AllocateProducerID() (int64, error)
	// Quorum describes the metadata quorum.
	Quorum() controller.QuorumInfo
}

// Logs is what handlers ask about the logs on this broker.
type Logs interface {
	// DirInfo describes every log directory, online or not.
	DirInfo() []LogDirInfo
	// Producers lists the idempotent producers that the partition's log
	// remembers. It fails with what partitionCode maps if this broker does not
	// lead the partition.
	Producers(tp model.TopicPartition) ([]segment.ProducerInfo, error)
}

// LogDirInfo describes one log directory (log.dirs).
type LogDirInfo struct {
	Path        string
	TotalBytes  int64 // size of its volume, -1 if unknown
	UsableBytes int64 // free for us on its volume, -1 if unknown
	Err         error // why the directory is offline; nil if it is not
	Partitions  []LogSize
}

// LogSize is the size of one partition's log.
type LogSize struct {
	TP        model.TopicPartition
	SizeBytes int64
}

// call describes one request as a handler sees it.
type call struct {
	header   wire.Header
	listener string // name of the listener that the connection came in on
	remoteIP string
}

// adminHandler answers one request. The dispatch sets the version of what it
// returns.
type adminHandler func(a *admin, ctx context.Context, c *call, req kmsg.Request) kmsg.Response

// api is one row of the table that dispatch and ApiVersions work from.
type api struct {
	key      int16
	min, max int16 // served versions
	// advertisedMin is given to clients instead of min by Produce, and by
	// Produce alone (librdkafka, see there).
	advertisedMin int16
	// serve answers; nil for what the broker serves itself (Produce, Fetch) and for
	// what goes to the group coordinator.
	serve adminHandler
	// group serves a request to the group coordinator.
	group groupHandler
	// quick handlers neither block nor take long and run on the connection's
	// loop; the others go to the pool.
	quick bool
}

// change runs one change with the client's timeout and waits until it is
// served here. plan is as fn of Metadata.Change; what it finds out about single
// items it keeps to itself, so that some may fail and others succeed. It does
// not run any more once change has returned, even when the time was over
// before its turn came: what it writes to is the handler's alone then.
func (a *admin) change(ctx context.Context, timeoutMs int32, plan func(*metadata.Image) ([]metadata.Record, error)) error {
	ctx, cancel := context.WithTimeout(ctx, time.Duration(timeoutMs)*time.Millisecond)
	defer cancel()
	var mu sync.Mutex
	over := false
	index, err := a.meta.Change(ctx, func(img *metadata.Image) ([]metadata.Record, error) {
		mu.Lock()
		defer mu.Unlock()
		if over {
			return nil, context.Canceled
		}
		return plan(img)
	})
	mu.Lock()
	over = true
	mu.Unlock()
	if err != nil {
		return err
	}
	return a.meta.WaitServed(ctx, index)
}

// configTimeoutMs bounds a change of the requests that carry no timeout of
// their own (AlterConfigs, IncrementalAlterConfigs, auto-creation) or one that Kafka
// does not look at (UpdateFeatures). It is
// request.timeout.ms of Kafka's clients.
const configTimeoutMs = 30000
