package metadata

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"
)

func TestHashTrieBehavesLikeAMap(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var trie hashTrie[string, int]
	want := map[string]int{}
	type version struct {
		trie hashTrie[string, int]
		want map[string]int
	}
	var versions []version
	var e *edit
	for step := range 20_000 {
		switch step % 100 {
		case 0:
			e = new(edit)
		case 50:
			e = nil
		}
		key := fmt.Sprint(r.IntN(3000))
		if r.IntN(3) == 0 {
			trie = trie.delete(e, key)
			delete(want, key)
		} else {
			trie = trie.set(e, key, step)
			want[key] = step
		}
		if step%2500 == 99 { // before a new edit
			versions = append(versions, version{trie, maps.Clone(want)})
		}
	}
	for _, v := range append(versions, version{trie, want}) { // old versions are untouched
		got := map[string]int{}
		v.trie.all(func(k string, n int) { got[k] = n })
		if !maps.Equal(got, v.want) || v.trie.len() != len(v.want) {
			t.Fatalf("%d keys and len %d, want %d keys", len(got), v.trie.len(), len(v.want))
		}
		for key := range 3000 {
			n, ok := v.trie.get(fmt.Sprint(key))
			if wn, wok := v.want[fmt.Sprint(key)]; n != wn || ok != wok {
				t.Fatalf("get %d: %d %v, want %d %v", key, n, ok, wn, wok)
			}
		}
	}
	for key := range want {
		trie = trie.delete(e, key)
	}
	if trie.len() != 0 || trie.root != nil {
		t.Fatalf("after deleting every key: len %d, root %v", trie.len(), trie.root)
	}
}

// Keys whose hashes are equal in every bit end in a plain list.
func TestHashTrieSurvivesEqualHashes(t *testing.T) {
	var n *trieNode[string, int]
	for i, key := range []string{"a", "b", "c", "b"} {
		n, _ = n.with(nil, 42, trieDepth, key, i)
	}
	if len(n.slots) != 3 || n.slots[n.find("b")].value != 3 {
		t.Fatalf("got %+v", n.slots)
	}
	for i, key := range []string{"b", "a", "x", "c"} {
		var removed bool
		if n, removed = n.without(nil, 42, trieDepth, key); removed != (key != "x") {
			t.Fatalf("step %d: removed %q: %v", i, key, removed)
		}
	}
	if n != nil {
		t.Fatalf("left: %+v", n.slots)
	}
}
