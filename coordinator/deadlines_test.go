package coordinator

import (
	"math/rand/v2"
	"slices"
	"testing"
)

func TestDeadlinesFireInOrderAndOnce(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var ds Deadlines
	var fired []int64
	all := make([]*Deadline, 500)
	for i := range all {
		all[i] = &Deadline{}
		all[i].Fire = func(*Step) { fired = append(fired, all[i].AtMs()) }
	}
	want := map[*Deadline]int64{}
	for range 5000 {
		d := all[rng.IntN(len(all))]
		if rng.IntN(4) == 0 {
			ds.Cancel(d)
			delete(want, d)
			continue
		}
		at := rng.Int64N(1000)
		ds.Put(d, at)
		want[d] = at
	}
	for now := int64(0); now < 1000; now += 10 {
		if at, ok := ds.Next(); ok && at < now-10 {
			t.Fatalf("%d is still to come at %d", at, now)
		}
		ds.Advance(&Step{NowMs: now})
	}
	ds.Advance(&Step{NowMs: 1000})
	if len(fired) != len(want) || !slices.IsSorted(fired) {
		t.Fatalf("%d fired of %d, sorted %v", len(fired), len(want), slices.IsSorted(fired))
	}
	if _, ok := ds.Next(); ok || slices.ContainsFunc(all, (*Deadline).Set) {
		t.Error("something is left")
	}
}

func TestADeadlineMaySetItselfAgain(t *testing.T) {
	var ds Deadlines
	n := 0
	var d Deadline
	d.Fire = func(s *Step) {
		if n++; n < 3 {
			ds.Put(&d, s.NowMs)
		} else {
			ds.Put(&d, s.NowMs+1)
		}
	}
	ds.Put(&d, 5)
	ds.Advance(&Step{NowMs: 7})
	if at, ok := ds.Next(); n != 3 || !ok || at != 8 {
		t.Errorf("fired %d times, next %d %v", n, at, ok)
	}
}
