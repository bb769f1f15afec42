package group

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"ringmain/metadata"
)

func joinsWith(id, regex string) beat {
	return beat{id: id, timeout: 300_000, regex: &regex, owned: share{}}
}

// comes lets a member live until it has what it is to have: at Kafka expressions are
// matched aside.
func (sc *scene) comes(id string, want share) {
	sc.t.Helper()
	var g got
	owned := share{}
	epoch := int32(-1)
	for _, m := range sc.describe().Members {
		if m.MemberID == id {
			epoch = m.MemberEpoch
		}
	}
	for range 100 {
		g = sc.beat(beat{id: id, epoch: epoch, timeout: 300_000, topics: []string{}, owned: owned})
		if g.code != 0 {
			sc.t.Fatalf("%+v", g)
		}
		epoch, owned = g.epoch, g.share
		if fmt.Sprint(g.share) == fmt.Sprint(want) {
			return
		}
		if sc.kafka {
			time.Sleep(100 * time.Millisecond)
		} else {
			sc.pass(100)
		}
	}
	sc.t.Fatalf("%s has %v, want %v", id, g.share, want)
}

func TestSubscriptionsByExpression(t *testing.T) {
	sc := newScene(t)
	sc.topic("orders-1", 1)
	sc.topic("orders-2", 1)
	sc.topic("payments", 1)
	prefix := strings.ReplaceAll(sc.named(""), ".", `\.`)
	if g := sc.beat(joinsWith("a", prefix+"orders-.")); g.code != 0 {
		t.Fatalf("%+v", g)
	}
	sc.comes("a", share{"orders-1": {0}, "orders-2": {0}})
	// Names are matched whole.
	regex := prefix + "orders|" + prefix + "payments"
	g := sc.beat(beat{id: "a", epoch: sc.describe().Members[0].MemberEpoch, regex: &regex})
	if g.code != 0 || g.share == nil || len(g.share["orders-1"]) != 0 {
		t.Fatalf("what it does not subscribe to is taken at once: %+v", g)
	}
	if !sc.kafka { // where the next one waits for 10 s
		sc.comes("a", share{"payments": {0}})
	}
	for _, bad := range []string{"(", "[a", "a{2,1}", "(?=x)", `\1`, "a**"} {
		sc.refused(joinsWith("b", bad), kerr.InvalidRegularExpression.Code)
	}
	if d := sc.describe(); len(d.Members) != 1 || *d.Members[0].SubscribedTopicRegex != regex {
		t.Errorf("%+v", d)
	}
}

// TestExpressionsForNoTopics give no reason to assign: the epoch stays.
func TestExpressionsForNoTopics(t *testing.T) {
	sc := newScene(t)
	sc.topic("t", 1)
	sc.served(joinsWith("a", sc.named("none.*")), 1, share{})
	sc.shows("Stable", 1, 1)
	b := joinsWith("b", sc.named("none.*"))
	b.topics = []string{"t"}
	sc.served(b, 2, parts("t", 0))
	sc.shows("Reconciling", 2, 2)
}

// TestExpressionsFollowTheTopics that are created, and find what else has changed at
// the latest with the refresh interval.
func TestExpressionsFollowTheTopics(t *testing.T) {
	sc := newMachineScene(t, settings(3_600_000, 0))
	sc.topic("a1", 1)
	sc.served(joinsWith("m", "a.*"), 2, parts("a1", 0))
	sc.topic("a2", 1)
	sc.served(beat{id: "m", epoch: 2}, 2, nil) // too soon
	sc.pass(regexRefreshMinMs + 1)
	sc.served(beat{id: "m", epoch: 2}, 3, share{"a1": {0}, "a2": {0}})
	r := sc.m.knownConsumerGroup("g").regexes["a.*"]
	at := r.atMs
	sc.pass(590_000)
	sc.served(beat{id: "m", epoch: 3}, 3, nil)
	if r.atMs != at {
		t.Error("it was resolved again too soon")
	}
	sc.pass(20_000)
	sc.served(beat{id: "m", epoch: 3}, 3, nil)
	if r.atMs == at {
		t.Error("it was not resolved again")
	}
	sc.deleteTopic("a1")
	sc.served(beat{id: "m", epoch: 3}, 3, parts("a2", 0))
	// Topics that were created while nobody led the partition are found after a load.
	sc.served(beat{id: "m", epoch: 3, owned: parts("a2", 0)}, 4, nil)
	img, _, err := sc.img.Apply(append([]metadata.Record{metadata.TopicRecord{Name: "a3", ID: [16]byte{9}}}, newPartitions([16]byte{9}, 0, 1)...), sc.img.Offset()+1)
	if err != nil {
		t.Fatal(err)
	}
	sc.img = img
	sc.names[[16]byte{9}] = "a3"
	sc.load()
	sc.pass(regexRefreshMinMs + 1)
	sc.served(beat{id: "m", epoch: 4}, 5, share{"a2": {0}, "a3": {0}})
}

