package group

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// TestUpgradeAndDowngrade is a group that changes its protocol while it works, and
// changes back when the last member of the new one leaves.
func TestUpgradeAndDowngrade(t *testing.T) {
	sc := newScene(t)
	sc.topic("t", 2)
	leader, follower := sc.classicGroup(nil)
	generation := int32(2)
	if !sc.kafka {
		generation = 1 // both joined while the initial delay ran
	}
	if got := sc.describe(); got.ErrorCode != kerr.GroupIDNotFound.Code {
		t.Fatalf("%+v", got)
	}
	// Members of the classic protocol have all there is.
	sc.served(joins("m", "t"), generation+1, share{})
	sc.shows("Reconciling", generation+1, generation+1)
	if got := sc.classicState(); got != "none" && got != "Dead" {
		t.Errorf("DescribeGroups says %s", got)
	}
	// Both learn of it by their heartbeats; the one that has to give up nothing joins
	// and is done, the other one owns nothing of what it gave up when it joins.
	joined := map[string]share{}
	for id, had := range map[string]share{leader: parts("t", 0), follower: parts("t", 1)} {
		if code := sc.classicBeat(id, generation); code != kerr.RebalanceInProgress.Code {
			t.Fatalf("%s got %d", id, code)
		}
		j := sc.join(classicJoin{id: id, topics: []string{"t"}, owned: had})
		if j.ErrorCode != 0 {
			t.Fatalf("%+v", j)
		}
		_, now := sc.sync(id, j.Generation, "cooperative-sticky")
		if j.Generation == generation { // told to give up
			if len(now) != 0 {
				t.Fatalf("%s keeps %v in generation %d", id, now, j.Generation)
			}
			if code := sc.classicBeat(id, generation); code != kerr.RebalanceInProgress.Code {
				t.Errorf("%s got %d", id, code)
			}
			if j = sc.join(classicJoin{id: id, topics: []string{"t"}}); j.Generation != generation+1 {
				t.Fatalf("%+v", j)
			}
			_, now = sc.sync(id, j.Generation, "cooperative-sticky")
		}
		joined[id] = now
	}
	sc.shows("Stable", generation+1, generation+1)
	total := 0
	for _, m := range sc.describe().Members {
		for _, tp := range m.Assignment.TopicPartitions {
			total += len(tp.Partitions)
		}
	}
	if total != 2 {
		t.Errorf("%d partitions are assigned", total)
	}
	if g := sc.beat(beat{id: "m", epoch: -1}); g.code != 0 {
		t.Fatalf("%+v", g)
	}
	if got := sc.describe(); got.ErrorCode != kerr.GroupIDNotFound.Code {
		t.Fatalf("%+v", got)
	}
	if got := sc.classicState(); got != "PreparingRebalance" {
		t.Errorf("the group is %s", got)
	}
	if !sc.kafka {
		for _, when := range []string{"after the downgrade", "after a load"} {
			for topic, want := range map[string]bool{"t": true, "other": false} {
				if yes, known := sc.m.groups[sc.group].members.subscribed(topic); yes != want || !known {
					t.Errorf("%s: the group reads %s: %v, known %v", when, topic, yes, known)
				}
			}
			sc.load()
		}
	}
	if code := sc.classicBeat(leader, generation+1); sc.kafka && code != kerr.RebalanceInProgress.Code || !sc.kafka && code != 0 {
		t.Errorf("the heartbeat got %d", code) // after a load nobody knows of the rebalance
	}
	if code := sc.classicBeat(follower, generation+2); code != kerr.IllegalGeneration.Code {
		t.Errorf("the heartbeat got %d", code)
	}
}

func TestUpgradesThatAreRefused(t *testing.T) {
	sc := newScene(t)
	sc.topic("t", 2)
	leader, _ := sc.classicGroup([]byte("an assignor's own"))
	sc.refused(joins("m", "t"), kerr.GroupIDNotFound.Code)
	sc.refused(beat{id: leader, epoch: 1}, kerr.GroupIDNotFound.Code)
	if got := sc.classicState(); got != "Stable" {
		t.Errorf("a refused upgrade leaves the group %s", got)
	}
	other := *sc
	other.group += "-connect"
	id := other.join(classicJoin{typ: "connect", topics: []string{"t"}}).MemberID
	first := other.joining(classicJoin{id: id, typ: "connect", topics: []string{"t"}})
	if !sc.kafka {
		sc.pass(10_000)
	}
	first()
	other.refused(joins("m", "t"), kerr.GroupIDNotFound.Code)
}

// TestEmptyGroupsChangeFreely: whatever the policy says.
func TestEmptyGroupsChangeFreely(t *testing.T) {
	sc := newScene(t)
	sc.topic("t", 2)
	leader, follower := sc.classicGroup(nil)
	left := sc.classicLeave(kmsg.LeaveGroupRequestMember{MemberID: leader}, kmsg.LeaveGroupRequestMember{MemberID: follower})
	if left.ErrorCode != 0 {
		t.Fatalf("%+v", left)
	}
	sc.served(joins("m", "t"), 2, parts("t", 0, 1))
	sc.beat(beat{id: "m", epoch: -1})
	sc.shows("Empty", 3, 3)
	sc.classicGroup(nil)
	if got := sc.classicState(); got != "Stable" {
		t.Errorf("the group is %s", got)
	}
}

