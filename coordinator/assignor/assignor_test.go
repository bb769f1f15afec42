package assignor

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"ringmain/model"
)

func id(n int) model.TopicID {
	var t model.TopicID
	binary.BigEndian.PutUint64(t[8:], uint64(n))
	return t
}

func ids(n int) []model.TopicID {
	all := make([]model.TopicID, n)
	for i := range all {
		all[i] = id(i + 1)
	}
	return all
}

func sized(n int, partitions func(i int) int32) map[model.TopicID]int32 {
	topics := map[model.TopicID]int32{}
	for i, t := range ids(n) {
		topics[t] = partitions(i)
	}
	return topics
}

// hold lets the members hold what they were assigned.
func hold(members []Member, shares []Assignment) {
	for i := range shares {
		members[i].Held = shares[i]
	}
}

// owners is who has each partition; it fails where two have one, where somebody has
// what it did not subscribe to, and where a partition somebody wants is nobody's.
func owners(t *testing.T, members []Member, topics map[model.TopicID]int32, shares []Assignment) map[string]string {
	t.Helper()
	owner := map[string]string{}
	for i, share := range shares {
		for topic, partitions := range share {
			if !slices.Contains(members[i].Topics, topic) {
				t.Fatalf("%s has a topic it does not subscribe to", members[i].ID)
			}
			if len(partitions) == 0 || !slices.IsSorted(partitions) {
				t.Fatalf("%s has %v", members[i].ID, partitions)
			}
			for _, p := range partitions {
				key := fmt.Sprint(topic, p)
				if owner[key] != "" || p < 0 || p >= topics[topic] {
					t.Fatalf("%s has %d of %d, which %q has", members[i].ID, p, topics[topic], owner[key])
				}
				owner[key] = members[i].ID
			}
		}
	}
	wanted := map[model.TopicID]bool{}
	for i := range members {
		for _, topic := range members[i].Topics {
			wanted[topic] = true
		}
	}
	total := 0
	for topic := range wanted {
		total += int(topics[topic])
	}
	if len(owner) != total {
		t.Fatalf("%d partitions have owners, of %d", len(owner), total)
	}
	return owner
}

func spread(shares []Assignment) int {
	low, high := shares[0].Size(), shares[0].Size()
	for _, s := range shares {
		low, high = min(low, s.Size()), max(high, s.Size())
	}
	return high - low
}

// moves counts the partitions that changed hands between two living members.
func moves(before, after map[string]string, gone string) int {
	n := 0
	for p, m := range after {
		if was := before[p]; was != "" && was != gone && was != m {
			n++
		}
	}
	return n
}

// TestEqualSubscriptions walks through joins, leaves, new topics and new partitions,
// and asserts balance, and that no more moves than balance asks for.
func TestEqualSubscriptions(t *testing.T) {
	for seed := range uint64(100) {
		rng := rand.New(rand.NewPCG(seed, 1))
		numTopics := 1 + rng.IntN(4)
		topics := sized(numTopics, func(int) int32 { return rng.Int32N(20) })
		var members []Member
		var before map[string]string
		var sizes map[string]int
		for step := range 20 {
			gone, grown := "", false
			switch n := rng.IntN(5); {
			case n < 2 || len(members) == 0:
				members = append(members, Member{ID: fmt.Sprintf("m%03d-%d", rng.IntN(1000), step)})
			case n == 2 && len(members) > 1:
				i := rng.IntN(len(members))
				gone = members[i].ID
				members = slices.Delete(members, i, i+1)
			case n == 3:
				topics[id(1+rng.IntN(numTopics))] += rng.Int32N(4)
				grown = true
			default:
				numTopics++
				topics[id(numTopics)] = 1 + rng.Int32N(9)
				grown = true
			}
			for i := range members {
				members[i].Topics = ids(numTopics)
			}
			shares := Uniform(members, topics)
			after := owners(t, members, topics, shares)
			if spread(shares) > 1 {
				t.Fatalf("seed %d step %d: sizes differ by %d", seed, step, spread(shares))
			}
			// Moved is at most what the members had above their share of now.
			must := 0
			each := len(after) / len(members)
			for _, m := range members {
				must += max(0, sizes[m.ID]-each)
			}
			if n := moves(before, after, gone); n > must {
				t.Fatalf("seed %d step %d (grown %v): %d moved, %d had to", seed, step, grown, n, must)
			}
			shuffled := slices.Clone(members)
			rng.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
			for i, s := range Uniform(shuffled, topics) {
				at := slices.IndexFunc(members, func(m Member) bool { return m.ID == shuffled[i].ID })
				if !s.Equal(shares[at]) {
					t.Fatalf("seed %d: the order of the members matters", seed)
				}
			}
			hold(members, shares)
			for i, s := range Uniform(members, topics) {
				if !s.Equal(shares[i]) {
					t.Fatalf("seed %d: assigned again, the shares differ", seed)
				}
			}
			before, sizes = after, map[string]int{}
			for i := range members {
				sizes[members[i].ID] = shares[i].Size()
			}
		}
	}
}

