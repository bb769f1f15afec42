package record

import (
	"fmt"
	"testing"
)

func recordsOf(t *testing.T, b Batch) (out []Record) {
	t.Helper()
	r, err := NewReader(b)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for range b.Count() {
		rec, err := r.Next()
		if err != nil {
			t.Fatal(err)
		}
		rec.Key, rec.Value = append([]byte(nil), rec.Key...), append([]byte(nil), rec.Value...)
		rec.Headers = append([]Header(nil), rec.Headers...)
		for i := range rec.Headers {
			rec.Headers[i].Value = append([]byte(nil), rec.Headers[i].Value...)
		}
		out = append(out, rec)
	}
	return out
}

// A batch with fewer records has the identity of the whole one, and the records
// have theirs, whatever the codec, with and without a delete horizon.
func TestRetainKeepsIdentity(t *testing.T) {
	for codec := None; codec <= Zstd; codec++ {
		for _, horizon := range []int64{0, 99_000} {
			w := NewBuilder()
			w.BaseOffset, w.LeaderEpoch, w.Codec = 500, 7, codec
			w.ProducerID, w.ProducerEpoch, w.BaseSequence, w.Transactional = 9, 2, 40, true
			for i := range 6 {
				w.Add(int64(1000+10*i), fmt.Appendf(nil, "k%d", i), fmt.Appendf(nil, "v%d", i), Header{Key: "h", Value: []byte{byte(i)}})
			}
			b := w.Build()
			whole := recordsOf(t, b)
			got, err := Retain(b, func(i int) bool { return i == 1 || i == 4 }, horizon)
			if err != nil {
				t.Fatal(err)
			}
			if !got.ChecksumOK() || got.BaseOffset() != 500 || got.LastOffset() != 505 || got.LeaderEpoch() != 7 || got.Codec() != codec ||
				got.ProducerID() != 9 || got.ProducerEpoch() != 2 || got.BaseSequence() != 40 || got.LastSequence() != 45 ||
				!got.Transactional() || got.Count() != 2 || got.MaxTimestamp() != 1040 {
				t.Errorf("codec %s: %v, %d records, largest timestamp %d", codec, got, got.Count(), got.MaxTimestamp())
			}
			if ms, ok := got.DeleteHorizon(); ok != (horizon > 0) || ok && ms != horizon {
				t.Errorf("codec %s: delete horizon %d, %v", codec, ms, ok)
			}
			for i, rec := range recordsOf(t, got) {
				if want := whole[1+3*i]; fmt.Sprint(rec) != fmt.Sprint(want) {
					t.Errorf("codec %s: record %v, want %v", codec, rec, want)
				}
			}
			if offset, ts, ok, err := FindTimestamp(got, 1011); err != nil || !ok || offset != 504 || ts != 1040 {
				t.Errorf("codec %s: time over a gap: %d, %d, %v, %v", codec, offset, ts, ok, err)
			}
			again, err := Retain(got, func(i int) bool { return i == 0 }, 0)
			if ms, ok := again.DeleteHorizon(); err != nil || ok != (horizon > 0) || ok && ms != horizon || recordsOf(t, again)[0].Timestamp != 1010 {
				t.Errorf("codec %s: a second time: %v, %v, %d, %v", codec, again, err, ms, ok)
			}
		}
	}
}

func TestEmptiedKeepsSequence(t *testing.T) {
	w := NewBuilder()
	w.BaseOffset, w.LeaderEpoch, w.Codec = 20, 3, Gzip
	w.ProducerID, w.ProducerEpoch, w.BaseSequence, w.DeleteHorizonMs = 5, 1, 8, 77
	b := w.Add(1000, []byte("k"), nil).Add(1001, []byte("l"), nil).Build()
	e := Emptied(b)
	if len(e) != HeaderSize || e.Size() != HeaderSize || !e.ChecksumOK() || e.Count() != 0 || e.Codec() != None ||
		e.BaseOffset() != 20 || e.LastOffset() != 21 || e.LastSequence() != 9 || e.LeaderEpoch() != 3 || e.MaxTimestamp() != 1001 {
		t.Errorf("%v, %d records", e, e.Count())
	}
	if _, ok := e.DeleteHorizon(); ok || b.Count() != 2 {
		t.Error("the horizon is still there, or the original changed")
	}
	if _, err := Retain(b, func(int) bool { return false }, 0); err == nil {
		t.Error("a batch without records was built")
	}
	if offset, _, err := FindMaxTimestamp(e); err != nil || offset != -1 {
		t.Errorf("largest timestamp of nothing: %d, %v", offset, err)
	}
}

func TestMarkerOf(t *testing.T) {
	for m := range Marker(2) {
		w := NewBuilder()
		w.ProducerID, w.Control, w.Transactional = 1, true, true
		b := w.Add(0, []byte{0, 0, 0, byte(m)}, []byte{0, 0, 0, 0, 0, 1}).Build()
		if got, ok, err := MarkerOf(b); got != m || !ok || err != nil {
			t.Errorf("%d: %d, %v, %v", m, got, ok, err)
		}
		if _, ok, err := MarkerOf(Emptied(b)); ok || err != nil {
			t.Errorf("emptied: %v, %v", ok, err)
		}
	}
	w := NewBuilder()
	w.Control = true
	if _, _, err := MarkerOf(w.Add(0, []byte{0}, nil).Build()); err == nil {
		t.Error("a key of one byte is no marker")
	}
}
