package record

import (
	"math/rand/v2"
	"testing"
)

// The finders against the reader, on batches with gaps as compaction leaves
// them and timestamps in any order.
func TestFind(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for range 300 {
		b := NewBuilder()
		b.Codec, b.BaseOffset = Codec(r.IntN(5)), r.Int64N(1<<40)
		b.LogAppendTime, b.AppendTimeMs = r.IntN(4) == 0, 150
		delta := int32(r.IntN(3))
		for range 1 + r.IntN(40) {
			b.AddAt(delta, 100+r.Int64N(100), nil, make([]byte, r.IntN(300)))
			delta += 1 + int32(r.IntN(3))
		}
		batch := b.Build()
		recs := readAll(t, batch)
		for ts := int64(95); ts < 205; ts++ {
			offset, at, ok, err := FindTimestamp(batch, ts)
			if err != nil {
				t.Fatal(err)
			}
			var want *Record
			for i := range recs {
				if recs[i].Timestamp >= ts {
					want = &recs[i]
					break
				}
			}
			if ok != (want != nil) || ok && (offset != want.Offset || at != want.Timestamp) {
				t.Fatalf("%v at %d: found %d/%d %v, want %+v", batch, ts, offset, at, ok, want)
			}
		}
		offset, at, err := FindMaxTimestamp(batch)
		largest := recs[0]
		for _, rec := range recs {
			if rec.Timestamp > largest.Timestamp {
				largest = rec
			}
		}
		if err != nil || offset != largest.Offset || at != largest.Timestamp {
			t.Fatalf("%v: largest at %d/%d, %v, want %+v", batch, offset, at, err, largest)
		}
	}
}

func TestFindInEmptiedBatch(t *testing.T) {
	b := NewBuilder().Build() // as compaction leaves the last batch of a producer
	if _, _, ok, err := FindTimestamp(b, 0); ok || err != nil {
		t.Errorf("found in nothing: %v", err)
	}
	if offset, ts, err := FindMaxTimestamp(b); offset != -1 || ts != -1 || err != nil {
		t.Errorf("%d %d %v", offset, ts, err)
	}
}

func TestFindInLargeRecords(t *testing.T) {
	for codec := None; codec <= Zstd; codec++ {
		b := NewBuilder()
		b.Codec = codec
		for i := range 5 {
			b.Add(int64(100+i), nil, make([]byte, 2*feedSize))
		}
		if offset, ts, ok, err := FindTimestamp(b.Build(), 103); offset != 3 || ts != 103 || !ok || err != nil {
			t.Errorf("%s: %d %d %v %v", codec, offset, ts, ok, err)
		}
	}
}