// TestUnequalSubscriptions asserts that no partition could be had by a subscriber
// with two less, and that what is assigned stays when nothing changes.
func TestUnequalSubscriptions(t *testing.T) {
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 2))
		all := ids(1 + rng.IntN(8))
		topics := sized(len(all), func(int) int32 { return rng.Int32N(12) })
		members := make([]Member, 1+rng.IntN(8))
		for i := range members {
			members[i].ID = fmt.Sprint("m", i)
			for _, topic := range all {
				if rng.IntN(2) == 0 {
					members[i].Topics = append(members[i].Topics, topic)
				}
			}
		}
		for _, assign := range []Assignor{Uniform, Range} {
			owners(t, members, topics, assign(members, topics))
		}
		shares := Uniform(members, topics)
		for from, share := range shares {
			for topic := range share {
				for to := range members {
					if slices.Contains(members[to].Topics, topic) && share.Size()-shares[to].Size() > 1 {
						t.Fatalf("seed %d: %s has %d, %s could have some of its and has %d", seed,
							members[from].ID, share.Size(), members[to].ID, shares[to].Size())
					}
				}
			}
		}
		hold(members, shares)
		for i, s := range Uniform(members, topics) {
			if !s.Equal(shares[i]) {
				t.Fatalf("seed %d: assigned again, the shares differ", seed)
			}
		}
		// What a member does not subscribe to any more goes to others.
		changed := slices.Clone(members)
		if n := len(changed[0].Topics); n > 0 {
			changed[0].Topics = changed[0].Topics[:n-1]
		}
		owners(t, changed, topics, Uniform(changed, topics))
	}
}

func TestRangeCutsTopicsAlike(t *testing.T) {
	topics := map[model.TopicID]int32{id(1): 5, id(2): 5, id(3): 2}
	members := []Member{{ID: "c"}, {ID: "a"}, {ID: "b"}}
	for i := range members {
		members[i].Topics = ids(3)
	}
	shares := Range(members, topics)
	want := []Assignment{
		{id(1): {4}, id(2): {4}},
		{id(1): {0, 1}, id(2): {0, 1}, id(3): {0}},
		{id(1): {2, 3}, id(2): {2, 3}, id(3): {1}},
	}
	for i := range want {
		if !shares[i].Equal(want[i]) {
			t.Errorf("%s has %v, want %v", members[i].ID, shares[i], want[i])
		}
	}
}

// TestStaticMembersKeepTheirRange: whatever ids they come back with, and before all
// dynamic members.
func TestStaticMembersKeepTheirRange(t *testing.T) {
	topics := map[model.TopicID]int32{id(1): 6}
	first := []Member{
		{ID: "z", InstanceID: "i1", Topics: ids(1)}, {ID: "y", InstanceID: "i2", Topics: ids(1)}, {ID: "a", Topics: ids(1)},
	}
	again := []Member{
		{ID: "c", InstanceID: "i2", Topics: ids(1)}, {ID: "d", InstanceID: "i1", Topics: ids(1)}, {ID: "a", Topics: ids(1)},
	}
	for _, assign := range []Assignor{Range, Uniform} {
		a, b := assign(first, topics), assign(again, topics)
		if !a[0].Equal(b[1]) || !a[1].Equal(b[0]) || !a[2].Equal(b[2]) {
			t.Errorf("%v became %v", a, b)
		}
		if !a[0].Equal(Assignment{id(1): {0, 1}}) {
			t.Errorf("the first instance has %v", a[0])
		}
	}
}

func TestHeldPartitionsThatAreGone(t *testing.T) {
	topics := map[model.TopicID]int32{id(1): 2}
	members := []Member{
		{ID: "a", Topics: ids(1), Held: Assignment{id(1): {0, 5}, id(9): {1}}},
		{ID: "b", Topics: ids(1), Held: Assignment{id(1): {0}}}, // what another one has
	}
	shares := Uniform(members, topics)
	if !shares[0].Equal(Assignment{id(1): {0}}) || !shares[1].Equal(Assignment{id(1): {1}}) {
		t.Errorf("got %v", shares)
	}
}

func TestNobodyAndNothing(t *testing.T) {
	for _, name := range []string{UniformName, RangeName} {
		if got := Named(name)(nil, nil); len(got) != 0 {
			t.Errorf("%s gives nobody %v", name, got)
		}
		if got := Named(name)([]Member{{ID: "a"}}, nil); len(got) != 1 || got[0].Size() != 0 {
			t.Errorf("%s gives %v where there are no topics", name, got)
		}
	}
	if Named("sticky") != nil {
		t.Error("there is an assignor called sticky")
	}
}

// BenchmarkAssign is 500 members and 10,000 partitions, from nothing and with one
// member more than before.
func BenchmarkAssign(b *testing.B) {
	topics := sized(100, func(int) int32 { return 100 })
	members := make([]Member, 500)
	for i := range members {
		members[i] = Member{ID: fmt.Sprintf("m%03d", i), Topics: ids(100)}
	}
	uneven := slices.Clone(members)
	for i := range uneven {
		uneven[i].Topics = ids(100)[i%50:]
	}
	for _, c := range []struct {
		name    string
		assign  Assignor
		members []Member
	}{{"uniform", Uniform, members}, {"uneven", Uniform, uneven}, {"range", Range, members}} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				c.assign(c.members, topics)
			}
		})
		b.Run(c.name+" join", func(b *testing.B) {
			held := slices.Clone(c.members)
			hold(held, c.assign(held[:499], topics))
			for b.Loop() {
				c.assign(held, topics)
			}
		})
	}
}
