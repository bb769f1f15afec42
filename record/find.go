package record

import "math"

// FindTimestamp finds the first record of a stored batch whose timestamp is at
// least ts (ms); ok is false if there is none. It is exact inside compressed
// batches, and decodes only as far as it must.
func FindTimestamp(b Batch, ts int64) (offset, timestamp int64, ok bool, err error) {
	if len(b) < HeaderSize {
		return 0, 0, false, ErrIncomplete
	}
	if b.MaxTimestamp() < ts {
		return 0, 0, false, nil // the header is true, see Validate
	}
	return find(b, ts)
}

// FindMaxTimestamp finds the first record that has the largest timestamp of a
// stored batch. Both results are -1 for a batch that compaction has emptied.
func FindMaxTimestamp(b Batch) (offset, timestamp int64, err error) {
	if len(b) < HeaderSize {
		return 0, 0, ErrIncomplete
	}
	offset, timestamp, ok, err := find(b, b.MaxTimestamp())
	if err != nil || !ok {
		return -1, NoTimestamp, err
	}
	return offset, timestamp, nil
}

// find looks for the first record with a timestamp of at least ts. That is the
// record that raises the largest timestamp so far to ts or above.
func find(b Batch, ts int64) (offset, timestamp int64, ok bool, err error) {
	if !b.Codec().Known() {
		return 0, 0, false, failf(ErrUnsupportedCodec, "compression type %d does not exist", b.Codec())
	}
	w := walk{
		count:         b.Count(),
		baseTimestamp: b.BaseTimestamp(),
		before:        math.MaxInt64,
		after:         math.MaxInt64,
		stops:         true,
		stopAt:        ts,
		maxTimestamp:  math.MinInt64,
	}
	if b.LogAppendTime() {
		w.stopAt = math.MinInt64 // all have the header's, so the first is it
	}
	var f fault
	if b.Codec() == None {
		_, f = w.span(b[HeaderSize:])
	} else {
		d := decoders.Get().(*decoder)
		defer decoders.Put(d)
		defer d.close()
		in, err := d.open(b.Codec(), b[HeaderSize:])
		if err != nil {
			return 0, 0, false, decodeError(b.Codec(), err)
		}
		if f, err = w.stream(in); err != nil {
			return 0, 0, false, decodeError(b.Codec(), err)
		}
	}
	switch f {
	case walked:
		return 0, 0, false, nil
	case found:
		timestamp = w.maxTimestamp
		if b.LogAppendTime() {
			timestamp = b.MaxTimestamp()
		}
		return b.BaseOffset() + int64(w.maxDelta), timestamp, true, nil
	}
	return 0, 0, false, w.describe(f)
}
