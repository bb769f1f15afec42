package group

import (
	"maps"
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"

	"ringmain/coordinator/group/records"
	"ringmain/metadata"
)

func settings(sessionMs, intervalMs int32) func(*Config) {
	return func(cfg *Config) {
		cfg.ConsumerSettings = func(*metadata.Image, string) ConsumerSettings {
			return ConsumerSettings{SessionTimeoutMs: sessionMs, HeartbeatIntervalMs: 5000, AssignmentIntervalMs: intervalMs}
		}
	}
}

func TestASessionEnds(t *testing.T) {
	sc := newMachineScene(t, settings(45_000, 0))
	sc.topic("t", 2)
	sc.served(joins("a", "t"), 2, parts("t", 0, 1))
	sc.beat(joins("b", "t"))
	sc.pass(44_000)
	sc.beat(beat{id: "b", epoch: 3})
	sc.pass(2000)
	sc.refused(beat{id: "a", epoch: 2}, kerr.UnknownMemberID.Code)
	sc.served(beat{id: "b", epoch: 3}, 4, parts("t", 0, 1))
	sc.pass(45_001)
	sc.shows("Empty", 5, 5)
}

// TestAGroupHasSettingsOfItsOwn, and they count when they change.
func TestAGroupHasSettingsOfItsOwn(t *testing.T) {
	sc := newMachineScene(t, func(cfg *Config) {
		cfg.ConsumerSettings = func(img *metadata.Image, group string) ConsumerSettings {
			if img.Config(metadata.GroupResource, group) != nil {
				return ConsumerSettings{SessionTimeoutMs: 60_000, HeartbeatIntervalMs: 15_000}
			}
			return ConsumerSettings{SessionTimeoutMs: 45_000, HeartbeatIntervalMs: 5000}
		}
	})
	sc.topic("t", 1)
	if g := sc.beat(joins("a", "t")); g.interval != 5000 {
		t.Errorf("%+v", g)
	}
	value := "60000"
	sc.change(metadata.ConfigRecord{Kind: metadata.GroupResource, Name: "g", Key: "consumer.session.timeout.ms", Value: &value})
	if g := sc.beat(beat{id: "a", epoch: 2}); g.interval != 15_000 {
		t.Errorf("%+v", g)
	}
	sc.pass(59_000)
	sc.served(beat{id: "a", epoch: 2}, 2, nil)
}

// TestAMemberThatGivesNothingUp is removed when its rebalance timeout is over, however
// alive it is.
func TestAMemberThatGivesNothingUp(t *testing.T) {
	sc := newMachineScene(t, settings(45_000, 0))
	sc.topic("t", 2)
	b := joins("a", "t")
	b.timeout = 30_000
	sc.served(b, 2, parts("t", 0, 1))
	sc.beat(joins("b", "t"))
	if g := sc.beat(beat{id: "a", epoch: 2}); len(g.share["t"]) != 1 {
		t.Fatalf("%+v", g)
	}
	sc.pass(20_000)
	sc.load() // which gives it the whole time again
	sc.pass(20_000)
	sc.beat(beat{id: "b", epoch: 3})
	sc.served(beat{id: "a", epoch: 2, owned: parts("t", 0, 1)}, 2, nil)
	sc.pass(10_001)
	sc.refused(beat{id: "a", epoch: 2, owned: parts("t", 0, 1)}, kerr.UnknownMemberID.Code)
	sc.served(beat{id: "b", epoch: 3}, 4, parts("t", 0, 1))
}

// TestAStaticMemberThatDoesNotComeBack loses its place with its session.
func TestAStaticMemberThatDoesNotComeBack(t *testing.T) {
	sc := newMachineScene(t, settings(45_000, 0))
	sc.topic("t", 1)
	b := joins("a", "t")
	b.instance = "i"
	sc.served(b, 2, parts("t", 0))
	sc.pass(30_000)
	sc.beat(beat{id: "a", instance: "i", epoch: -2})
	sc.pass(14_000)
	sc.shows("Reconciling", 2, 2)
	sc.pass(1001)
	sc.shows("Empty", 3, 3)
}

