package assignor

import (
	"bytes"
	"cmp"
	"maps"
	"slices"
	"strings"

	"ringmain/model"
)

// Member is one member of the group.
type Member struct {
	ID         string
	InstanceID string // "" for a dynamic member
	// Topics are those that the member subscribes to, in any order and without
	// repetition. All of them are among the topics that are shared out.
	Topics []model.TopicID
	// Held is what the last assignment gave to the member. What is in it and is not
	// to be had any more counts for nothing.
	Held Assignment
}

// Assignment is one member's share: partitions in ascending order by topic. No topic
// is in it without partitions.
type Assignment map[model.TopicID][]int32

// Equal reports whether both hold the same partitions.
func (a Assignment) Equal(b Assignment) bool { return maps.EqualFunc(a, b, slices.Equal) }

// Size is the number of partitions.
func (a Assignment) Size() int {
	n := 0
	for _, partitions := range a {
		n += len(partitions)
	}
	return n
}

// Assignor shares out topics, whose numbers of partitions are given, and returns one
// share for each member, in the order of members. A partition of a topic that
// somebody subscribes to is in exactly one share; its holder subscribes to it.
type Assignor func(members []Member, topics map[model.TopicID]int32) []Assignment

// Names of the assignors, as in group.consumer.assignors and in requests.
const (
	UniformName = "uniform"
	RangeName   = "range"
)

// Named returns nil when there is no such assignor.
func Named(name string) Assignor {
	switch name {
	case UniformName:
		return Uniform
	case RangeName:
		return Range
	}
	return nil
}

// inOrder runs share on the members in their order, static ones by instance id, then
// dynamic ones by id, and puts the shares back into the order they were given in. So
// the shares of static members stay where they are whatever ids they get.
func inOrder(members []Member, share func(members []Member) []Assignment) []Assignment {
	if len(members) == 0 {
		return nil
	}
	places := make([]int, len(members))
	for i := range places {
		places[i] = i
	}
	slices.SortFunc(places, func(a, b int) int {
		x, y := &members[a], &members[b]
		switch {
		case x.InstanceID != "" && y.InstanceID != "":
			return strings.Compare(x.InstanceID, y.InstanceID)
		case x.InstanceID != "":
			return -1
		case y.InstanceID != "":
			return 1
		}
		return strings.Compare(x.ID, y.ID)
	})
	sorted := make([]Member, len(members))
	for i, place := range places {
		sorted[i] = members[place]
	}
	shares := make([]Assignment, len(members))
	for i, s := range share(sorted) {
		shares[places[i]] = s
	}
	return shares
}

func compareIDs(a, b model.TopicID) int { return bytes.Compare(a[:], b[:]) }

// sameTopics reports whether all members subscribe to the same topics.
func sameTopics(members []Member) bool {
	first := make(map[model.TopicID]bool, len(members[0].Topics))
	for _, id := range members[0].Topics {
		first[id] = true
	}
	for i := range members[1:] {
		m := &members[i+1]
		if len(m.Topics) != len(first) {
			return false
		}
		for _, id := range m.Topics {
			if !first[id] {
				return false
			}
		}
	}
	return true
}

// nobody owns a partition.
const nobody = -1

// table is the topics in the order of their ids, with the owner of every partition.
type table struct {
	topics []topic
	index  map[model.TopicID]int
}

type topic struct {
	id          model.TopicID
	subscribers []int // indexes of members, in their order
	owners      []int // by partition: index of a member, or nobody
}

// newTable has the topics that a member subscribes to, nothing owned.
func newTable(members []Member, topics map[model.TopicID]int32) *table {
	t := &table{index: map[model.TopicID]int{}}
	for m := range members {
		for _, id := range members[m].Topics {
			at, ok := t.index[id]
			if !ok {
				at = len(t.topics)
				t.index[id] = at
				t.topics = append(t.topics, topic{id: id})
			}
			t.topics[at].subscribers = append(t.topics[at].subscribers, m)
		}
	}
	slices.SortFunc(t.topics, func(a, b topic) int { return compareIDs(a.id, b.id) })
	for i := range t.topics {
		t.index[t.topics[i].id] = i
		owners := make([]int, topics[t.topics[i].id])
		for p := range owners {
			owners[p] = nobody
		}
		t.topics[i].owners = owners
	}
	return t
}

// keep lets members own what they held, as far as they may have it still, and
// returns how much that is for each. Nobody is given what another one has.
func (t *table) keep(members []Member) []int {
	loads := make([]int, len(members))
	for m := range members {
		for _, id := range members[m].Topics {
			held := members[m].Held[id]
			if len(held) == 0 {
				continue
			}
			owners := t.topics[t.index[id]].owners
			for _, p := range held {
				if int(p) < len(owners) && owners[p] == nobody {
					owners[p] = m
					loads[m]++
				}
			}
		}
	}
	return loads
}

// shares are the assignments that the owners amount to.
func (t *table) shares(members int) []Assignment {
	shares := make([]Assignment, members)
	for i := range shares {
		shares[i] = Assignment{}
	}
	for i := range t.topics {
		for p, m := range t.topics[i].owners {
			if m != nobody {
				shares[m][t.topics[i].id] = append(shares[m][t.topics[i].id], int32(p))
			}
		}
	}
	return shares
}

// byDensity orders topics by partitions for each subscriber, most first, then by
// the number of subscribers: where there is the least choice comes first.
func byDensity(a, b *topic) int {
	return cmp.Or(
		cmp.Compare(len(b.owners)*len(a.subscribers), len(a.owners)*len(b.subscribers)),
		cmp.Compare(len(a.subscribers), len(b.subscribers)),
		compareIDs(a.id, b.id))
}
