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
	// The next connection goes where each has most partitions so far. So no partition
	// has two while another shares its own, also where leaders have unequal numbers, and
	// the first connections, as many as there are partitions, have them all.
	reach := make([]int, connections) // leader of each connection
	ranks := make([]int, len(leaders))
	for i := range reach {
		most := 0
		for l := range leaders {
			if len(led[leaders[l]])*(ranks[most]+1) > len(led[leaders[most]])*(ranks[l]+1) {
				most = l
			}
		}
		if i < len(leaders) {
			most = i // nobody is left out
		}
		reach[i] = most
		ranks[most]++
	}
	shares := make([][]*load.Partition, connections)
	taken := make([]int, len(leaders)) // of each leader's connections
	for i, l := range reach {
		its, rank := led[leaders[l]], taken[l]
		taken[l]++
		if ranks[l] >= len(its) {
			shares[i] = its[rank%len(its) : rank%len(its)+1]
			continue
		}
		for k := rank; k < len(its); k += ranks[l] {
			shares[i] = append(shares[i], its[k])
		}
	}
	return shares, nil
}