// TestOneExpressionOfManyMembers is matched once, and forgotten with the last of them.
func TestOneExpressionOfManyMembers(t *testing.T) {
	sc := newMachineScene(t, settings(45_000, 0))
	sc.topic("a", 1)
	written := 0
	for i := range 20 {
		sc.beat(joinsWith(fmt.Sprint("m", i), "a+"))
	}
	for _, r := range sc.log {
		if r.Key[1] == 16 {
			written++
		}
	}
	if written != 1 {
		t.Errorf("it was resolved %d times", written)
	}
	for i := range 20 {
		sc.beat(beat{id: fmt.Sprint("m", i), epoch: -1})
	}
	c := sc.m.knownConsumerGroup("g")
	if len(c.regexes) != 0 || len(c.topics) != 0 {
		t.Errorf("left are %v and %v", c.regexes, c.topics)
	}
}

// TestNamesAndExpressionTogether: the subscription is what either says.
func TestNamesAndExpressionTogether(t *testing.T) {
	sc := newMachineScene(t, settings(45_000, 0))
	sc.topic("a", 1)
	sc.topic("b", 1)
	b := joinsWith("m", "a.*")
	b.topics = []string{"b"}
	sc.served(b, 2, parts("b", 0)) // what it names comes first, by itself
	sc.pass(0)
	sc.served(beat{id: "m", epoch: 2, owned: parts("b", 0)}, 3, share{"a": {0}, "b": {0}})
	none := ""
	sc.served(beat{id: "m", epoch: 3, regex: &none}, 3, parts("b", 0))
	sc.served(beat{id: "m", epoch: 3, owned: parts("b", 0)}, 4, nil)
	if c := sc.m.knownConsumerGroup("g"); len(c.regexes) != 0 || !c.subscribedTo("b") || c.subscribedTo("a") {
		t.Errorf("%v, %v", c.regexes, c.topics)
	}
}

func (c *consumer) subscribedTo(topic string) bool {
	yes, known := c.subscribed(topic)
	return yes && known
}

func TestExpressionsHaveBounds(t *testing.T) {
	sc := newMachineScene(t, settings(45_000, 0))
	for regex, want := range map[string]string{
		strings.Repeat("a", regexMaxBytes+1): "too long",
		"(a|b|c){300}x{1000}":                "too complex",
		"(?:(?:a{100}){100}){100}":           "not a valid", // the parser's own bound
	} {
		g := sc.beat(joinsWith("m", regex))
		if g.code != kerr.InvalidRegularExpression.Code || !strings.Contains(g.text, want) {
			t.Errorf("%.20s: %d %s", regex, g.code, g.text)
		}
	}
	sc.served(joinsWith("m", strings.Repeat("a", 200)), 1, share{})
	for text, rows := range map[string]map[string]bool{
		"a|ab":   {"a": true, "ab": true, "abc": false},
		`\Qa.b`:  {"a.b": true, "axb": false},
		"(?i)T":  {"t": true, "tt": false},
		"a$|^b":  {"a": true, "b": true, "ab": false},
		"":       {"": true, "a": false},
		"a)|(?:": nil,
	} {
		m, refused := compile(text)
		if (refused != nil) != (rows == nil) {
			t.Errorf("%s: %+v", text, refused)
			continue
		}
		for name, want := range rows {
			if m.regex.MatchString(name) != want {
				t.Errorf("%s matches %q: %v", text, name, !want)
			}
		}
	}
}

// TestMatchingIsCutIntoSteps: with very many topics and the worst expression that is
// let in no step does more than it may; meanwhile the group works.
func TestMatchingIsCutIntoSteps(t *testing.T) {
	sc := newMachineScene(t, settings(45_000, 0))
	name := func(i int) string { return fmt.Sprintf("%s%05d", strings.Repeat("a", 200), i) }
	var all []metadata.Record
	for i := range 10_000 {
		all = append(all, metadata.TopicRecord{Name: name(i), ID: [16]byte{1, byte(i >> 8), byte(i)}})
	}
	sc.change(all...)
	sc.topic("b", 1)
	worst := "(?:a?){200}(?:a*){100}c|b"
	began := time.Now()
	g := sc.served(joinsWith("m", worst), 1, share{})
	if took := time.Since(began); took > 2*time.Second {
		t.Errorf("the first step took %v", took)
	}
	c := sc.m.knownConsumerGroup("g")
	if c.resolution == nil || c.resolution.at == 0 || c.resolution.at > 200 {
		t.Fatalf("after the first step %+v", c.resolution)
	}
	if limit := regexStepWork/c.resolution.regexes[0].program/200 + 1; c.resolution.at > limit {
		t.Errorf("the first step matched %d names, which is more than %d", c.resolution.at, limit)
	}
	if g := sc.served(beat{id: "m", epoch: g.epoch}, 1, nil); g.interval != waitingHeartbeatMs {
		t.Errorf("who waits for topics is to come again in %d ms", g.interval)
	}
	// It ends like any other; here the rest is left out for the test's time.
	c.resolution.at = len(c.resolution.names) - 1
	sc.pass(10)
	sc.served(beat{id: "m", epoch: 1}, 2, parts("b", 0))
}

