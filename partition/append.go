package partition

import (
	"ringmain/record"
)

// Append asks a shard to append one validated batch. The caller owns the value
// again once Done.Appended was called; until then neither it nor the batch's
// bytes may be touched.
type Append struct {
	Replica *Replica
	Batch   record.Batch
	// MaxTimestamp and AppendTimeMs come from the validation.
	MaxTimestamp int64
	AppendTimeMs int64
	// AcksAll: answer only when the batch is durable on every in-sync replica.
	AcksAll bool
	// Chain is nil unless the batch is worth nothing without others before it.
	Chain *Chain
	Done  Appender

	// The result: BaseOffset and AppendTimeMs of the batch, or of the one it
	// repeats (idempotent producers), or Err.
	BaseOffset int64
	LogStart   int64
	Err        error

	end int64 // offset after the batch: what must be durable
}

// Appender is told of each finished append, on the shard's loop: it must not
// block.
type Appender interface{ Appended(a *Append) }

// Chain are appends to one replica that build on each other: once one has failed, all
// later ones fail too, so what is in the log is always the first of them. Otherwise a
// disk that was full for a moment could leave the second without the first.
// Its field is the shard loop's; never touched elsewhere.
type Chain struct{ broken bool }

// fail ends an append that was not written.
func (a *Append) fail(s *Shard, err error) {
	a.Err = err
	if a.Chain != nil {
		a.Chain.broken = true
	}
	s.finished = append(s.finished, a)
}

// run stages the batch. Its answer comes at the end of the round or, for
// acks=all, after the sync.
func (a *Append) run(s *Shard) {
	r := a.Replica
	role := r.role.Load()
	settings := r.settings.Load()
	var err error
	switch {
	case r.deleted.Load():
		err = ErrDeleted
	case !role.Local:
		err = ErrNotLeader
	case r.log.Err() != nil:
		// Before the check for repetitions: what an offline log remembers of a
		// producer may be what it failed to sync.
		err = r.log.Err()
	case a.AcksAll && role.ISR < min(settings.MinInSyncReplicas, role.Replicas):
		err = ErrNotEnoughReplicas
	case a.Chain != nil && a.Chain.broken:
		err = ErrChainBroken
	}
	if err != nil {
		a.fail(s, err)
		return
	}
	if a.Batch.ProducerID() >= 0 {
		dup, err := r.log.CheckProducer(a.Batch, s.nowMs)
		if err != nil {
			a.fail(s, err)
			return
		}
		if dup != nil {
			// The first copy may still wait for its write or its sync: so does
			// the repetition.
			a.BaseOffset, a.AppendTimeMs = dup.BaseOffset, dup.AppendTimeMs
			if a.AppendTimeMs < 0 {
				a.AppendTimeMs = dup.Timestamp // what Kafka keeps of a batch
			}
			a.end = dup.BaseOffset + int64(a.Batch.LastOffsetDelta()) + 1
			s.appends = append(s.appends, a)
			s.touch(r)
			return
		}
	}
	base, err := r.log.Stage(a.Batch, role.LeaderEpoch, a.MaxTimestamp, s.nowMs)
	if err != nil {
		a.fail(s, err)
		return
	}
	a.BaseOffset = base
	a.end = base + int64(a.Batch.LastOffsetDelta()) + 1
	r.stagedBytes += int64(a.Batch.Size())
	r.unflushed += int64(a.Batch.Count())
	s.appends = append(s.appends, a)
	s.touch(r)
}
