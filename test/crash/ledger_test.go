package crash

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
)

// ledger keeps what was acknowledged, and judges what is read back.
type ledger struct {
	mu         sync.Mutex
	acked      []map[int64]int // per partition: offset -> rank
	failed     []error
	total      int
	read       []map[int64]int // per partition: offset -> rank
	last       []int           // rank of the record read last, -1 before the first
	start      []int64         // log start that was read back
	asked      []int64         // highest log start that was asked for
	deleted    []int64         // highest one that was acknowledged
	complaints []string
}

func newLedger(partitions int) *ledger {
	l := &ledger{}
	for range partitions {
		l.acked = append(l.acked, map[int64]int{})
		l.read = append(l.read, map[int64]int{})
		l.last = append(l.last, -1)
	}
	l.start, l.asked, l.deleted = make([]int64, partitions), make([]int64, partitions), make([]int64, partitions)
	return l
}

// again is the ledger for reading the same once more.
func (l *ledger) again() *ledger {
	n := newLedger(len(l.acked))
	n.acked, n.total, n.asked, n.deleted = l.acked, l.total, l.asked, l.deleted
	return n
}

// newest is the highest offset that was acknowledged, -1 before the first.
func (l *ledger) newest(partition int32) int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	newest := int64(-1)
	for offset := range l.acked[partition] {
		newest = max(newest, offset)
	}
	return newest
}

// askStart notes that a log start is asked for, ackStart that it was acknowledged.
func (l *ledger) askStart(partition int32, offset int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.asked[partition] = max(l.asked[partition], offset)
}

func (l *ledger) ackStart(partition int32, offset int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.deleted[partition] = max(l.deleted[partition], offset)
}

// foundStart notes the log start that the broker names.
func (l *ledger) foundStart(partition int32, offset int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.start[partition] = offset
	if offset < l.deleted[partition] || offset > l.asked[partition] {
		l.complain("partition %d: the log starts at %d; DeleteRecords up to %d was acknowledged, and up to %d asked for",
			partition, offset, l.deleted[partition], l.asked[partition])
	}
}

// padding makes records large enough that a kill finds batches half written.
var padding = strings.Repeat("x", 200)

func value(partition int32, rank int) []byte {
	return fmt.Appendf(nil, "%d-%d-%s", partition, rank, padding)
}

// rankOf reads a record's rank back; false says that the value is not what was sent.
func rankOf(partition int32, v []byte) (int, bool) {
	f := strings.SplitN(string(v), "-", 3)
	if len(f) != 3 {
		return 0, false
	}
	rank, err := strconv.Atoi(f[1])
	return rank, err == nil && string(v) == string(value(partition, rank))
}

// ack notes the answer to a record.
func (l *ledger) ack(partition int32, rank int, offset int64, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil {
		l.failed = append(l.failed, err)
		return
	}
	l.total++
	if other, ok := l.acked[partition][offset]; ok {
		l.complain("partition %d: offset %d was acknowledged for records %d and %d", partition, offset, other, rank)
	}
	l.acked[partition][offset] = rank
}

func (l *ledger) acknowledged() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.total
}

// found notes a record that was read back; each partition is read in order.
func (l *ledger) found(partition int32, offset int64, v []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	rank, ok := rankOf(partition, v)
	switch {
	case !ok:
		l.complain("partition %d: offset %d holds %.60q", partition, offset, v)
		return
	case rank <= l.last[partition]:
		l.complain("partition %d: offset %d holds record %d behind record %d", partition, offset, rank, l.last[partition])
	}
	l.last[partition] = rank
	l.read[partition][offset] = rank
}

// verdict lists what is wrong once all was read.
func (l *ledger) verdict() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	for p, acked := range l.acked {
		for offset, rank := range acked {
			if offset < l.start[p] {
				continue
			}
			if got, ok := l.read[p][offset]; !ok {
				l.complain("partition %d: record %d was acknowledged at offset %d, where nothing is", p, rank, offset)
			} else if got != rank {
				l.complain("partition %d: record %d was acknowledged at offset %d, where record %d is", p, rank, offset, got)
			}
		}
	}
	return l.complaints
}

func (l *ledger) complain(format string, args ...any) {
	if len(l.complaints) < 20 {
		l.complaints = append(l.complaints, fmt.Sprintf(format, args...))
	}
}
