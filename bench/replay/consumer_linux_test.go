package replay

import (
	"sync/atomic"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"ringmain/bench/load"
	"ringmain/bench/workload"
	"ringmain/record"
)

// batchAt are ten records from an offset on.
func batchAt(offset int64) record.Batch {
	b := tenRecords()
	b.Stamp(offset, 0)
	return b
}

// thinnedAt is a batch of ten records of which compaction has left one.
func thinnedAt(offset int64) record.Batch {
	b := record.NewBuilder()
	b.Add(1, nil, make([]byte, 100))
	batch := b.Build()
	batch.Stamp(offset, 0)
	const lastOffsetDelta = 23
	batch[lastOffsetDelta+3] = 9
	return batch
}

// A broker that leads a consumer past records is found out by the headers of its batches,
// wherever the gap is; in a topic that may lack some it is not suspected.
func TestGapsBetweenFetchedBatchesAreNoted(t *testing.T) {
	for name, row := range map[string]struct {
		answer  func(at int64) []byte // of the batch around an offset, at, and what follows
		gap     load.Gap              // that is noted first in a catch-up from offset 0
		failure string
	}{
		"whole":                     {answer: func(at int64) []byte { return append(batchAt(at), batchAt(at+10)...) }},
		"cut at the end":            {answer: func(at int64) []byte { return append(batchAt(at), batchAt(at + 10)[:50]...) }},
		"skipped before the answer": {answer: func(at int64) []byte { return batchAt(at + 10) }, gap: load.Gap{From: 0, To: 10, Records: 10}},
		"skipped within the answer": {answer: func(at int64) []byte { return append(batchAt(at), batchAt(at+30)...) }, gap: load.Gap{From: 10, To: 30, Records: 20}},
		"skipped within a batch":    {answer: func(at int64) []byte { return thinnedAt(at) }, gap: load.Gap{From: 0, To: 10, Records: 9}},
		"back":                      {answer: func(at int64) []byte { return append(batchAt(at), batchAt(at)...) }, failure: outOfOrder},
		"nothing":                   {answer: func(int64) []byte { return nil }, failure: errNoRecords.Error()},
		"less than a batch":         {answer: func(at int64) []byte { return batchAt(at)[:100] }, failure: errNoRecords.Error()},
	} {
		for _, mode := range []string{workload.CatchUp, workload.Random} {
			t.Run(name+"/"+mode, func(t *testing.T) {
				var answers atomic.Int64
				b := newBroker(t, func(c *wire) {
					for {
						frame, ok := c.next()
						if !ok {
							return
						}
						var r kmsg.FetchRequest
						decodeRequest(t, frame, &r)
						at := r.Topics[0].Partitions[0].FetchOffset
						c.answer(frame, fetchedFrom(0, 0, row.answer(at-at%10)))
						answers.Add(1)
					}
				})
				for _, dense := range []bool{true, false} {
					answers.Store(0)
					env := b.envOf(workload.Fetch, 1, "fetch_mode", mode)
					env.Dense = dense
					r := begin(t, ready(t, env, 1))
					r.until(func() bool { return answers.Load() >= 20 })
					sum := r.end()
					missing, first := env.Meter.Missing()
					if want := dense && row.gap.Records > 0; (missing > 0) != want {
						t.Errorf("dense %v: %d records are missing", dense, missing)
					}
					gap := row.gap
					gap.Topic = "loads"
					if missing > 0 && mode == workload.CatchUp && first != gap {
						t.Errorf("the first gap is %+v, want %+v", first, gap)
					}
					failures := sum.Failures()
					if want := dense && row.failure != ""; (failures > 0) != want || sum.Errors[row.failure] != failures {
						t.Errorf("dense %v: errors %v", dense, sum.Errors)
					}
				}
			})
		}
	}
}

// Where nothing comes at an offset that has a record, it is asked for again: what lies
// behind it is not read as if it followed.
func TestAnAnswerWithoutRecordsIsAskedForAgain(t *testing.T) {
	var empty, beyond atomic.Int64
	b := newBroker(t, func(c *wire) {
		for {
			frame, ok := c.next()
			if !ok {
				return
			}
			var r kmsg.FetchRequest
			decodeRequest(t, frame, &r)
			switch at := r.Topics[0].Partitions[0].FetchOffset; {
			case at < 50:
				c.answer(frame, fetchedFrom(0, 0, batchAt(at)))
			case at == 50:
				empty.Add(1)
				c.answer(frame, fetchedFrom(0, 0, nil))
			default:
				beyond.Add(1)
				c.answer(frame, fetchedFrom(0, 0, batchAt(at)))
			}
		}
	})
	env := b.envOf(workload.Fetch, 1)
	env.Dense = true
	r := begin(t, ready(t, env, 1))
	r.until(func() bool { return empty.Load() >= 3 })
	if sum := r.end(); sum.Sections[load.Fetch].Records != 50 || beyond.Load() > 0 {
		t.Errorf("%d records were read, %d fetches were behind the gap", sum.Sections[load.Fetch].Records, beyond.Load())
	}
}