// TestAClassicMemberHasToJoinAndSyncInTime once it was told to.
func TestAClassicMemberHasToJoinAndSyncInTime(t *testing.T) {
	sc := newMachineScene(t, settings(600_000, 0))
	sc.topic("t", 2)
	sc.beat(joins("a", "t"))
	join := func(id string) {
		if j := sc.join(classicJoin{id: id, topics: []string{"t"}}); j.ErrorCode != 0 {
			t.Fatalf("%+v", j)
		}
	}
	alive := func(id string, ms int64, generation int32) (code int16) {
		for end := sc.nowMs + ms; sc.nowMs < end; {
			sc.pass(10_000)
			code = sc.classicBeat(id, generation)
		}
		return code
	}
	join("x") // and never asks for its share
	if code := alive("x", 60_000, 3); code != kerr.UnknownMemberID.Code {
		t.Errorf("who did not sync got %d", code)
	}
	sc.beat(beat{id: "a", epoch: 2})
	join("y")
	generation := sc.describe().Members[1].MemberEpoch
	sc.holds("y", generation, share{})
	g := sc.beat(beat{id: "a", epoch: sc.describe().Members[0].MemberEpoch})
	sc.beat(beat{id: "a", epoch: g.epoch, owned: g.share})
	if code := alive("y", 50_000, generation); code != kerr.RebalanceInProgress.Code {
		t.Fatalf("told of its share with %d", code)
	}
	if code := alive("y", 30_000, generation); code != kerr.UnknownMemberID.Code {
		t.Errorf("who did not join got %d", code)
	}
}

// TestAssignmentsAreNotComputedOneAfterTheOther: members that join meanwhile are
// members, with nothing, and the next heartbeat after the interval assigns for all.
func TestAssignmentsAreNotComputedOneAfterTheOther(t *testing.T) {
	sc := newMachineScene(t, settings(45_000, 1000))
	sc.topic("t", 2)
	sc.served(joins("a", "t"), 2, parts("t", 0, 1))
	sc.pass(500)
	sc.served(joins("b", "t"), 2, share{})
	sc.served(joins("c", "t"), 2, share{})
	sc.shows("Assigning", 4, 2)
	sc.pass(499)
	sc.served(beat{id: "a", epoch: 2}, 2, nil)
	sc.pass(1)
	if g := sc.beat(beat{id: "a", epoch: 2}); len(g.share["t"]) != 1 {
		t.Errorf("%+v", g)
	}
	sc.shows("Reconciling", 4, 4)
	// A group that was empty need not wait.
	for _, id := range []string{"a", "b", "c"} {
		sc.beat(beat{id: id, epoch: -1})
	}
	sc.served(joins("d", "t"), 8, parts("t", 0, 1))
}

// TestWhoWaitsComesSooner: who waits for a target, or for what others have, and nobody
// else. An interval that is shorter anyway stays.
func TestWhoWaitsComesSooner(t *testing.T) {
	sc := newMachineScene(t, settings(45_000, 1000))
	sc.topic("t", 2)
	next := func(b beat, want int32) {
		t.Helper()
		if g := sc.beat(b); g.code != 0 || g.interval != want {
			t.Errorf("%+v got %+v, want an interval of %d", b, g, want)
		}
	}
	next(joins("a", "t"), 5000)
	next(joins("b", "t"), waitingHeartbeatMs)
	next(beat{id: "a", epoch: 2}, waitingHeartbeatMs)
	sc.pass(waitingHeartbeatMs)
	next(beat{id: "b", epoch: 2}, waitingHeartbeatMs)
	next(beat{id: "a", epoch: 2}, 5000) // told to give up, which it says when it has
	next(beat{id: "b", epoch: 3}, waitingHeartbeatMs)
	kept := sc.describe().Members[0].TargetAssignment.TopicPartitions[0].Partitions
	next(beat{id: "a", epoch: 2, owned: parts("t", kept...)}, 5000)
	next(beat{id: "b", epoch: 3}, 5000)
	sc.shows("Stable", 3, 3)

	sc = newMachineScene(t, func(cfg *Config) {
		cfg.ConsumerSettings = func(*metadata.Image, string) ConsumerSettings {
			return ConsumerSettings{SessionTimeoutMs: 45_000, HeartbeatIntervalMs: 500, AssignmentIntervalMs: 1000}
		}
	})
	sc.topic("t", 2)
	next(joins("a", "t"), 500)
	next(joins("b", "t"), 500)
}

