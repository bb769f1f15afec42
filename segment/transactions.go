package segment

import (
	"math"

	"ringmain/record"
)

// transactions is what a stretch of a log says about the transactions in it.
type transactions struct {
	open    map[int64]int64  // producer: first offset of the transaction without a marker yet
	aborted map[int64][]span // producer: where its aborted records lie
}

// span is offsets from first up to, but not including, end.
type span struct{ first, end int64 }

// data takes up a transactional batch of records.
func (t *transactions) data(b record.Batch) {
	if t.open == nil {
		t.open = map[int64]int64{}
	}
	if _, ok := t.open[b.ProducerID()]; !ok {
		t.open[b.ProducerID()] = b.BaseOffset()
	}
}

// marker takes up the end of a producer's transaction.
func (t *transactions) marker(b record.Batch, m record.Marker) {
	first, ok := t.open[b.ProducerID()]
	if !ok {
		return
	}
	delete(t.open, b.ProducerID())
	if m == record.Abort {
		if t.aborted == nil {
			t.aborted = map[int64][]span{}
		}
		t.aborted[b.ProducerID()] = append(t.aborted[b.ProducerID()], span{first, b.BaseOffset()})
	}
}

// isAborted tells whether a batch belongs to an aborted transaction.
func (t *transactions) isAborted(b record.Batch) bool {
	if !b.Transactional() || b.Control() {
		return false
	}
	for _, s := range t.aborted[b.ProducerID()] {
		if s.first <= b.BaseOffset() && b.BaseOffset() < s.end {
			return true
		}
	}
	return false
}

// firstOpen is the first offset of all transactions that have no marker.
func (t *transactions) firstOpen() int64 {
	first := int64(math.MaxInt64)
	for _, o := range t.open {
		first = min(first, o)
	}
	return first
}
