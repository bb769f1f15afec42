package segment

import "testing"

// The ring keeps the newest batches, in order, however many there were and however
// often a segment began anew; an idle log's is small.
func TestRecentBatches(t *testing.T) {
	var r recentBatches
	for _, n := range []int{1, recentMin, recentMin + 1, recentMax - 1, recentMax, recentMax + 1, 3*recentMax + 5, 2, recentMax + 3} {
		r.reset()
		if r.count() != 0 || r.upTo(1<<40) != -1 {
			t.Fatalf("after a reset %d are left", r.count())
		}
		for i := range n {
			r.add(uint32(10*i), uint32(100*i))
			kept := min(i+1, recentMax)
			if r.count() != kept {
				t.Fatalf("%d of %d batches are kept, wanted %d", r.count(), i+1, kept)
			}
			oldest := i + 1 - kept
			for k := range kept {
				if want := (spot{uint32(10 * (oldest + k)), uint32(100 * (oldest + k))}); r.at(k) != want {
					t.Fatalf("batch %d of %d is %v, wanted %v", k, i+1, r.at(k), want)
				}
			}
			if at := r.upTo(int64(10*i) + 9); at != kept-1 {
				t.Fatalf("the last batch of %d is found at %d", i+1, at)
			}
			if at := r.upToPos(int64(100*oldest) - 1); at != -1 {
				t.Fatalf("what is not kept is found at %d", at)
			}
		}
	}
	var idle recentBatches
	idle.add(0, 0)
	if len(idle.ring) != recentMin {
		t.Fatalf("one batch has room for %d", len(idle.ring))
	}
}
