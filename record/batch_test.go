package record

import (
	"errors"
	"math"
	"testing"
)

func TestFirst(t *testing.T) {
	ok := twoRecords(Gzip)
	b, err := First(join(ok, ok))
	if err != nil || len(b) != len(ok) || cap(b) != len(ok) {
		t.Fatalf("%d bytes of %d, %v", len(b), len(ok), err)
	}
	for n := range ok {
		if _, err := First(ok[:n]); !errors.Is(err, ErrIncomplete) {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
	for _, length := range []int32{-1, 0, 48, math.MinInt32} {
		if _, err := First(change(ok, set32(posLength, length))); !errors.Is(err, ErrCorrupt) {
			t.Errorf("length %d: %v", length, err)
		}
	}
	for _, magic := range []byte{0, 1, 3, 255} {
		if _, err := First(change(ok, func(b Batch) { b[posMagic] = magic })); !errors.Is(err, ErrCorrupt) {
			t.Errorf("magic %d: %v", magic, err)
		}
	}
}

func TestStampKeepsTheChecksum(t *testing.T) {
	b := twoRecords(None)
	b.Stamp(1<<40, 77)
	if b.BaseOffset() != 1<<40 || b.LeaderEpoch() != 77 || b.LastOffset() != 1<<40+1 || !b.ChecksumOK() {
		t.Errorf("%v", b)
	}
}

func TestLastSequenceWraps(t *testing.T) {
	for _, c := range []struct{ base, delta, want int32 }{
		{0, 0, 0}, {5, 9, 14}, {math.MaxInt32, 0, math.MaxInt32}, {math.MaxInt32, 1, 0},
		{math.MaxInt32 - 1, 4, 2}, {NoSequence, 3, NoSequence},
	} {
		b := change(twoRecords(None), both(set32(posBaseSequence, c.base), set32(posLastOffsetDelta, c.delta)))
		if got := b.LastSequence(); got != c.want {
			t.Errorf("base %d, delta %d: last sequence %d, want %d", c.base, c.delta, got, c.want)
		}
	}
}

func TestParseCodec(t *testing.T) {
	for c := None; c <= Zstd; c++ {
		if got, err := ParseCodec(c.String()); err != nil || got != c {
			t.Errorf("%s: %v, %v", c, got, err)
		}
	}
	if c, err := ParseCodec("uncompressed"); err != nil || c != None {
		t.Errorf("uncompressed: %v, %v", c, err)
	}
	if _, err := ParseCodec("brotli"); err == nil {
		t.Error("brotli exists")
	}
	if Codec(5).Known() || Codec(-1).Known() {
		t.Error("codecs 5 and -1 are known")
	}
}
