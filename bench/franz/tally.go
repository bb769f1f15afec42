package franz

import (
	"context"
	"time"

	"ringmain/bench/load"
	"ringmain/record"
)

// tally joins what franz-go tells in pieces: that a request was answered, which
// batches were in it, which records. The pieces of a fetch are complete when a poll
// returns it. Those of a produce come one after the other, the batches even on a
// goroutine of their own: it is noted when a record of the next one shows that it
// is complete, and the last one at the end. So sums are exact, and an interval can
// miss one request of a producer.
type tally struct {
	notes   *notes
	section load.Section

	// Under the lock of notes.
	requests, records, bytes int64
	taken, carried           int64 // records ever, as told one by one and in batches
}

// answered notes that a request was.
func (t *tally) answered() {
	t.notes.mu.Lock()
	t.requests++
	t.notes.mu.Unlock()
}

// batch notes a record batch: how many records, and their bytes as they are on
// the wire, for which franz-go leaves out the header.
func (t *tally) batch(records, bytes int) {
	t.notes.mu.Lock()
	t.carried += int64(records)
	t.bytes += int64(bytes) + record.HeaderSize
	t.notes.mu.Unlock()
}

// take notes records. The caller has the lock of notes.
func (t *tally) take(records int64) {
	for t.requests > 1 {
		t.note()
	}
	t.records += records
	t.taken += records
}

func (t *tally) note() {
	t.notes.worker.Count(t.section, t.records, t.bytes)
	t.requests, t.records, t.bytes = t.requests-1, 0, 0
}

// settleWithin bounds the wait for what franz-go tells of records that are done,
// which only a goroutine that gets no processor holds up.
const settleWithin = time.Second

// settle notes what is left. Nothing may be under way.
func (t *tally) settle(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, settleWithin)
	defer cancel()
	_ = await(ctx, func() bool {
		t.notes.mu.Lock()
		defer t.notes.mu.Unlock()
		return t.carried >= t.taken && (t.records == 0 || t.requests > 0)
	})
	t.notes.mu.Lock()
	defer t.notes.mu.Unlock()
	t.noteAll()
}

// noteAll notes all requests. The caller has the lock of notes.
func (t *tally) noteAll() {
	for t.requests > 0 {
		t.note()
	}
}
