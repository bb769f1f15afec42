package lag

import (
	"math"
	"slices"
)

// maxSamples bounds what is kept for one partition: what is long ago is known less
// exactly, and never forgotten as long as a group stands before it. With so many the
// time between two is at most a quarter of how long ago they are.
const maxSamples = 64

// sample says that the log ended at end at a time. 16 bytes.
type sample struct {
	ms  int64
	end int64
}

// samples are those of one partition, by time. Where the end stood still, the first
// and the last time of it are kept.
type samples struct{ list []sample }

// add notes the log's end. needed is the lowest offset that somebody may still ask for:
// all samples below it but the last are of no use.
func (s *samples) add(ms, end, needed int64) {
	n := len(s.list)
	switch {
	case n > 0 && (end < s.list[n-1].end || ms < s.list[n-1].ms):
		s.list = s.list[:0] // another log, or the clock was set back: begin anew
	case n > 1 && s.list[n-1].end == end && s.list[n-2].end == end:
		s.list[n-1].ms = ms
		return
	}
	first := 0
	for first+1 < len(s.list) && s.list[first+1].end <= needed {
		first++
	}
	s.list = append(s.list[:0], s.list[first:]...)
	if len(s.list) == maxSamples {
		s.thin(ms)
	}
	s.list = append(s.list, sample{ms, end})
}

// thin drops the sample that is missed least: the time that its neighbours are apart is
// the smallest part of their age. The first one stays.
func (s *samples) thin(nowMs int64) {
	least, drop := math.Inf(1), 0
	for i := 1; i+1 < len(s.list); i++ {
		before, after := s.list[i-1].ms, s.list[i+1].ms
		if part := float64(after-before) / float64(nowMs-before+1); part < least {
			least, drop = part, i
		}
	}
	s.list = slices.Delete(s.list, drop, drop+1)
}

// arrived gives the time at which the record at offset came, between the samples
// around it. known is false where it came before the first sample: ms is when that was.
// A record behind the last sample came after it, at the earliest then. There is a
// sample.
func (s *samples) arrived(offset int64) (ms int64, known bool) {
	if s.list[0].end > offset {
		return s.list[0].ms, false
	}
	i := len(s.list) - 1 // the last sample at which the record was not there yet
	for s.list[i].end > offset {
		i--
	}
	a := s.list[i]
	if i == len(s.list)-1 {
		return a.ms, true
	}
	b := s.list[i+1]
	return a.ms + int64(float64(b.ms-a.ms)*float64(offset-a.end+1)/float64(b.end-a.end)), true
}
