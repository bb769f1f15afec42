package partition

import (
	"errors"
	"strings"
	"sync/atomic"

	"ringmain/metrics"
	"ringmain/model"
	"ringmain/record"
	"ringmain/segment"
)

// Errors that a replica gives. Those of package segment pass through.
var (
	// ErrNotLeader: this broker does not lead the partition (any more).
	ErrNotLeader = errors.New("partition: this broker does not lead the partition")
	// ErrDeleted: the partition's topic was deleted.
	ErrDeleted = errors.New("partition: the partition was deleted")
	// ErrNotEnoughReplicas: fewer in-sync replicas than min.insync.replicas; nothing was appended.
	ErrNotEnoughReplicas = errors.New("partition: fewer in-sync replicas than min.insync.replicas")
	// ErrChainBroken: an append that this one builds on has failed; nothing was appended.
	ErrChainBroken = errors.New("partition: an earlier append that this one builds on failed")
	// ErrFencedEpoch: the request names a leader epoch older than ours (KIP-320).
	ErrFencedEpoch = errors.New("partition: leader epoch of the request is older than the leader's")
	// ErrUnknownEpoch: the request names a leader epoch that we have not heard of yet (KIP-320).
	ErrUnknownEpoch = errors.New("partition: leader epoch of the request is newer than the leader's")
	// ErrClosed: the broker is stopping.
	ErrClosed = errors.New("partition: the broker is stopping")
)

// Settings are a topic's settings as a replica needs them. Immutable: a change
// of configuration publishes a new one.
type Settings struct {
	Log               segment.Config
	Rules             record.Rules
	MinInSyncReplicas int
	// PageCache answers acks=all once the bytes are written, before they are
	// synced (ringmain.durability=page-cache).
	PageCache bool
	// FlushMessages forces a sync after that many records (flush.messages).
	FlushMessages int64
	// FlushMs forces a sync once unsynced records are that old (flush.ms).
	FlushMs int64
	// MinCleanableRatio is the share of the log that must be dirty before it is
	// compacted (min.cleanable.dirty.ratio).
	MinCleanableRatio float64
}

// Role is what the metadata says of this broker's part in a partition.
type Role struct {
	Leader      int32 // broker id, model.NoBroker when there is none
	LeaderEpoch int32
	ISR         int  // how many replicas are in sync
	Replicas    int  // how many there are; min.insync.replicas never asks for more
	Local       bool // Leader is this broker
}

// Replica is this broker's copy of one partition. The fields of its owner are
// touched by its shard's loop only; the rest is safe from any goroutine.
type Replica struct {
	TP      model.TopicPartition
	TopicID model.TopicID
	Class   metrics.Class // the broker's own topic, or a client's

	shard    *Shard
	log      *segment.Log
	settings atomic.Pointer[Settings]
	role     atomic.Pointer[Role]
	hw       atomic.Int64
	deleted  atomic.Bool
	unsynced atomic.Int64 // bytes that wait for a sync to begin

	// Owned by the shard loop; never touched elsewhere.
	full        bool // the last write found no room
	staged      bool // has staged batches in this round
	stagedBytes int64
	unflushed   int64           // records appended since the last sync began (flush.messages)
	syncing     bool            // a sync of this log is under way
	files       []segment.Dirty // of that sync
	watched     bool            // listed in shard.unsynced
	durable     []*Append       // acks=all appends that wait for a sync, by offset
	waiters     []*Waiter
	sweepAt     int // waiters' length at which the fired ones are removed
}

// NewReplica makes the replica of an opened log. The log's end is its high
// watermark: one replica is the whole in-sync set.
func NewReplica(tp model.TopicPartition, id model.TopicID, log *segment.Log, s *Settings, role Role) *Replica {
	r := &Replica{TP: tp, TopicID: id, log: log, sweepAt: 8}
	if strings.HasPrefix(tp.Topic, "__") {
		r.Class = metrics.Internal
	}
	r.settings.Store(s)
	r.role.Store(&role)
	r.hw.Store(log.EndOffset())
	log.StartEpoch(role.LeaderEpoch)
	return r
}

// Settings gives the settings in force.
func (r *Replica) Settings() *Settings { return r.settings.Load() }

// Role gives what the metadata says last.
func (r *Replica) Role() Role { return *r.role.Load() }

// Log gives the log, for the reads that any goroutine may do.
func (r *Replica) Log() *segment.Log { return r.log }

// HighWatermark is the offset below which every in-sync replica has the records.
func (r *Replica) HighWatermark() int64 { return r.hw.Load() }

// UnsyncedBytes is how many bytes of the log wait for a sync to begin.
func (r *Replica) UnsyncedBytes() int64 { return r.unsynced.Load() }

// noteUnsynced publishes what only the owner may ask the log.
func (r *Replica) noteUnsynced() { r.unsynced.Store(r.log.UnsyncedBytes()) }

// LastStableOffset is the high watermark while no transaction can be open.
func (r *Replica) LastStableOffset() int64 { return r.hw.Load() }

// Deleted reports that the partition has been deleted.
func (r *Replica) Deleted() bool { return r.deleted.Load() }

// CheckLeader is what every request that needs the leader asks first. epoch is
// the request's current leader epoch, model.NoEpoch when it names none
// (KIP-320).
func (r *Replica) CheckLeader(epoch int32) error {
	role := r.role.Load()
	switch {
	case r.deleted.Load():
		return ErrDeleted
	case !role.Local:
		return ErrNotLeader
	case epoch == model.NoEpoch || epoch == role.LeaderEpoch:
		return nil
	case epoch < role.LeaderEpoch:
		return ErrFencedEpoch
	default:
		return ErrUnknownEpoch
	}
}

// Shard gives the loop that owns the replica.
func (r *Replica) Shard() *Shard { return r.shard }
