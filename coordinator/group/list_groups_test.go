package group

import (
	"reflect"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"ringmain/coordinator"
)

func TestListGroups(t *testing.T) {
	h := newHarness(t)
	h.create("orders", 1)
	h.commit("b-simple", "orders", 0, 5)
	h.script("d-consumers", scripted{k: Consumer, st: "Stable", typ: "consumer"})
	h.script("c-workers", scripted{k: Classic, st: "PreparingRebalance", typ: "connect"})
	h.script("a-empty", scripted{k: Consumer, st: "Empty", typ: "consumer"})
	all := ask(h, func(s *coordinator.Step, reply func([]kmsg.ListGroupsResponseGroup, error)) {
		h.m.ListGroups(s, nil, nil, reply)
	}).got()
	if want := []kmsg.ListGroupsResponseGroup{
		{Group: "a-empty", ProtocolType: "consumer", GroupState: "Empty", GroupType: "consumer"},
		{Group: "b-simple", ProtocolType: "", GroupState: "Empty", GroupType: "classic"},
		{Group: "c-workers", ProtocolType: "connect", GroupState: "PreparingRebalance", GroupType: "classic"},
		{Group: "d-consumers", ProtocolType: "consumer", GroupState: "Stable", GroupType: "consumer"},
	}; !reflect.DeepEqual(all, want) {
		t.Errorf("got\n%+v, want\n%+v", all, want)
	}
	for _, c := range []struct{ states, types, want []string }{
		{[]string{}, []string{}, []string{"a-empty", "b-simple", "c-workers", "d-consumers"}},
		{[]string{"Empty"}, nil, []string{"a-empty", "b-simple"}},
		{[]string{"eMPTY", "preparingrebalance"}, nil, []string{"a-empty", "b-simple", "c-workers"}},
		{[]string{" stable "}, nil, []string{"d-consumers"}},
		{[]string{"Sleepy"}, nil, nil},
		{nil, []string{"Classic"}, []string{"b-simple", "c-workers"}},
		{nil, []string{"consumer", "classic"}, []string{"a-empty", "b-simple", "c-workers", "d-consumers"}},
		{nil, []string{"share"}, nil},
		{nil, []string{" classic"}, nil}, // as Kafka, which trims states only
		{[]string{"empty"}, []string{"classic"}, []string{"b-simple"}},
	} {
		if got := h.list(c.states, c.types); !reflect.DeepEqual(got, c.want) {
			t.Errorf("states %q, types %q: %q, want %q", c.states, c.types, got, c.want)
		}
	}
}
