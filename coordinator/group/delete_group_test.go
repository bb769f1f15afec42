package group

import (
	"errors"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"

	"ringmain/coordinator"
)

func (h *harness) deletesGroup(id string, want *kerr.Error) {
	h.t.Helper()
	code := ask(h, func(s *coordinator.Step, reply func(int16, error)) { h.m.DeleteGroup(s, id, reply) }).got()
	if code != codesOf(want)[0] {
		h.t.Fatalf("answered %v, want %v", kerr.ErrorForCode(code), want)
	}
}

func TestDeleteGroup(t *testing.T) {
	h := newHarness(t)
	h.create("orders", 2)
	h.create("other", 1)
	for _, id := range []string{"", "g", "kept"} {
		h.commits(with(with(with(commitRequest(id), "orders", 0, 5), "orders", 1, 6, "m"), "other", 0, 7), nil, nil, nil)
	}
	h.deletesGroup("nobody", kerr.GroupIDNotFound)
	g := h.script("g", scripted{k: Consumer, st: "Stable", typ: "consumer", n: 1, deleteCode: kerr.NonEmptyGroup.Code})
	h.deletesGroup("g", kerr.NonEmptyGroup)
	h.offsets("orders", map[string]int64{"g": 5})
	g.deleteCode, g.st, g.n = 0, "Empty", 0
	h.deletesGroup("g", nil)
	h.deletesGroup("g", kerr.GroupIDNotFound)
	h.deletesGroup("", nil)
	for range 2 {
		h.offsets("orders", map[string]int64{"g": -1, "": -1, "kept": 5})
		if ids := h.list(nil, nil); len(ids) != 1 || ids[0] != "kept" {
			t.Errorf("left are %q", ids)
		}
		h.load()
	}
}

// TestDeletingMuchIsDoneInSteps, and answered after the last. Who waits when the
// partition moves is told so.
func TestDeletingMuchIsDoneInSteps(t *testing.T) {
	h := newHarness(t)
	commitMany(h, 3)
	remove := func(id string) *asked[int16] {
		return ask(h, func(s *coordinator.Step, reply func(int16, error)) { h.m.DeleteGroup(s, id, reply) })
	}
	first, second := remove("g0"), remove("g1")
	first.waits()
	second.waits()
	again := remove("g0") // which finds the rest
	if h.boundedSteps(1000) < 2 {
		t.Error("too few steps")
	}
	for _, a := range []*asked[int16]{first, second, again} {
		if a.got() != 0 {
			t.Errorf("answered %d", a.response)
		}
	}
	if ids := h.list(nil, nil); len(ids) != 1 || ids[0] != "g2" {
		t.Fatalf("left are %q", ids)
	}
	last := remove("g2")
	last.waits()
	h.m.Unload(coordinator.ErrNotCoordinator)
	if err := last.failed(); !errors.Is(err, coordinator.ErrNotCoordinator) {
		t.Error(err)
	}
}

// TestAGroupThatGetsMembersIsNotDeletedOn: what is deleted by then is gone.
func TestAGroupThatGetsMembersIsNotDeletedOn(t *testing.T) {
	h := newHarness(t)
	commitMany(h, 1)
	a := ask(h, func(s *coordinator.Step, reply func(int16, error)) { h.m.DeleteGroup(s, "g0", reply) })
	a.waits()
	h.script("g0", scripted{k: Consumer, st: "Stable", typ: "consumer", n: 1, deleteCode: kerr.NonEmptyGroup.Code})
	h.pass(1000)
	if a.got() != kerr.NonEmptyGroup.Code {
		t.Errorf("answered %d", a.response)
	}
}
