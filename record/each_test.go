package record

import (
	"errors"
	"testing"
)

// Each gives every record until it is told to stop, and the error of whoever stops it.
func TestEach(t *testing.T) {
	for _, codec := range []Codec{None, Zstd} {
		b := NewBuilder()
		b.Codec = codec
		for i := range int64(5) {
			b.Add(i, []byte{byte(i)}, nil)
		}
		batch := b.Build()
		var times []int64
		if err := Each(batch, func(r Record) (bool, error) {
			times = append(times, r.Timestamp)
			return true, nil
		}); err != nil || len(times) != 5 || times[4] != 4 {
			t.Errorf("%v: %v, %v", codec, times, err)
		}
		n := 0
		if err := Each(batch, func(Record) (bool, error) { n++; return n < 3, nil }); err != nil || n != 3 {
			t.Errorf("%v: stopped after %d, %v", codec, n, err)
		}
		wrong := errors.New("wrong")
		if err := Each(batch, func(Record) (bool, error) { return true, wrong }); !errors.Is(err, wrong) {
			t.Errorf("%v: %v", codec, err)
		}
		if err := Each(batch[:HeaderSize-1], nil); !errors.Is(err, ErrIncomplete) {
			t.Errorf("%v: %v", codec, err)
		}
	}
}