// TestAStateOfANewerBroker makes the member begin again.
func TestAStateOfANewerBroker(t *testing.T) {
	sc := newMachineScene(t, settings(45_000, 0))
	id := sc.topic("t", 1)
	sc.served(joins("a", "t"), 2, parts("t", 0))
	r := records.ConsumerGroupCurrentMemberAssignment("g", "a", &records.ConsumerGroupCurrentMemberAssignmentValue{
		MemberEpoch: 2, PreviousMemberEpoch: 0, State: 9,
		AssignedPartitions: []records.TopicPartitions{{TopicID: id, Partitions: []int32{0}}},
	})
	sc.log = append(sc.log, logged{r, sc.wallMs()})
	sc.load()
	sc.refused(beat{id: "a", epoch: 2, owned: parts("t", 0)}, kerr.FencedMemberEpoch.Code)
	sc.refused(beat{id: "a", epoch: 2}, kerr.FencedMemberEpoch.Code)
	sc.served(joins("a", "t"), 2, parts("t", 0))
	sc.shows("Stable", 2, 2)
}

// TestEpochsThatAreNotRecorded: a broker before Kafka 4.3 wrote no epochs of
// partitions; the member's stands for them.
func TestEpochsThatAreNotRecorded(t *testing.T) {
	sc := newMachineScene(t, settings(45_000, 0))
	id := sc.topic("t", 1)
	sc.served(joins("a", "t"), 2, parts("t", 0))
	r := records.ConsumerGroupCurrentMemberAssignment("g", "a", &records.ConsumerGroupCurrentMemberAssignmentValue{
		MemberEpoch: 5, PreviousMemberEpoch: 4, AssignedPartitions: []records.TopicPartitions{{TopicID: id, Partitions: []int32{0}}},
	})
	sc.log = append(sc.log, logged{r, sc.wallMs()})
	sc.load()
	m := sc.m.knownConsumerGroup("g").members["a"]
	if got := slices.Collect(maps.Values(m.assigned)); len(got) != 1 || got[0] != 5 {
		t.Errorf("since %v", got)
	}
}

// TestTheHashOfTopicsIsWhatItWas in every release: it is in the log, and another one
// would have all groups assigned anew.
func TestTheHashOfTopicsIsWhatItWas(t *testing.T) {
	sc := newMachineScene(t, settings(45_000, 0))
	sc.change(metadata.RegisterBrokerRecord{Broker: metadata.Broker{ID: 1, Rack: "r1"}})
	sc.topic("t", 2)
	sc.topic("u", 1)
	sc.beat(joins("a", "t", "u", "nowhere"))
	c := sc.m.knownConsumerGroup("g")
	if got, want := c.metadataHash, int64(227578123722231421); got != want {
		t.Errorf("the hash is %d, want %d", got, want)
	}
	// A leader that changes is nothing to assign for.
	leader := int32(1)
	sc.change(metadata.PartitionChangeRecord{TopicID: sc.img.Topic("t").ID, Index: 0, Leader: &leader})
	sc.beat(beat{id: "a", epoch: 2})
	if c.epoch != 2 {
		t.Errorf("epoch %d", c.epoch)
	}
	// A rack that changes is seen when the topic is looked at again.
	before := c.metadataHash
	sc.change(metadata.RegisterBrokerRecord{Broker: metadata.Broker{ID: 1, Rack: "r2"}})
	sc.grow("u", 2)
	sc.beat(beat{id: "a", epoch: 2})
	if c.metadataHash == before || c.epoch != 3 {
		t.Errorf("epoch %d", c.epoch)
	}
}
