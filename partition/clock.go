package partition

import "time"

// clock is the time of a shard. What is counted in the broker (the age of
// unsynced bytes and of segments, the silence of producers) is counted by start
// time plus monotonic time: a wall clock that is set forward or back changes
// none of it.
type clock struct {
	beganMs int64                // of the wall clock
	elapsed func() time.Duration // since then, monotonic
	wallMs  func() int64
}

func newClock() clock {
	began := time.Now()
	return clock{
		beganMs: began.UnixMilli(),
		elapsed: func() time.Duration { return time.Since(began) },
		wallMs:  func() int64 { return time.Now().UnixMilli() },
	}
}

// ms is start time plus monotonic time, in ms since 1970. It never goes back.
func (c clock) ms() int64 { return c.beganMs + c.elapsed().Milliseconds() }

// retentionMs is the time that retention compares with the timestamps of
// records: ms, so that a wall clock set forward deletes nothing early. Where the
// wall clock was set back it is that one: records that get their timestamps from
// it (LogAppendTime, clients of this machine) would otherwise be born old. A
// restart begins with the wall clock again, which is all that Kafka goes by.
func (c clock) retentionMs() int64 { return min(c.ms(), c.wallMs()) }
