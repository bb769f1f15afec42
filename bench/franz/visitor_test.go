package franz

import (
	"testing"
	"time"

	"ringmain/bench/load"
	"ringmain/bench/workload"
)

func TestStormConnectsAnewEachTime(t *testing.T) {
	for name, rate := range map[string]string{"closed loop": "max", "open loop": "200"} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, 2)
			env := c.env(workload.Storm, "connections", "4", "rate", rate)
			before := len(c.accepted())
			begun := time.Now()
			r := begin(t, env)
			r.until(func(sum *load.Interval) bool { return sum.Sections[load.Connect].Requests >= 50 })
			took := time.Since(begun)
			sum := r.end()
			n := sum.Sections[load.Connect]
			if got := int64(len(c.accepted()) - before); got != n.Requests || n.Latency.Count() != n.Requests || len(sum.Errors) > 0 {
				t.Errorf("%d connections came, %d visits, %d latencies, errors %v", got, n.Requests, n.Latency.Count(), sum.Errors)
			}
			if rate != "max" && took < 240*time.Millisecond {
				t.Errorf("50 visits at %s a second took %v", rate, took)
			}
		})
	}
}
