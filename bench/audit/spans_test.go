package audit

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestSpansAgainstAMap does random additions to a set and to a map, and demands
// the same content, order and smallest form.
func TestSpansAgainstAMap(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		var s spans
		model := map[uint64]int64{}
		for range 1 + rng.IntN(40) {
			from := uint64(rng.IntN(60))
			to := from + uint64(1+rng.IntN(12))
			shift := int64(rng.IntN(2))
			fresh := uint64(0)
			for q := from; q < to; q++ {
				if _, ok := model[q]; !ok {
					model[q] = shift
					fresh++
				}
			}
			if got := s.add(from, to, shift); got != fresh {
				t.Fatalf("add %d..%d: %d new, want %d", from, to, got, fresh)
			}
			checkSpans(t, &s, model)
		}
		var other spans
		theirs := map[uint64]int64{}
		for range rng.IntN(20) {
			from, shift := uint64(rng.IntN(70)), int64(rng.IntN(3))
			to := from + uint64(1+rng.IntN(5))
			other.add(from, to, shift)
			for q := from; q < to; q++ {
				if _, ok := theirs[q]; !ok {
					theirs[q] = shift
				}
			}
		}
		var missing, moved []uint64
		s.without(&other, func(x span) {
			for q := x.from; q < x.to; q++ {
				missing = append(missing, q)
			}
		})
		s.elsewhere(&other, func(x span, shift int64) {
			for q := x.from; q < x.to; q++ {
				moved = append(moved, q)
				if theirs[q] != shift {
					t.Fatalf("%d is at shift %d, not %d", q, theirs[q], shift)
				}
			}
		})
		var wantMissing, wantMoved []uint64
		for q := range uint64(80) {
			ours, here := model[q]
			shift, there := theirs[q]
			if here && !there {
				wantMissing = append(wantMissing, q)
			}
			if here && there && ours != shift {
				wantMoved = append(wantMoved, q)
			}
		}
		if !slices.Equal(missing, wantMissing) || !slices.Equal(moved, wantMoved) {
			t.Fatalf("%v against %v: missing %v, want %v; moved %v, want %v", s.list, other.list, missing, wantMissing, moved, wantMoved)
		}
	}
}

func checkSpans(t *testing.T, s *spans, model map[uint64]int64) {
	t.Helper()
	var count uint64
	for i, x := range s.list {
		if x.from >= x.to {
			t.Fatalf("empty span in %v", s.list)
		}
		if i > 0 {
			if before := s.list[i-1]; before.to > x.from || before.to == x.from && before.shift == x.shift {
				t.Fatalf("spans overlap or are not joined: %v", s.list)
			}
		}
		for q := x.from; q < x.to; q++ {
			if shift, ok := model[q]; !ok || shift != x.shift {
				t.Fatalf("%d is in the set with shift %d; model %v %v", q, x.shift, shift, ok)
			}
			count++
		}
	}
	if count != uint64(len(model)) || count != s.count() {
		t.Fatalf("%d in the set, %d counted, %d in the model", count, s.count(), len(model))
	}
}

func TestSpansStayBounded(t *testing.T) {
	var s spans
	for i := range uint64(maxSpans + 10) {
		s.add(2*i, 2*i+1, 0)
	}
	if len(s.list) != maxSpans || s.dropped != 10 {
		t.Fatalf("%d spans, %d dropped", len(s.list), s.dropped)
	}
}

func BenchmarkSpansInOrder(b *testing.B) {
	var s spans
	b.ReportAllocs()
	for i := range b.N {
		s.add(uint64(i), uint64(i)+1, 7)
	}
}
