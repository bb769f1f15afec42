package segment

import (
	"fmt"
	"slices"
	"sync"

	"ringmain/record"
)

// keptBatches is how many batches of a producer can be recognised as
// duplicates: as many as a client may have in flight (KIP-98).
const keptBatches = 5

// BatchMeta is what is remembered of an idempotent producer's batch.
type BatchMeta struct {
	FirstSequence int32
	LastSequence  int32
	BaseOffset    int64
	LastOffset    int64
	Timestamp     int64 // largest of the batch, ms since 1970
	AppendTimeMs  int64 // as answered to the producer: -1 for CreateTime
}

// producer is one producer's state on one partition.
type producer struct {
	id               int64
	epoch            int16
	n                uint8 // batches kept
	doubt            bool  // batches after these may be damaged: it may be further on
	coordinatorEpoch int32 // -1 until transactions exist
	txnStart         int64 // first offset of the open transaction, -1 if none
	lastSeenMs       int64 // by our clock
	batches          [keptBatches]BatchMeta
}

// mayHaveReached reports whether all between the last batch that is known and one of this
// sequence may lie in damage. Sequences go round in 31 bits.
func (p *producer) mayHaveReached(sequence int32) bool {
	return p.doubt && (sequence-p.last().LastSequence-1)&0x7fffffff < 1<<30
}

func (p *producer) last() *BatchMeta { return &p.batches[p.n-1] }

// ProducerInfo describes an active producer (DescribeProducers).
type ProducerInfo struct {
	ProducerID         int64
	ProducerEpoch      int32
	LastSequence       int32 // -1 if none
	LastTimestamp      int64 // ms since 1970, -1 if none
	CoordinatorEpoch   int32
	CurrentTxnStartOff int64
}

// producerTable is the state of all producers on one partition. The owner
// changes it; mu lets others list it.
type producerTable struct {
	mu   sync.Mutex
	byID map[int64]*producer
	undo []producer // states before the staged batches; n = 255: was not there
}

const wasAbsent = 255

// noProducerEpoch is the epoch of a batch that names none. Whatever its producer sends
// next is in sequence, as in Kafka.
const noProducerEpoch = -1

// check implements Kafka's rules for a client's batch. now is not needed:
// expiry happens in expire.
func (t *producerTable) check(b record.Batch) (*BatchMeta, error) {
	id := b.ProducerID()
	if id < 0 {
		return nil, nil
	}
	epoch, first, last := b.ProducerEpoch(), b.BaseSequence(), b.LastSequence()
	if epoch < noProducerEpoch {
		return nil, fmt.Errorf("%w: producer %d sent epoch %d, which cannot be", ErrInvalidProducerEpoch, id, epoch)
	}
	p := t.byID[id]
	if p == nil {
		return nil, nil // new, expired or retained away: any sequence may begin
	}
	if epoch == p.epoch {
		for i := range p.batches[:p.n] {
			if m := &p.batches[i]; m.FirstSequence == first && m.LastSequence == last {
				return m, nil
			}
		}
	}
	switch {
	case epoch < p.epoch:
		return nil, fmt.Errorf("%w: producer %d sent epoch %d, the newest known is %d", ErrInvalidProducerEpoch, id, epoch, p.epoch)
	case p.epoch == noProducerEpoch:
	case epoch > p.epoch:
		if first != 0 && !p.doubt {
			return nil, fmt.Errorf("%w: producer %d begins epoch %d with sequence %d, want 0", ErrOutOfOrderSequence, id, epoch, first)
		}
	case p.n > 0 && first != (p.last().LastSequence+1)&0x7fffffff && !p.mayHaveReached(first):
		return nil, fmt.Errorf("%w: producer %d sent sequence %d after %d", ErrOutOfOrderSequence, id, first, p.last().LastSequence)
	}
	return nil, nil
}

// add takes a batch up that has its offset. keepUndo: it may be taken back.
func (t *producerTable) add(b record.Batch, seenMs int64, keepUndo bool) {
	id := b.ProducerID()
	if id < 0 || b.Control() {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	p := t.byID[id]
	if keepUndo {
		if p == nil {
			t.undo = append(t.undo, producer{id: id, n: wasAbsent})
		} else {
			t.undo = append(t.undo, *p)
		}
	}
	if p == nil {
		p = &producer{id: id, epoch: b.ProducerEpoch(), coordinatorEpoch: -1, txnStart: -1}
		if t.byID == nil {
			t.byID = make(map[int64]*producer)
		}
		t.byID[id] = p
	}
	if e := b.ProducerEpoch(); e != p.epoch {
		p.epoch, p.n = e, 0
	}
	if p.n == keptBatches {
		copy(p.batches[:], p.batches[1:])
		p.n--
	}
	appendTime := int64(-1)
	if b.LogAppendTime() {
		appendTime = b.MaxTimestamp()
	}
	p.batches[p.n] = BatchMeta{
		FirstSequence: b.BaseSequence(), LastSequence: b.LastSequence(),
		BaseOffset: b.BaseOffset(), LastOffset: b.LastOffset(),
		Timestamp: b.MaxTimestamp(), AppendTimeMs: appendTime,
	}
	p.n++
	p.doubt = false
	p.lastSeenMs = seenMs
}

// doubtAll says that the log has damage here, which may hold batches of any producer.
func (t *producerTable) doubtAll() {
	for _, p := range t.byID {
		p.doubt = true
	}
}

// surprising reports whether a batch that lies in the log does not go on where its producer
// was: batches were lost or cleaned before it, or what it says is not what was written.
func (t *producerTable) surprising(b record.Batch) bool {
	id := b.ProducerID()
	if id == -1 || b.Control() {
		return false
	}
	p := t.byID[id]
	if p == nil {
		return id < -1 || b.BaseSequence() != 0
	}
	return b.ProducerEpoch() != p.epoch || p.n > 0 && b.BaseSequence() != (p.last().LastSequence+1)&0x7fffffff
}

// settle forgets how to take the staged batches back.
func (t *producerTable) settle() {
	t.undo = t.undo[:0]
}

// rollBack takes them back, the newest first.
func (t *producerTable) rollBack() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i := len(t.undo) - 1; i >= 0; i-- {
		if u := t.undo[i]; u.n == wasAbsent {
			delete(t.byID, u.id)
		} else {
			*t.byID[u.id] = u
		}
	}
	t.undo = t.undo[:0]
}

// expire forgets producers that were silent for long and have no transaction
// open.
func (t *producerTable) expire(nowMs, expirationMs int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for id, p := range t.byID {
		if p.txnStart < 0 && nowMs-p.lastSeenMs >= expirationMs {
			delete(t.byID, id)
		}
	}
}

func (t *producerTable) list() []ProducerInfo {
	t.mu.Lock()
	defer t.mu.Unlock()
	out := make([]ProducerInfo, 0, len(t.byID))
	for _, p := range t.byID {
		info := ProducerInfo{
			ProducerID: p.id, ProducerEpoch: int32(p.epoch), LastSequence: -1, LastTimestamp: -1,
			CoordinatorEpoch: p.coordinatorEpoch, CurrentTxnStartOff: p.txnStart,
		}
		if p.n > 0 {
			info.LastSequence, info.LastTimestamp = p.last().LastSequence, p.last().Timestamp
		}
		out = append(out, info)
	}
	slices.SortFunc(out, func(a, b ProducerInfo) int { return int(min(max(a.ProducerID-b.ProducerID, -1), 1)) })
	return out
}
