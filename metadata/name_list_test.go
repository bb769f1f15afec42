package metadata

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestNameListStaysSorted(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	var list nameList
	want := map[string]bool{}
	var old nameList
	var oldNames []string
	var e *edit
	for step := range 20_000 {
		switch step % 100 {
		case 0:
			e = new(edit)
		case 50:
			e = nil
		}
		name := fmt.Sprint("n", r.IntN(2000))
		if grow := step < 10_000; r.IntN(3) == 0 == grow {
			list = list.remove(e, name)
			delete(want, name)
		} else {
			list = list.insert(e, name)
			want[name] = true
		}
		if step == 9_999 {
			old, oldNames = list, list.flat()
		}
		if list.n != len(want) {
			t.Fatalf("step %d: n is %d, want %d", step, list.n, len(want))
		}
	}
	if names := list.flat(); !slices.Equal(names, sortedKeys(want)) {
		t.Fatalf("got %v", names)
	}
	if !slices.Equal(old.flat(), oldNames) {
		t.Fatal("an old version changed")
	}
	for _, c := range old.chunks {
		if len(c.names) == 0 || len(c.names) > nameChunkMax {
			t.Fatalf("chunk of %d names", len(c.names))
		}
	}
	for name := range want {
		list = list.remove(e, name)
	}
	if list.n != 0 || len(list.chunks) != 0 {
		t.Fatalf("left: %v", list)
	}
}
