package record

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"testing/iotest"

	"bytes"
)

// outcome is all that a walk leaves behind.
type outcome struct {
	fault        fault
	err          string
	next         int32
	used         int
	maxTimestamp int64
	maxDelta     int32
	lastDelta    int32
	refused      string
}

// walkBy runs a walk in one of the three ways there are: the quick loop, record
// by record, or as a stream in pieces of random size.
func walkBy(way int, setup walk, records []byte, r *rand.Rand) outcome {
	w := setup
	var o outcome
	w.refuse = func(i int32, ts int64, key bool) { o.refused += fmt.Sprint(i, ts, key, ";") }
	switch way {
	case 0:
		o.used, o.fault = w.span(records)
		if o.fault == walked && o.used < len(records) {
			o.fault = leftOver
		}
	case 1:
		for o.fault = walked; o.fault == walked && w.next < w.count; {
			var n int
			n, o.fault = w.one(records[o.used:])
			o.used += n
		}
		if o.fault == walked && o.used < len(records) {
			o.fault = leftOver
		}
	case 2:
		f := feed{buf: make([]byte, 40+r.IntN(100)), src: bytes.NewReader(records)}
		if r.IntN(2) == 0 {
			f.src = iotest.OneByteReader(f.src)
		}
		var err error
		if o.fault, err = w.stream(&f); err != nil {
			o.err = err.Error()
		}
	}
	o.next, o.maxTimestamp, o.maxDelta, o.lastDelta = w.next, w.maxTimestamp, w.maxDelta, w.lastDelta
	return o
}

// randomRecords gives records of all shapes, valid or nearly so.
func randomRecords(r *rand.Rand) ([]byte, int32) {
	var out []byte
	count := int32(r.IntN(12))
	field := func(limit int) []byte {
		n := r.IntN(limit) - 1
		return join(varint(int64(n)), make([]byte, max(n, 0)))
	}
	limit := []int{3, 80, 400, 80, 3, 9000}[r.IntN(6)]
	for i := range count {
		delta := int64(i)
		if r.IntN(50) == 0 {
			delta += int64(r.IntN(5)) - 2
		}
		ts := r.Int64() >> r.IntN(64)
		headers := join(varint(0))
		if r.IntN(4) == 0 {
			headers = varint(2)
			for range 2 {
				headers = join(headers, varint(3), []byte("abc"), field(limit))
			}
		}
		out = append(out, rawRecord([]byte{0}, varint(ts), varint(delta), field(limit), field(limit), headers)...)
	}
	if len(out) > 0 {
		switch r.IntN(4) {
		case 0:
			out[r.IntN(len(out))] ^= byte(1 << r.IntN(8))
		case 1:
			out = out[:r.IntN(len(out))]
		}
	}
	return out, count + int32(r.IntN(2)*r.IntN(2))
}

// The quick loop, the careful one and the stream must agree on everything, over
// valid records and damaged ones, with and without limits.
func TestWalksAgree(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 9))
	for round := range 15_000 {
		records, count := randomRecords(r)
		setup := walk{
			count: count, baseTimestamp: r.Int64() >> r.IntN(64), consecutive: r.IntN(3) > 0, needKey: r.IntN(4) == 0,
			now: 1000, before: math.MaxInt64, after: math.MaxInt64, maxTimestamp: NoTimestamp,
		}
		if r.IntN(3) == 0 {
			setup.before, setup.after = r.Int64N(2000), r.Int64N(2000)
		}
		if r.IntN(3) == 0 {
			setup.stops, setup.stopAt, setup.maxTimestamp = true, r.Int64N(2000)-500, math.MinInt64
		}
		quick := walkBy(0, setup, records, r)
		if careful := walkBy(1, setup, records, r); careful != quick {
			t.Fatalf("round %d, %d of %x:\nquick   %+v\ncareful %+v", round, count, records, quick, careful)
		}
		stream := walkBy(2, setup, records, r)
		stream.used = quick.used
		if wrong := quick.fault != walked && quick.fault != found; wrong && stream.fault != walked && stream.fault != found && stream.err == "" {
			// A record larger than the window may be found wrong by another field.
			stream.fault = quick.fault
		}
		if stream != quick {
			t.Fatalf("round %d, %d of %x:\nquick  %+v\nstream %+v", round, count, records, quick, stream)
		}
	}
}
