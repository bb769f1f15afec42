package group

import "testing"

// TestAMemberWithoutTopics is no reason to assign, but the group exists.
func TestAMemberWithoutTopics(t *testing.T) {
	sc := newScene(t)
	sc.topic("t", 2)
	sc.served(joins("a"), 1, share{})
	sc.served(joins("b"), 1, share{})
	sc.shows("Stable", 1, 1)
	sc.served(joins("c", "t"), 2, parts("t", 0, 1))
	sc.served(beat{id: "c", epoch: left}, left, nil)
	sc.shows("Assigning", 3, 2)
	sc.served(joins("d", "nowhere"), 4, share{})
	sc.shows("Reconciling", 4, 4)
}

// TestATopicIsDeletedWhileItIsToBeGivenUp: the member still has to say that it did.
func TestATopicIsDeletedWhileItIsToBeGivenUp(t *testing.T) {
	sc := newScene(t)
	sc.topic("t", 2)
	sc.topic("u", 2)
	sc.served(joins("a", "t", "u"), 2, share{"t": {0, 1}, "u": {0, 1}})
	sc.served(joins("b", "t", "u"), 3, share{})
	if g := sc.beat(beat{id: "a", epoch: 2}); g.epoch != 2 {
		t.Fatalf("%+v", g)
	}
	sc.deleteTopic("u")
	sc.served(beat{id: "b", epoch: 3}, 4, nil)
	sc.beat(beat{id: "a", epoch: 2})
	sc.shows("Reconciling", 4, 4)
	g := sc.beat(beat{id: "a", epoch: 2, owned: share{}})
	if g.epoch != 4 || len(g.share["t"]) != 1 {
		t.Fatalf("%+v", g)
	}
	sc.served(beat{id: "b", epoch: 4}, 4, parts("t", 1-g.share["t"][0]))
	sc.shows("Stable", 4, 4)
}

// TestTopicsThatChangedBeforeTheLoad are seen by the first heartbeat after it: nobody
// tells a machine of what happened while it was not there.
func TestTopicsThatChangedBeforeTheLoad(t *testing.T) {
	sc := newMachineScene(t, settings(45_000, 0))
	sc.topic("t", 1)
	regex := "u.*"
	b := joins("a", "t", "later")
	b.regex = &regex
	sc.served(b, 2, parts("t", 0))
	old := sc.m
	sc.m = New(old.cfg) // is told instead
	sc.topic("later", 1)
	sc.topic("u", 1)
	sc.grow("t", 2)
	sc.m = old
	sc.pass(regexRefreshMinMs + 1)
	sc.load()
	// One epoch for the topics it names, one for those of its expression.
	sc.served(beat{id: "a", epoch: 2}, 4, share{"t": {0, 1}, "later": {0}, "u": {0}})
}
