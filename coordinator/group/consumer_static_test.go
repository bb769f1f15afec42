package group

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func static(id string) beat {
	b := joins(id, "t")
	b.instance = "i"
	return b
}

// away lets the static member of this id leave for a while.
func (sc *scene) away(id string) {
	sc.t.Helper()
	sc.served(beat{id: id, instance: "i", epoch: leftForAWhile}, leftForAWhile, nil)
}

// TestAStaticMemberThatIsAway has what it had, and commits with no epoch but that it
// left with. It may go away twice, and leave for good from there.
func TestAStaticMemberThatIsAway(t *testing.T) {
	sc := newScene(t)
	sc.topic("t", 2)
	sc.served(static("a"), 2, parts("t", 0, 1))
	sc.away("a")
	sc.away("a")
	if m := sc.describe().Members[0]; m.MemberEpoch != leftForAWhile || len(m.Assignment.TopicPartitions[0].Partitions) != 2 {
		t.Errorf("%+v", m)
	}
	for epoch, want := range map[int32]int16{-2: 0, -1: kerr.StaleMemberEpoch.Code, 0: kerr.StaleMemberEpoch.Code, 2: kerr.StaleMemberEpoch.Code} {
		if got := sc.commit("a", epoch, 0, 1); got != want {
			t.Errorf("a commit with epoch %d got %d", epoch, got)
		}
	}
	// Back under the same id, even if it does not say its instance id.
	sc.served(joins("a", "t"), 2, parts("t", 0, 1))
	if got := sc.commit("a", 1, 0, 1); got != 0 {
		t.Errorf("a commit of before it was away got %d", got)
	}
	sc.away("a")
	sc.served(beat{id: "a", instance: "i", epoch: left}, left, nil)
	sc.shows("Empty", 3, 3)
}

// TestAStaticMemberGoesAwayWhileItHasToGiveUp: what it was to give up is free, and who
// comes back has the rest.
func TestAStaticMemberGoesAwayWhileItHasToGiveUp(t *testing.T) {
	sc := newScene(t)
	sc.topic("t", 4)
	sc.served(static("a"), 2, parts("t", 0, 1, 2, 3))
	sc.served(joins("b", "t"), 3, share{})
	kept := sc.beat(beat{id: "a", instance: "i", epoch: 2}).share
	sc.away("a")
	if sc.harness != nil {
		sc.load()
	}
	if g := sc.beat(beat{id: "b", epoch: 3}); g.epoch != 3 || len(g.share["t"]) != 2 {
		t.Errorf("%+v", g)
	}
	sc.served(static("c"), 3, kept)
	sc.shows("Stable", 3, 3)
}

// TestAMemberBeginsAgainWhileItHasToGiveUp: it owns nothing then.
func TestAMemberBeginsAgainWhileItHasToGiveUp(t *testing.T) {
	sc := newScene(t)
	sc.topic("t", 4)
	sc.served(joins("a", "t"), 2, parts("t", 0, 1, 2, 3))
	sc.served(joins("b", "t"), 3, share{})
	kept := sc.beat(beat{id: "a", epoch: 2}).share
	sc.served(joins("a", "t"), 3, kept)
	// The answer was lost: the epoch before is in order, for it owns nothing.
	sc.served(beat{id: "a", epoch: 2, timeout: 300_000, topics: []string{"t"}, owned: share{}}, 3, kept)
	sc.beat(beat{id: "b", epoch: 3})
	sc.shows("Stable", 3, 3)
}

// TestAStaticMemberChangesItsProtocolBesideOthers: the other protocol takes the place
// over at once, in both directions, while the one before lives.
func TestAStaticMemberChangesItsProtocolBesideOthers(t *testing.T) {
	sc := newScene(t)
	sc.topic("t", 2)
	sc.served(joins("a", "t"), 2, parts("t", 0, 1))
	sc.served(static("s"), 3, share{})
	kept := sc.beat(beat{id: "a", epoch: 2}).share
	sc.served(beat{id: "a", epoch: 2, owned: kept}, 3, nil)
	has := sc.beat(beat{id: "s", instance: "i", epoch: 3}).share
	if len(has["t"]) != 1 {
		t.Fatal(has)
	}
	var id string
	for range 2 { // the second takes the place of the first
		before := id
		j := sc.join(classicJoin{instance: "i", topics: []string{"t"}})
		if j.ErrorCode != 0 || j.Generation != 3 {
			t.Fatalf("%+v", j)
		}
		id = j.MemberID
		sc.holds(id, 3, has)
		if code := sc.classicBeat(id, 3); code != 0 {
			t.Errorf("the heartbeat got %d", code)
		}
		if code := sc.classicBeat(before, 3); before != "" && code != kerr.UnknownMemberID.Code {
			t.Errorf("the heartbeat of the one before got %d", code)
		}
	}
	sc.refused(beat{id: "s", instance: "i", epoch: 3}, kerr.FencedInstanceID.Code)
	for name, row := range map[string][2]int16{
		"its generation":  {sc.commit(id, 3, 0, 1), 0},
		"a version of it": {sc.commitVersion(8, id, 3, 0, 1), 0},
		"a newer one":     {sc.commit(id, 4, 0, 1), kerr.IllegalGeneration.Code},
	} {
		if row[0] != row[1] {
			t.Errorf("a commit with %s got %d", name, row[0])
		}
	}
	sc.served(static("s2"), 3, has)
	sc.refused(static("s3"), kerr.UnreleasedInstanceID.Code)
	// The last one of the consumer protocol is removed by its instance id.
	m := sc.join(classicJoin{topics: []string{"t"}})
	m = sc.join(classicJoin{id: m.MemberID, topics: []string{"t"}})
	sc.served(beat{id: "a", epoch: left}, left, nil)
	instance := "i"
	if l := sc.classicLeave(kmsg.LeaveGroupRequestMember{InstanceID: &instance}); l.Members[0].ErrorCode != 0 {
		t.Errorf("%+v", l)
	}
	if got := sc.classicState(); got != "PreparingRebalance" {
		t.Errorf("the group is %s", got)
	}
	for generation, want := range map[int32]int16{4: kerr.IllegalGeneration.Code, 5: kerr.RebalanceInProgress.Code} {
		if got := sc.classicBeat(m.MemberID, generation); got != want {
			t.Errorf("a heartbeat of generation %d got %d", generation, got)
		}
	}
}
