package replay

import (
	"fmt"

	"ringmain/bench/load"
)

// share spreads partitions over connections. A connection goes to one leader and has
// only partitions of that one. Each partition has a connection; where there are more
// connections than partitions, several have the same.
func share(partitions []load.Partition, connections int) ([][]*load.Partition, error) {
	var leaders []string
	led := map[string][]*load.Partition{}
	for i := range partitions {
		p := &partitions[i]
		if led[p.Leader] == nil {
			leaders = append(leaders, p.Leader)
		}
		led[p.Leader] = append(led[p.Leader], p)
	}
	if connections < len(leaders) {
		return nil, fmt.Errorf("%d connections cannot reach the %d brokers that lead the partitions: use at least as many connections", connections, len(leaders))
	}
	shares := make([][]*load.Partition, connections)
	for i := range shares {
		leader := i % len(leaders)
		its := led[leaders[leader]]
		rank := i / len(leaders)                                          // of the connection, among those to this leader
		ranks := (connections - leader + len(leaders) - 1) / len(leaders) // how many there are
		if ranks >= len(its) {
			shares[i] = its[rank%len(its) : rank%len(its)+1]
			continue
		}
		for k := rank; k < len(its); k += ranks {
			shares[i] = append(shares[i], its[k])
		}
	}
	return shares, nil
}