// TestTopicsOfManyExpressionsAreWrittenInSteps: what an expression stands for may be
// long, and many may be resolved together.
func TestTopicsOfManyExpressionsAreWrittenInSteps(t *testing.T) {
	sc := newMachineScene(t)
	const members = 60 // with 60 KB of topics each
	epochs := map[string]int32{}
	for i := range members {
		id := fmt.Sprint("m", i)
		epochs[id] = sc.beat(joinsWith(id, fmt.Sprintf("t.*x{%d}", i+1))).epoch
	}
	var all []metadata.Record
	for i := range 300 {
		all = append(all, metadata.TopicRecord{Name: fmt.Sprint("t", i, strings.Repeat("x", 200)), ID: [16]byte{1, byte(i >> 8), byte(i)}})
	}
	sc.change(all...)
	sc.pass(regexRefreshMinMs + 1000)
	before := len(sc.log)
	sc.beat(beat{id: "m0", epoch: epochs["m0"]})
	steps := 1
	for c := sc.m.knownConsumerGroup("g"); ; steps++ {
		bytes := 0
		for _, r := range sc.log[before:] {
			bytes += r.Size()
		}
		if bytes > maxStepBytes+100_000 {
			t.Errorf("a step wrote %d bytes", bytes)
		}
		if c.resolution == nil {
			break
		}
		before = len(sc.log)
		sc.pass(1)
	}
	if steps < 3 {
		t.Errorf("%d steps", steps)
	}
	for text, r := range sc.m.knownConsumerGroup("g").regexes {
		if len(r.topics) != 300 {
			t.Errorf("%s stands for %d topics", text, len(r.topics))
		}
	}
}

// TestManyExpressionsAreResolvedInTurns: they are compiled in one step.
func TestManyExpressionsAreResolvedInTurns(t *testing.T) {
	sc := newMachineScene(t)
	sc.topic("t", 1)
	for i := range 3 * regexesAtOnce {
		sc.beat(joinsWith(fmt.Sprint("m", i), fmt.Sprintf("t|u{%d}", i+1)))
	}
	sc.topic("u", 1)
	sc.pass(regexRefreshMinMs + 1000)
	c := sc.m.knownConsumerGroup("g")
	for range 3 {
		sc.beat(beat{id: "m0", epoch: c.members["m0"].epoch})
	}
	for text, r := range c.regexes {
		if r.version < c.topicsCreatedAt {
			t.Errorf("%s is not resolved anew", text)
		}
	}
}

// A member that goes over to an expression for no topics gives up what it had to those
// who still read it.
func TestAnExpressionForNoTopicsGivesUp(t *testing.T) {
	sc := newMachineScene(t, asKafka)
	sc.topic("a1", 2)
	sc.beat(beat{id: "m1", epoch: 0, timeout: 300_000, topics: []string{"a1"}, owned: share{}})
	sc.beat(joinsWith("m2", "a.*"))
	owned := map[string]share{"m1": {"a1": {0, 1}}, "m2": {}}
	tell := func(b beat) {
		t.Helper()
		for _, m := range sc.describe().Members {
			if m.MemberID == b.id {
				b.epoch = m.MemberEpoch
			}
		}
		b.timeout, b.owned = 300_000, owned[b.id]
		g := sc.beat(b)
		if g.code != 0 {
			t.Fatalf("%s: %+v", b.id, g)
		}
		if g.share != nil {
			owned[b.id] = g.share
		}
	}
	rounds := func() {
		for range 6 {
			tell(beat{id: "m1"})
			tell(beat{id: "m2"})
			sc.pass(2000)
		}
	}
	rounds()
	if len(owned["m1"]["a1"]) != 1 || len(owned["m2"]["a1"]) != 1 {
		t.Fatalf("the topic is not shared: %v", owned)
	}
	none := "none.*"
	tell(beat{id: "m2", regex: &none})
	rounds()
	if len(owned["m1"]["a1"]) != 2 || len(owned["m2"]) != 0 {
		t.Errorf("m1, the only one that reads a1, has %v, and m2 %v", owned["m1"], owned["m2"])
	}
}
