package segment

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sort"
	"sync"
	"sync/atomic"

	"ringmain/model"
	"ringmain/record"
)

// Log is one partition on disk. See doc.go for who may call what.
type Log struct {
	dir   *Dir
	tp    model.TopicPartition
	topic model.TopicID
	home  *home
	log   *slog.Logger

	// Owner only, from here to failed.
	cfg     Config
	w       *segment // takes the next batch; not published while it is in created
	wPos    int64    // its size with staged batches
	next    int64    // end with staged batches
	staged  []stagedBatch
	bufs    [][]byte   // of the write in preparation, reused
	created []*segment // by rolls since the last Flush
	closing []rolled   // segments that these rolls close
	touched bool       // something was written since the log was opened
	lagging bool       // the file of epochs could not be written
	noted   newestNote // as the checkpoint has it

	producers producerTable
	snapshots []int64 // offsets of the snapshot files, ascending
	sinceSnap int64   // bytes appended since the newest

	dirty          []*segment // have bytes that no sync covers
	inflight       []*segment // are being synced
	inflightActive *segment   // of them, the one that was the last
	behind         *segment   // has bytes that are in a journal, and perhaps not in its file's sync yet
	inflightPoint  point      // what that sync makes the recovery point
	inflightBytes  int64
	unsynced       int64 // bytes
	unsyncedSince  int64 // ms, of the oldest of them
	lastNowMs      int64

	failed   atomic.Pointer[error] // set once; any
	closed   atomic.Bool
	cleaning atomic.Bool // a cleaning is under way; any

	unsettled []replacement // took place, and are not ended yet; guarded by home.names

	// Published: any goroutine reads, the owner writes.
	start  atomic.Int64
	end    atomic.Int64
	synced atomic.Int64
	bytes  atomic.Int64 // of all segments

	// mu guards what follows and the fields of segments that say so. Never
	// held over a system call.
	mu         sync.Mutex
	segs       []*segment // ascending, at least one; shared with readers, so changed by append or copy only
	recent     recentBatches
	epochs     epochHistory
	leader     int32 // epoch of StartEpoch that has no batch yet, or -1
	point      point // recovery point
	savedPoint point // as the checkpoint has it
	lost       []lostSpan
}

func (l *Log) key() pointKey { return pointKey{l.topic, l.tp.Partition} }

// TopicPartition names the partition.
func (l *Log) TopicPartition() model.TopicPartition { return l.tp }

// TopicID is the id of the topic the log belongs to.
func (l *Log) TopicID() model.TopicID { return l.topic }

// Path is the partition's directory. It exists from the first append on.
func (l *Log) Path() string { return l.home.path }

// Dir is the log directory.
func (l *Log) Dir() *Dir { return l.dir }

// StartOffset is the first offset that may be read. Any goroutine.
func (l *Log) StartOffset() int64 { return l.start.Load() }

// EndOffset is the offset that the next record gets (LEO). Any goroutine.
func (l *Log) EndOffset() int64 { return l.end.Load() }

// SyncedOffset: every record below it is on disk. Any goroutine.
func (l *Log) SyncedOffset() int64 { return l.synced.Load() }

// Size is the bytes of all segments. Any goroutine.
func (l *Log) Size() int64 { return l.bytes.Load() }

// SegmentCount is the number of segments, the active one included. Any
// goroutine.
func (l *Log) SegmentCount() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.segs)
}

// Err is nil, or why the log is offline. Any goroutine.
func (l *Log) Err() error {
	if p := l.failed.Load(); p != nil {
		return *p
	}
	if l.closed.Load() {
		return ErrClosed
	}
	return nil
}

// fail takes the log offline for good. The first reason stays.
func (l *Log) fail(cause error) error {
	err := fmt.Errorf("%w: %s: %w", ErrStorage, l.tp, cause)
	if errors.Is(cause, ErrStorage) {
		err = cause
	}
	if l.failed.CompareAndSwap(nil, &err) {
		l.log.Error("partition is offline: its log failed, and no write is tried again before a restart",
			"partition", l.tp.String(), "directory", l.home.path, "error", cause)
	}
	return l.Err()
}

// Fail takes the log offline: a sync of one of its files failed that nobody waited
// for. Owner.
func (l *Log) Fail(cause error) { _ = l.fail(cause) }

// SetConfig changes the configuration. Owner.
func (l *Log) SetConfig(c Config) { l.cfg = c.withFloor() }

// CheckProducer says whether a client's batch may be appended. dup: it is
// already there (or staged: answer only after that round's Flush) and must
// not be staged again; the result is valid until the next Stage.
// ErrOutOfOrderSequence, ErrInvalidProducerEpoch. Owner.
func (l *Log) CheckProducer(b record.Batch, nowMs int64) (dup *BatchMeta, err error) {
	return l.producers.check(b)
}

// ExpireProducers forgets producers that wrote nothing for
// producer.id.expiration.ms. Owner.
func (l *Log) ExpireProducers(nowMs int64) {
	if len(l.producers.byID) > 0 && len(l.staged) == 0 {
		l.producers.expire(nowMs, l.cfg.ProducerExpirationMs)
	}
}

// Producers lists the active producers by id. Any goroutine.
func (l *Log) Producers() []ProducerInfo { return l.producers.list() }

// StartEpoch says that a leader epoch begins here. It becomes part of the
// stored history with the first batch that carries it; until then it counts
// as beginning at the log end. Owner.
func (l *Log) StartEpoch(epoch int32) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if epoch > l.epochs.latest() {
		l.leader = epoch
	}
}

// history is the epochs including one that has no batch yet.
func (l *Log) history() epochHistory {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.leader > l.epochs.latest() {
		return slices.Clone(l.epochs).with(l.leader, l.end.Load())
	}
	return l.epochs
}

// storedEpochs is the epochs that batches have.
func (l *Log) storedEpochs() epochHistory {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.epochs
}

// LatestEpoch is the newest leader epoch, -1 if none. Any goroutine.
func (l *Log) LatestEpoch() int32 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return max(l.leader, l.epochs.latest())
}

// EpochAt is the leader epoch of the record at offset; at the log end, the
// newest. -1 if unknown. Any goroutine.
func (l *Log) EpochAt(offset int64) int32 { return l.history().at(offset) }

// EpochEnd answers OffsetForLeaderEpoch: the largest epoch <= the requested
// one, and its end offset. Above all known or none known: -1 and -1. Below all
// known: the requested epoch and the start of the first known (as Kafka's
// followers expect). Any goroutine.
func (l *Log) EpochEnd(epoch int32) (int32, int64) {
	return l.history().end(epoch, l.end.Load())
}

// active is the last segment. mu is held, or the caller is the owner.
func (l *Log) active() *segment { return l.segs[len(l.segs)-1] }

// segmentOf finds the segment that would hold offset.
func segmentOf(segs []*segment, offset int64) int {
	return sort.Search(len(segs), func(i int) bool { return segs[i].base > offset }) - 1
}

// segmentList lets a reader walk the segments without the lock.
func (l *Log) segmentList() []*segment {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.segs
}

// newPoint gives the recovery point if it moved since it was last saved; none of a log that
// is closed.
func (l *Log) newPoint() (point, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed.Load() || l.point == l.savedPoint {
		return point{}, false
	}
	l.savedPoint = l.point
	return l.point, true
}

// unsave makes the next Checkpoint write the point again.
func (l *Log) unsave() {
	l.mu.Lock()
	l.savedPoint = point{offset: -1}
	l.mu.Unlock()
}