// TestAStaticMemberChangesItsProtocol: the last one of the consumer protocol makes
// the group a classic one when it comes back, and what it has stays its own.
func TestAStaticMemberChangesItsProtocol(t *testing.T) {
	sc := newScene(t)
	sc.topic("t", 2)
	b := joins("m", "t")
	b.instance = "i"
	sc.served(b, 2, parts("t", 0, 1))
	sc.beat(beat{id: "m", instance: "i", epoch: -2})
	j := sc.join(classicJoin{instance: "i", topics: []string{"t"}})
	if j.ErrorCode != 0 || j.Generation != 2 {
		t.Fatalf("%+v", j)
	}
	if got := sc.classicState(); got != "Stable" {
		t.Errorf("the group is %s", got)
	}
	sc.holds(j.MemberID, 2, parts("t", 0, 1))
	// And back again.
	b.id = "n"
	sc.served(b, 2, parts("t", 0, 1))
	sc.shows("Stable", 2, 2)
}

// TestAStaticMemberChangesItsProtocolAndItsTopics: the classic group goes on from the
// epoch that the other one had, and its own next generation is the first with them.
func TestAStaticMemberChangesItsProtocolAndItsTopics(t *testing.T) {
	sc := newScene(t)
	sc.topic("t", 2)
	sc.topic("u", 2)
	b := joins("m", "t")
	b.instance = "i"
	sc.served(b, 2, parts("t", 0, 1))
	sc.beat(beat{id: "m", instance: "i", epoch: -2})
	if j := sc.join(classicJoin{instance: "i", topics: []string{"u"}}); j.ErrorCode != 0 {
		t.Fatalf("%+v", j)
	}
	if got := sc.classicState(); got != "PreparingRebalance" {
		t.Errorf("the group is %s", got)
	}
	sc.served(joins("n", "t"), 3, share{})
	sc.shows("Reconciling", 3, 3)
}

func TestMigrationPolicy(t *testing.T) {
	for _, policy := range []MigrationPolicy{{}, {Upgrade: true}, {Downgrade: true}} {
		sc := newMachineScene(t, asKafka, func(cfg *Config) { cfg.Migration = policy })
		sc.topic("t", 2)
		leader, follower := sc.classicGroup(nil)
		g := sc.beat(joins("m", "t"))
		if !policy.Upgrade {
			if g.code != kerr.GroupIDNotFound.Code {
				t.Errorf("%+v: %+v", policy, g)
			}
			sc.classicLeave(kmsg.LeaveGroupRequestMember{MemberID: leader}, kmsg.LeaveGroupRequestMember{MemberID: follower})
			if g = sc.beat(joins("m", "t")); g.code != 0 {
				t.Errorf("%+v, empty: %+v", policy, g)
			}
		}
		j := sc.join(classicJoin{id: "x", topics: []string{"t"}})
		if policy == (MigrationPolicy{}) {
			if j.ErrorCode != kerr.InconsistentGroupProtocol.Code {
				t.Errorf("%+v: %+v", policy, j)
			}
			continue
		}
		if j.ErrorCode != 0 {
			t.Fatalf("%+v: %+v", policy, j)
		}
		sc.beat(beat{id: "m", epoch: -1})
		want := "none"
		if policy.Downgrade {
			want = "PreparingRebalance"
		}
		if got := sc.classicState(); got != want {
			t.Errorf("%+v: the group is %s", policy, got)
		}
	}
}

// TestOffsetsOutliveAChangeOfProtocol in both directions.
func TestOffsetsOutliveAChangeOfProtocol(t *testing.T) {
	sc := newMachineScene(t, asKafka)
	sc.topic("t", 1)
	sc.commit("", -1, 0, 7)
	sc.served(joins("m", "t"), 2, parts("t", 0))
	if got := sc.committed(); got != 7 {
		t.Errorf("%d is committed", got)
	}
	sc.commit("m", 2, 0, 8)
	sc.beat(beat{id: "m", epoch: -1})
	sc.join(classicJoin{topics: []string{"t"}})
	if got := sc.committed(); got != 8 {
		t.Errorf("%d is committed", got)
	}
}

// TestWhoWaitsWhenAGroupIsUpgraded joins again, and is served then.
func TestWhoWaitsWhenAGroupIsUpgraded(t *testing.T) {
	sc := newMachineScene(t, asKafka)
	sc.topic("t", 2)
	leader, follower := sc.classicGroup(nil)
	waiting := sc.joining(classicJoin{id: leader, topics: []string{"t"}})
	sc.served(joins("m", "t"), 2, share{})
	if j := waiting(); j.ErrorCode != kerr.RebalanceInProgress.Code || j.MemberID != leader {
		t.Errorf("%+v", j)
	}
	// Their sessions go on: who does not come is removed.
	sc.pass(29_000)
	sc.beat(beat{id: "m", epoch: 2})
	sc.classicBeat(follower, 1)
	sc.pass(2000)
	if d := sc.describe(); len(d.Members) != 2 {
		t.Errorf("%d members", len(d.Members))
	}
}
