package franz

import (
	"testing"

	"ringmain/bench/load"
	"ringmain/bench/workload"
)

func TestIdleConnectionsStayAndLossIsSeen(t *testing.T) {
	c := newCluster(t, 1)
	env := c.env(workload.Idle, "connections", "40")
	before := len(c.accepted())
	r := begin(t, env)
	r.until(func(*load.Interval) bool { return env.Meter.Open.Load() == 40 })
	theirs := c.accepted()[before:]
	if len(theirs) != 40 || env.Meter.Lost.Load() != 0 {
		t.Fatalf("%d connections were accepted, %d are lost", len(theirs), env.Meter.Lost.Load())
	}
	for _, conn := range theirs[:15] {
		conn.Close()
	}
	r.until(func(*load.Interval) bool { return env.Meter.Lost.Load() == 15 && env.Meter.Open.Load() == 25 })
	if sum := r.end(); sum.Sections[load.Connect].Requests != 40 || len(sum.Errors) > 0 {
		t.Errorf("%d connected, errors %v", sum.Sections[load.Connect].Requests, sum.Errors)
	}
	r.engine.Close()
	r.engine.Close()
	if open, lost := env.Meter.Open.Load(), env.Meter.Lost.Load(); open != 0 || lost != 15 {
		t.Errorf("closed: %d are open, %d lost", open, lost)
	}
}
