package groups

import (
	"flag"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"ringmain/test/harness"
)

var (
	kafka     = flag.String("kafka", "", "host:port of an Apache Kafka to compare with; else two brokers of ours are compared")
	seed      = flag.Uint64("seed", 1, "of the first sequence")
	sequences = flag.Int("sequences", 8, "how many")
	steps     = flag.Int("steps", 40, "of each sequence")
)

func start(t *testing.T) string {
	return harness.Start(t, harness.Options{Overrides: []string{"group.initial.rebalance.delay.ms=0"}}).Addr()
}

func TestGroupsAnswerAlike(t *testing.T) {
	reference := *kafka
	if reference == "" {
		reference = start(t)
	}
	p := newPair(t, reference, start(t))
	done, ended := 0, 0
	for i := range *sequences {
		list := seeds(*seed+uint64(i), *steps)
		s := run(p, list)
		done += len(list)
		if s.finished {
			ended++
		}
		if s.differs != "" {
			s = shortened(p, list, s)
			t.Errorf("seed %d:\n%s", *seed+uint64(i), strings.Join(s.trace, "\n"))
		}
	}
	t.Logf("%d sequences of %d steps, %d ended where a difference is meant", *sequences, *steps, ended)
	if *kafka == "" && ended > 0 {
		t.Errorf("%d sequences ended although both brokers are ours", ended)
	}
}

func seeds(of uint64, n int) []uint64 {
	r := rand.New(rand.NewPCG(of, 1))
	list := make([]uint64, n)
	for i := range list {
		list[i] = r.Uint64()
	}
	return list
}

// shortened leaves out steps as long as the brokers differ in the same way.
func shortened(p *pair, list []uint64, s *sequence) *sequence {
	tries := 60
	for size := len(list) / 2; size >= 1; size /= 2 {
		for at := 0; at+size <= len(list) && tries > 0; tries-- {
			less := slices.Concat(list[:at], list[at+size:])
			if shorter := run(p, less); shorter.differs == s.differs {
				list, s = less, shorter
			} else {
				at += size
			}
		}
	}
	return s
}
