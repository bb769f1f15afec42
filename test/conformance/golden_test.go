package conformance

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"ringmain/test/harness"
)

var (
	record = flag.Bool("record", false, "record the golden answers from the Apache Kafka at -broker")
	broker = flag.String("broker", "", "host:port of a broker that runs; else one is started")
)

// overrides are the settings that the recorded Kafka had and a broker has not by itself.
var overrides = []string{
	"offsets.topic.replication.factor=1", "transaction.state.log.replication.factor=1", "transaction.state.log.min.isr=1",
	"share.coordinator.state.topic.replication.factor=1", "share.coordinator.state.topic.min.isr=1", "group.initial.rebalance.delay.ms=0",
}

func address(t *testing.T) string {
	if *broker != "" {
		return *broker
	}
	if *record {
		t.Fatal("-record needs -broker: the Apache Kafka to record from")
	}
	return harness.Start(t, harness.Options{Overrides: overrides}).Addr()
}

func TestGolden(t *testing.T) {
	addr := address(t)
	used := map[int]bool{}
	for _, a := range apis {
		t.Run(a.name, func(t *testing.T) {
			if *record {
				recordAPI(t, addr, a)
				return
			}
			g, err := readGolden(goldenPath(a))
			if err != nil {
				t.Fatal(err)
			}
			for _, sc := range a.scenarios {
				t.Run(strings.ReplaceAll(sc.name, " ", "_"), func(t *testing.T) {
					for v := sc.first(a); v <= sc.last(a); v++ {
						t.Run(fmt.Sprintf("v%d", v), func(t *testing.T) { compare(t, addr, a, sc, v, g, used) })
					}
				})
			}
		})
	}
	if !*record && !t.Failed() && flag.Lookup("test.run").Value.String() == "" {
		for i, d := range deviations {
			if !used[i] {
				t.Errorf("the deviation %q of %s is listed but nothing differs", d.why, d.scenario)
			}
		}
	}
}

func (sc scenario) first(a api) int16 { return max(a.min, sc.from) }

func (sc scenario) last(a api) int16 {
	if sc.to == 0 {
		return a.max
	}
	return sc.to
}

func runScenario(t *testing.T, addr string, sc scenario, version int16) []step {
	s := newScript(t, addr, version, *broker != "")
	defer s.close()
	sc.run(s)
	return s.steps
}

// recordAPI rewrites an API's golden file; with -run it keeps the scenarios that
// were not chosen.
func recordAPI(t *testing.T, addr string, a api) {
	g, err := readGolden(goldenPath(a))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	if g == nil {
		g = golden{}
	}
	present := map[string]bool{}
	for _, sc := range a.scenarios {
		present[sc.name] = true
		t.Run(strings.ReplaceAll(sc.name, " ", "_"), func(t *testing.T) {
			delete(g, sc.name)
			for v := sc.first(a); v <= sc.last(a); v++ {
				steps := runScenario(t, addr, sc, v)
				if len(steps) == 0 {
					t.Fatalf("v%d recorded nothing", v)
				}
				g.add(sc.name, v, steps)
			}
		})
	}
	for n := range g {
		if !present[n] {
			delete(g, n)
		}
	}
	if err := g.write(goldenPath(a)); err != nil {
		t.Fatal(err)
	}
}

func compare(t *testing.T, addr string, a api, sc scenario, version int16, g golden, used map[int]bool) {
	want, ok := g.at(sc.name, version)
	if !ok {
		t.Fatal("nothing is recorded: run with -record against Apache Kafka")
	}
	got := plain(runScenario(t, addr, sc, version))
	if len(got) != len(want) {
		t.Errorf("%d answers, Kafka gave %d", len(got), len(want))
	}
	name := a.name + "/" + sc.name
	for i := range min(len(got), len(want)) {
		for _, d := range diff("", want[i].answer, got[i].answer) {
			if n, ok := allowed(name, want[i].name, d); ok {
				used[n] = true
				continue
			}
			t.Errorf("answer %d (%s): %s", i+1, want[i].name, d)
		}
	}
}
