package segment

import (
	"math"

	"ringmain/record"
)

// sieve decides which records of a log survive a cleaning. Batches go through
// it in the order of the log, from its first segment on. One goroutine.
type sieve struct {
	keys      *offsetMap
	end       int64 // the map speaks of records below; what lies above stays as it is
	txns      transactions
	producers map[int64]lastWrite // the live ones
	nowMs     int64
	horizonMs int64 // for tombstones and markers that get one now

	epoch int32              // newest so far
	open  map[int64]struct{} // producers with transactional records since their last marker
	keep  []bool             // scratch: by index in the batch
}

// lastWrite is the last batch of a live producer.
type lastWrite struct {
	offset int64 // its last offset, -1 if there is none below the end
	epoch  int16
	marked bool // it wrote nothing but markers
}

func newSieve(keys *offsetMap, end int64, txns transactions, producers map[int64]lastWrite, nowMs, deleteRetentionMs int64) *sieve {
	s := &sieve{keys: keys, end: end, txns: txns, producers: producers, nowMs: nowMs, epoch: -1, open: map[int64]struct{}{}}
	s.horizonMs = math.MaxInt64
	if deleteRetentionMs < math.MaxInt64-nowMs {
		s.horizonMs = nowMs + deleteRetentionMs
	}
	return s
}

// pass returns what is left of a batch: the batch itself, one with fewer
// records or none, or nil. A batch without records is kept where it still says
// something: to a producer, its sequence; to leader epochs, where one begins;
// to recovery, being the last of a segment, where that ends.
func (s *sieve) pass(b record.Batch, lastOfSegment bool) (record.Batch, error) {
	needed := lastOfSegment || b.LeaderEpoch() > s.epoch || s.lastOfProducer(b)
	s.epoch = max(s.epoch, b.LeaderEpoch())
	if b.BaseOffset() >= s.end {
		return b, nil
	}
	left, err := s.records(b)
	if err != nil || left != nil && left.Count() > 0 {
		return left, err
	}
	switch {
	case !needed:
		return nil, nil
	case b.Count() == 0:
		return b, nil
	}
	return record.Emptied(b), nil
}

func (s *sieve) lastOfProducer(b record.Batch) bool {
	last, live := s.producers[b.ProducerID()]
	if b.ProducerID() < 0 || !live {
		return false
	}
	if last.marked {
		return b.Control() && b.ProducerEpoch() == last.epoch
	}
	return b.LastOffset() == last.offset
}

// records returns the batch with those records that stay, nil if none does.
func (s *sieve) records(b record.Batch) (record.Batch, error) {
	switch {
	case b.Control():
		return s.marker(b)
	case b.Transactional():
		s.open[b.ProducerID()] = struct{}{}
		if s.txns.isAborted(b) {
			return nil, nil
		}
	}
	if b.Count() == 0 {
		return nil, nil
	}
	kept, tombstones, err := s.choose(b)
	if err != nil || kept == 0 {
		return nil, err
	}
	horizon := int64(0)
	// A batch that the map covers in part gets its horizon when the map has
	// reached all of it.
	if _, has := b.DeleteHorizon(); !has && tombstones && b.LastOffset() < s.end {
		horizon = s.horizonMs
	}
	if kept == len(s.keep) && horizon == 0 {
		return b, nil
	}
	return record.Retain(b, func(i int) bool { return s.keep[i] }, horizon)
}

// choose marks in keep the records that stay.
func (s *sieve) choose(b record.Batch) (kept int, tombstones bool, err error) {
	horizon, has := b.DeleteHorizon()
	buried := has && horizon <= s.nowMs // readers have had their time to see the tombstones
	s.keep = s.keep[:0]
	err = record.Each(b, func(rec record.Record) (bool, error) {
		stays := rec.Offset >= s.end
		if !stays && rec.Key != nil { // a record without key is of a time when the topic was not compacted
			stays = s.keys.newest(rec.Key) <= rec.Offset && (rec.Value != nil || !buried)
		}
		s.keep = append(s.keep, stays)
		if stays {
			kept++
			tombstones = tombstones || rec.Value == nil
		}
		return true, nil
	})
	return kept, tombstones, err
}

// marker decides on a control batch: it stays while records of its transaction
// were there at this cleaning, then until a horizon that is set when they are
// gone.
func (s *sieve) marker(b record.Batch) (record.Batch, error) {
	m, ok, err := record.MarkerOf(b)
	if err != nil || !ok {
		return nil, err
	}
	if m != record.Abort && m != record.Commit {
		return b, nil // not of a transaction
	}
	_, data := s.open[b.ProducerID()]
	delete(s.open, b.ProducerID())
	if data {
		return b, nil
	}
	horizon, has := b.DeleteHorizon()
	switch {
	case has && horizon <= s.nowMs:
		return nil, nil
	case has:
		return b, nil
	}
	return record.Retain(b, func(int) bool { return true }, s.horizonMs)
}
