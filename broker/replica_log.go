package broker

import (
	"ringmain/coordinator"
	"ringmain/metrics"
	"ringmain/partition"
	"ringmain/record"
)

// replicaLog is a replica as a coordinator sees it. Two of the same replica are equal.
type replicaLog struct {
	replica *partition.Replica
	metrics *metrics.Recorder
}

// logAppend is an append of a coordinator until it is durable.
type logAppend struct {
	partition.Append
	metrics *metrics.Recorder
	done    func(err error)
}

// replicaWriter is a coordinator.Writer.
type replicaWriter struct {
	replicaLog
	chain *partition.Chain
}

// Writer implements coordinator.Log.
func (l replicaLog) Writer() coordinator.Writer { return replicaWriter{l, &partition.Chain{}} }

// MaxBatchBytes implements coordinator.Log.
func (l replicaLog) MaxBatchBytes() int { return int(l.replica.Settings().Rules.MaxMessageBytes) }

// Append implements coordinator.Writer.
func (l replicaWriter) Append(b record.Batch, done func(err error)) {
	a := &logAppend{metrics: l.metrics, done: done}
	a.Append = partition.Append{Replica: l.replica, Batch: b, MaxTimestamp: b.MaxTimestamp(), AppendTimeMs: -1, AcksAll: true, Chain: l.chain, Done: a}
	if err := l.replica.Shard().Post(&a.Append); err != nil {
		done(err)
	}
}

// Appended implements partition.Appender. Called on a shard's loop.
func (a *logAppend) Appended(*partition.Append) {
	if a.Err == nil {
		a.metrics.Append(a.Replica.Class, int(a.Batch.Count()), a.Batch.Size())
	}
	a.done(a.Err)
}

// Bounds implements coordinator.Log.
func (l replicaLog) Bounds() (start, end int64) {
	return l.replica.Log().StartOffset(), l.replica.HighWatermark()
}

// Secure implements coordinator.Log. What an earlier process wrote and did not sync
// is in the page cache only.
func (l replicaLog) Secure(end int64) error {
	log := l.replica.Log()
	if err := log.Err(); err != nil {
		return err
	}
	if l.replica.Settings().PageCache || log.SyncedOffset() >= end {
		return nil
	}
	return l.replica.SyncFiles()
}

// Read implements coordinator.Log.
func (l replicaLog) Read(offset, end int64, most int, buf []byte) ([]byte, error) {
	r, err := l.replica.Log().Plan(offset, end, most, true)
	if err != nil {
		return nil, err
	}
	defer r.Release()
	if r.N == 0 {
		return buf[:0], nil
	}
	if !r.Ready() {
		if _, err := r.Warm(); err != nil {
			return nil, err
		}
	}
	if cap(buf) < r.N {
		buf = make([]byte, r.N)
	}
	buf = buf[:r.N]
	_, err = r.File.ReadAt(buf, r.Off)
	return buf, err
}

var _ coordinator.Log = replicaLog{}
