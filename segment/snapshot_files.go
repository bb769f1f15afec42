package segment

import (
	"math/rand/v2"
	"path/filepath"
	"slices"

	"ringmain/internal/vfs"
)

// snapshotBytes is how much is appended before the producer state is written
// again: recovery after SIGKILL reads at most so many bytes of headers before
// the recovery point.
const snapshotBytes = 32 << 20

// betweenMax bounds the snapshots inside of segments that wait for the
// checkpoint to catch up.
const betweenMax = 8

// snapshotEvery grows with the table, so that many producers do not turn into
// many bytes written for few appended.
func (l *Log) snapshotEvery() int64 {
	if len(l.producers.byID) == 0 && len(l.snapshots) == 0 {
		return 1 << 62 // no producer was ever seen; the recovery point says so
	}
	return max(snapshotBytes, int64(len(l.producers.byID))*(snapshotEntrySize+keptBatches*snapshotBatchSize)*64)
}

// takeSnapshot encodes the producer state as it is, staged batches included.
func (l *Log) takeSnapshot(offset, segBase, pos int64) []byte {
	return encodeSnapshot(snapshotHead{key: l.key(), offset: offset, segBase: segBase, pos: pos}, &l.producers)
}

// storeSnapshot writes a snapshot file and removes those that no recovery
// will want: all but the ones at segment bases, those above the checkpointed
// recovery point, and the newest below it. Owner. Nothing is synced: a lost
// snapshot costs reading, no correctness.
func (l *Log) storeSnapshot(offset int64, b []byte) {
	path := offsetPath(l.home.path, offset, snapshotSuffix)
	if err := vfs.WriteFile(l.home.fs, path, b, false); err != nil {
		l.log.Warn("cannot write producer snapshot; recovery will read more of the log", "file", path, "error", err)
		return
	}
	l.sinceSnap = 0
	if !slices.Contains(l.snapshots, offset) {
		l.snapshots = append(l.snapshots, offset)
		slices.Sort(l.snapshots)
	}
	l.mu.Lock()
	saved, segs := l.savedPoint.offset, l.segs
	l.mu.Unlock()
	floor := int64(-1)
	for _, o := range l.snapshots {
		if o <= saved {
			floor = o
		}
	}
	keep := l.snapshots[:0]
	between := 0 // newest first: those above the floor that begin no segment
	for n := len(l.snapshots) - 1; n >= 0; n-- {
		o := l.snapshots[n]
		i := segmentOf(segs, o)
		switch {
		case o == floor, i >= 0 && segs[i].base == o:
		case o > floor && between < betweenMax:
			between++
		default:
			l.removeSnapshot(o)
			l.snapshots[n] = -1
		}
	}
	for _, o := range l.snapshots {
		if o >= 0 {
			keep = append(keep, o)
		}
	}
	l.snapshots = keep
}

// dropSnapshotsBelow removes snapshots of which no recovery can go on.
func (l *Log) dropSnapshotsBelow(first int64) {
	for len(l.snapshots) > 0 && l.snapshots[0] < first {
		l.removeSnapshot(l.snapshots[0])
		l.snapshots = l.snapshots[1:]
	}
}

func (l *Log) removeSnapshot(offset int64) {
	name := offsetName(offset, snapshotSuffix)
	if err := l.home.fs.Remove(filepath.Join(l.home.path, name)); err != nil && !isNotExist(err) {
		l.log.Warn("cannot remove old producer snapshot", "directory", l.home.path, "file", name, "error", err)
	}
}

// writeEpochs stores the epoch history. It need not be durable: the recovery point names
// the latest epoch below it, so that a history that lags is noticed and read
// from the log. What could not be written is when the log is closed. Owner.
func (l *Log) writeEpochs(durable bool) {
	l.mu.Lock()
	h := l.epochs
	l.mu.Unlock()
	path := filepath.Join(l.home.path, epochsName)
	err := vfs.WriteFile(l.home.fs, path, h.encode(l.topic), durable)
	if l.lagging = err != nil; l.lagging {
		l.log.Warn("cannot write leader epochs; recovery will read them from the log", "file", path, "error", err)
	}
}

func (l *Log) jitter() int64 {
	if l.cfg.SegmentJitterMs <= 0 {
		return 0
	}
	return min(rand.Int64N(l.cfg.SegmentJitterMs), l.cfg.SegmentMs)
}
