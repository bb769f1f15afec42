package replay

import (
	"fmt"
	"strings"
	"testing"

	"ringmain/bench/load"
)

// partitionsOf makes so many partitions of each leader, whose numbers are mixed as
// those of a topic are.
func partitionsOf(each ...int) (all []load.Partition) {
	for rank := 0; ; rank++ {
		some := false
		for leader, n := range each {
			if rank < n {
				some = true
				all = append(all, load.Partition{Topic: "t", Index: int32(len(all)), Leader: fmt.Sprintf("broker-%d:9092", leader)})
			}
		}
		if !some {
			return all
		}
	}
}

func TestShareReachesEveryPartition(t *testing.T) {
	for _, each := range [][]int{{1}, {8}, {4, 4}, {1, 3}, {1, 7}, {5, 1, 2}, {3, 3, 3}, {1, 1, 30}} {
		partitions := partitionsOf(each...)
		for connections := len(each); connections <= 2*len(partitions)+3; connections++ {
			shares, err := share(partitions, connections)
			if err != nil {
				t.Fatalf("%d connections to leaders of %v: %v", connections, each, err)
			}
			if len(shares) != connections {
				t.Fatalf("%d connections to leaders of %v: there are %d", connections, each, len(shares))
			}
			times := map[*load.Partition]int{}
			for i, its := range shares {
				if len(its) == 0 {
					t.Errorf("%d connections to leaders of %v: connection %d has nothing to do", connections, each, i)
				}
				for _, p := range its {
					times[p]++
					if p.Leader != its[0].Leader {
						t.Errorf("%d connections to leaders of %v: connection %d goes to %s and %s", connections, each, i, p.Leader, its[0].Leader)
					}
				}
			}
			first := map[*load.Partition]int{}
			for _, its := range shares[:min(len(partitions), connections)] {
				for _, p := range its {
					first[p]++
				}
			}
			for i := range partitions {
				p := &partitions[i]
				switch {
				case times[p] == 0:
					t.Errorf("%d connections to leaders of %v: nobody has partition %d", connections, each, i)
				case connections <= len(partitions) && times[p] > 1:
					t.Errorf("%d connections to leaders of %v: %d have partition %d", connections, each, times[p], i)
				case connections >= len(partitions) && first[p] != 1:
					t.Errorf("%d connections to leaders of %v: %d of the first %d have partition %d", connections, each, first[p], len(partitions), i)
				}
			}
		}
	}
}

func TestShareRefusesFewerConnectionsThanLeaders(t *testing.T) {
	_, err := share(partitionsOf(2, 1, 1), 2)
	if err == nil || !strings.Contains(err.Error(), "2 connections cannot reach the 3 brokers") {
		t.Fatalf("got %v", err)
	}
}
