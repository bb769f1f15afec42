package config

import (
	"strings"
	"testing"
)

func TestGroupTakesItsOwnThenTheBrokers(t *testing.T) {
	server, _, err := named(pairs("group.consumer.session.timeout.ms=50000"))
	if err != nil {
		t.Fatal(err)
	}
	l := Layers{Server: server, Cluster: map[string]string{"group.consumer.assignment.interval.ms": "200"}}
	for _, c := range []struct {
		overrides map[string]string
		want      Group
	}{
		{nil, Group{50000, 5000, 200}},
		{map[string]string{"consumer.session.timeout.ms": "55000", "consumer.heartbeat.interval.ms": "6000", "consumer.assignment.interval.ms": "0"}, Group{55000, 6000, 0}},
		{map[string]string{"consumer.session.timeout.ms": "soon"}, Group{50000, 5000, 200}}, // of a newer release, say
	} {
		if got := l.Group(c.overrides); got != c.want {
			t.Errorf("%v: %+v, want %+v", c.overrides, got, c.want)
		}
	}
}

func TestWhatTheGroupCoordinatorCannotDo(t *testing.T) {
	for _, key := range []string{"group.coordinator.rebalance.protocols=consumer", "group.consumer.assignors=", "group.consumer.assignors=sticky", "offsets.topic.compression.codec=5"} {
		if _, _, err := named(pairs(key)); err == nil || !strings.Contains(err.Error(), strings.Split(key, "=")[0]) {
			t.Errorf("%s: %v", key, err)
		}
	}
}
