package assignor

import (
	"container/heap"
	"slices"

	"ringmain/model"
)

// Uniform gives members as equal numbers of partitions as their subscriptions allow,
// over all topics together, and leaves partitions where they are as far as that
// allows.
func Uniform(members []Member, topics map[model.TopicID]int32) []Assignment {
	return inOrder(members, func(members []Member) []Assignment {
		t := newTable(members, topics)
		loads := t.keep(members)
		if sameTopics(members) {
			t.level(loads)
		} else {
			t.fill(loads)
			t.balance(loads)
		}
		return t.shares(len(members))
	})
}

// level is for members that subscribe to the same topics: each gets the whole part
// of the even share, and some get one partition more. Nothing moves but what a
// member has above that.
func (t *table) level(loads []int) {
	total := 0
	for i := range t.topics {
		total += len(t.topics[i].owners)
	}
	each, more := total/len(loads), total%len(loads)
	quotas := make([]int, len(loads))
	// Those who have more than the even share already are the ones to get one more.
	for _, rich := range []bool{true, false} {
		for m := range loads {
			if rich != (loads[m] > each) {
				continue
			}
			quotas[m] = each
			if more > 0 {
				quotas[m]++
				more--
			}
		}
	}
	// What is above a quota goes from the end, so that what stays is the beginning.
	for i := len(t.topics) - 1; i >= 0; i-- {
		owners := t.topics[i].owners
		for p := len(owners) - 1; p >= 0; p-- {
			if m := owners[p]; m != nobody && loads[m] > quotas[m] {
				owners[p] = nobody
				loads[m]--
			}
		}
	}
	next := 0
	for i := range t.topics {
		owners := t.topics[i].owners
		for p := range owners {
			if owners[p] != nobody {
				continue
			}
			for loads[next] == quotas[next] {
				next++
			}
			owners[p] = next
			loads[next]++
		}
	}
}

// fill gives what nobody owns to the subscriber that has least.
func (t *table) fill(loads []int) {
	for _, topic := range t.byDensity() {
		if !slices.Contains(topic.owners, nobody) {
			continue
		}
		least := newLightest(topic.subscribers, loads)
		for p, m := range topic.owners {
			if m == nobody {
				topic.owners[p] = least.add()
			}
		}
	}
}

// balanceRounds bounds the passes over all topics. Each pass takes a whole step
// towards balance for every topic, so few are needed; where subscriptions overlap in
// long chains it may take many, and what is left then is a small unevenness.
const balanceRounds = 16

// balance moves partitions, topic by topic, from its busiest subscribers to its
// idlest ones, until no topic has two that differ by more than one.
func (t *table) balance(loads []int) {
	topics := t.byDensity()
	for range balanceRounds {
		moved := false
		for _, topic := range topics {
			moved = topic.balance(loads) || moved
		}
		if !moved {
			return
		}
	}
}

func (t *topic) balance(loads []int) (moved bool) {
	low, high := loads[t.subscribers[0]], loads[t.subscribers[0]]
	for _, m := range t.subscribers {
		low, high = min(low, loads[m]), max(high, loads[m])
	}
	if high-low <= 1 {
		return false
	}
	owned := make(map[int][]int, len(t.subscribers)) // partitions by owner
	for p, m := range t.owners {
		owned[m] = append(owned[m], p)
	}
	for {
		from, to := nobody, nobody
		for _, m := range t.subscribers {
			if len(owned[m]) > 0 && (from == nobody || loads[m] >= loads[from]) {
				from = m // only who owns some of this topic can give
			}
			if to == nobody || loads[m] < loads[to] {
				to = m
			}
		}
		if from == nobody || loads[from]-loads[to] <= 1 {
			return moved
		}
		last := len(owned[from]) - 1
		t.owners[owned[from][last]] = to
		owned[from] = owned[from][:last]
		loads[from]--
		loads[to]++
		moved = true
	}
}

func (t *table) byDensity() []*topic {
	topics := make([]*topic, len(t.topics))
	for i := range t.topics {
		topics[i] = &t.topics[i]
	}
	slices.SortFunc(topics, byDensity)
	return topics
}

// lightest is a heap of members with the one that has least on top.
type lightest struct{ members, loads []int }

func newLightest(members, loads []int) *lightest {
	h := &lightest{slices.Clone(members), loads}
	heap.Init(h)
	return h
}

// add gives one partition to the member on top.
func (h *lightest) add() int {
	m := h.members[0]
	h.loads[m]++
	heap.Fix(h, 0)
	return m
}

func (h *lightest) Len() int { return len(h.members) }

func (h *lightest) Less(i, j int) bool {
	a, b := h.members[i], h.members[j]
	return h.loads[a] < h.loads[b] || h.loads[a] == h.loads[b] && a < b
}

func (h *lightest) Swap(i, j int) { h.members[i], h.members[j] = h.members[j], h.members[i] }

// Push and Pop are asked for by container/heap; members neither come nor go.
func (h *lightest) Push(any) {}
func (h *lightest) Pop() any { return nil }
