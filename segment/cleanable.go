package segment

import "math"

// Cleanable is what compaction would find in a log.
type Cleanable struct {
	// First and End bound the part that no cleaning has seen and that one may
	// see now, in offsets; there is none if they are equal.
	First, End int64
	CleanBytes int64 // of segments below First
	DirtyBytes int64 // of those from First to End
	// Overdue: a record of that part has waited for max.compaction.lag.ms.
	Overdue bool
	// RollDue: a record of the active segment has, so that the segment must be
	// closed for it to become part of a cleaning.
	RollDue bool
	// FileSyncDue: closed segments are durable in a journal and not in their own
	// files, which is no place to clean them from (BeginFileSync).
	FileSyncDue bool
}

// Ratio is Kafka's dirty ratio: the share of bytes that no cleaning has seen.
func (c Cleanable) Ratio() float64 {
	if c.DirtyBytes == 0 {
		return 0
	}
	return float64(c.DirtyBytes) / float64(c.CleanBytes+c.DirtyBytes)
}

// Cleanable looks at a log with compaction's eyes. cfg is the log's
// configuration (whose own copy is the owner's); records at or above stable
// are not touched, nor are the active segment, what is not synced, and what is
// younger than min.compaction.lag.ms. Any goroutine; may wait for the disk.
func (l *Log) Cleanable(cfg Config, stable, nowMs int64) (Cleanable, error) {
	l.mu.Lock()
	segs, start, end := l.segs, l.start.Load(), l.end.Load()
	active := l.active()
	var c Cleanable
	c.FileSyncDue = l.point.segBase < min(stable, active.base) && l.synced.Load() >= active.base
	stable = min(stable, active.base, l.point.segBase)
	firstTs, written := active.firstTs, active.size > 0
	l.mu.Unlock()

	c.First = l.cleanedTo(start, end)
	c.End = c.First
	bounded := cfg.MaxCompactionLagMs > 0 && cfg.MaxCompactionLagMs < math.MaxInt64
	for _, seg := range segs[:len(segs)-1] {
		switch {
		case seg.next <= start:
			continue
		case seg.next > stable:
			return c, nil
		case seg.next <= c.First:
			c.CleanBytes += seg.size
			continue
		}
		if cfg.MinCompactionLagMs > 0 && seg.size > 0 {
			newest, err := l.newestRecordMs(seg)
			if err != nil {
				return Cleanable{}, err
			}
			if newest > nowMs-cfg.MinCompactionLagMs {
				return c, nil
			}
		}
		if bounded && seg.size > 0 {
			if err := l.load(seg); err != nil {
				return Cleanable{}, err
			}
			l.mu.Lock()
			first := seg.firstTs
			l.mu.Unlock()
			c.Overdue = c.Overdue || first > 0 && nowMs-first > cfg.MaxCompactionLagMs
		}
		c.DirtyBytes += seg.size
		c.End = seg.next
	}
	c.RollDue = bounded && written && firstTs > 0 && nowMs-firstTs > cfg.MaxCompactionLagMs
	return c, nil
}

// cleanedTo is the offset up to which cleanings have seen a log that goes from
// start to end. A checkpoint that lies beyond is of records that were lost.
func (l *Log) cleanedTo(start, end int64) int64 {
	p, ok := l.dir.cleaned.get(l.key())
	if !ok || p.offset > end {
		return start
	}
	return max(start, p.offset)
}

// RollOverdue closes the active segment if its first record has waited for
// max.compaction.lag.ms. Owner.
func (l *Log) RollOverdue(nowMs int64) error {
	if err := l.Err(); err != nil {
		return err
	}
	w := l.active()
	if lag := l.cfg.MaxCompactionLagMs; len(l.staged) == 0 && l.cfg.CompactPolicy && lag > 0 && w.size > 0 &&
		w.firstTs > 0 && nowMs-w.firstTs > lag {
		l.roll()
	}
	return nil
}
