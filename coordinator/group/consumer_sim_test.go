package group

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"ringmain/coordinator"
	"ringmain/metadata"
)

// seeds is how many simulations a test runs: n, or RINGMAIN_GROUP_SEEDS.
func seeds(t *testing.T, n uint64) uint64 {
	if text := os.Getenv("RINGMAIN_GROUP_SEEDS"); text != "" {
		n, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	return n
}

// TestSimulatedConsumers lets members of a group come, go, crash and change their
// minds while topics come, go and grow, requests and answers get lost, late and
// doubled, and the coordinator is loaded anew. At every moment a member owns nothing
// that the group does not know it to have, and no two members have the same;
// epochs never fall; what is loaded is what was there. Left alone, every member gets
// to have its share, and every partition has an owner.
func TestSimulatedConsumers(t *testing.T) {
	for seed := range seeds(t, 200) {
		sim := newSimulation(t, seed)
		for range 3 {
			for range 120 {
				sim.disturb()
				sim.tick(true)
			}
			sim.settle()
			sim.reload()
		}
	}
}

// tickMs is the time between two moments of a simulation.
const tickMs = 250

type simulation struct {
	*scene
	seed    uint64
	rng     *rand.Rand
	clients []*simClient
	made    int
	// epoch, assignmentEpoch are the highest seen.
	epoch, assignmentEpoch int32
}

// simClient is a consumer: it has at most one request on its way, as clients have,
// and takes time to give up partitions.
type simClient struct {
	id       string
	instance string
	topics   []string
	regex    *string
	changed  bool // the subscription is to be sent

	epoch    int32
	owned    map[topicPartition]bool
	assigned map[topicPartition]bool // as it was told last
	revokeMs int64                   // when it will have given up the rest; 0: nothing to do
	whole    bool                    // the next request says all
	beatMs   int64                   // when the next request is due
	leaving  int32                   // the epoch to leave with; 0: stays
	gone     bool                    // left or crashed

	// classic clients have a generation for an epoch; an eager one gives up all it has
	// before it joins.
	classic, eager bool
	next           func(*simulation, *simClient, bool) // what it does next

	request  *kmsg.ConsumerGroupHeartbeatRequest // on its way, or waited for
	arriveMs []int64                             // when it gets to the group, maybe twice
	answer   *kmsg.ConsumerGroupHeartbeatResponse
	answerMs int64 // when the answer gets to the client
	giveUpMs int64 // when the client stops waiting
}

func newSimulation(t *testing.T, seed uint64) *simulation {
	rng := rand.New(rand.NewPCG(seed, 848))
	interval := []int32{0, 1000, 15_000}[rng.IntN(3)]
	sim := &simulation{seed: seed, rng: rng, scene: newMachineScene(t, func(cfg *Config) {
		cfg.ConsumerMaxSize = 12
		cfg.Migration.Downgrade = false // the leader's part would be the test's then
		cfg.ConsumerSettings = func(*metadata.Image, string) ConsumerSettings {
			return ConsumerSettings{SessionTimeoutMs: 20_000, HeartbeatIntervalMs: 3000, AssignmentIntervalMs: interval}
		}
	})}
	for i := range 1 + rng.IntN(3) {
		sim.topic(fmt.Sprint("t", i), 1+rng.IntN(6))
	}
	return sim
}

func (sim *simulation) failf(format string, args ...any) {
	sim.t.Helper()
	sim.t.Fatalf("seed %d at %d ms: %s", sim.seed, sim.nowMs, fmt.Sprintf(format, args...))
}

func (sim *simulation) one(in int) bool { return sim.rng.IntN(in) == 0 }

func (sim *simulation) tick(chaos bool) {
	for _, c := range slices.Clone(sim.clients) {
		sim.act(c, chaos)
	}
	sim.clients = slices.DeleteFunc(sim.clients, func(c *simClient) bool { return c.gone && c.request == nil })
	sim.pass(tickMs)
	sim.check()
}

// settle leaves the group alone until all is well: sessions, rebalance timeouts and
// assignment intervals may have to pass for that, and no more.
func (sim *simulation) settle() {
	why := ""
	for range 180_000 / tickMs {
		sim.tick(false)
		if why = sim.unsettled(); why == "" {
			return
		}
	}
	sim.failf("%s", why)
}

func (sim *simulation) disturb() {
	rng := sim.rng
	if len(sim.clients) < 2 || len(sim.clients) < 8 && sim.one(20) {
		sim.made++
		c := &simClient{id: fmt.Sprintf("m%d", sim.made), owned: map[topicPartition]bool{}}
		switch rng.IntN(4) {
		case 0:
			c.instance = fmt.Sprint("i", rng.IntN(4))
		case 1:
			c.id, c.classic, c.eager, c.next = "", true, sim.one(2), (*simulation).joinClassic
		}
		sim.subscribe(c)
		sim.clients = append(sim.clients, c)
	}
	c := sim.clients[rng.IntN(len(sim.clients))]
	switch {
	case sim.one(60) && !c.gone: // crashes
		c.gone, c.owned = true, nil
		if c.instance != "" && sim.one(2) { // and is started again under the same name
			sim.made++
			again := &simClient{id: fmt.Sprintf("m%d", sim.made), instance: c.instance, owned: map[topicPartition]bool{}}
			sim.subscribe(again)
			sim.clients = append(sim.clients, again)
		}
	case sim.one(60) && c.leaving == 0:
		c.leaving = left
		if c.instance != "" && sim.one(2) {
			c.leaving = leftForAWhile
		}
	case sim.one(60):
		sim.subscribe(c)
		c.changed = true
		if c.classic {
			c.next, c.beatMs = (*simulation).joinClassic, sim.nowMs
		}
	case sim.one(60):
		sim.log = compacted(sim.log)
		sim.reload()
	case sim.one(60):
		sim.reload()
	case sim.one(80):
		names := sim.img.TopicNames()
		switch name := fmt.Sprint("t", rng.IntN(5)); {
		case !slices.Contains(names, name):
			sim.topic(name, 1+rng.IntN(6))
		case sim.one(2):
			sim.grow(name, len(sim.img.Topic(name).Partitions)+1)
		default:
			sim.deleteTopic(name)
		}
	}
}

func (sim *simulation) subscribe(c *simClient) {
	c.topics = []string{}
	for i := range 5 {
		if sim.one(2) {
			c.topics = append(c.topics, fmt.Sprint("t", i))
		}
	}
	c.regex = new(string)
	if !c.classic && sim.one(3) {
		*c.regex = []string{"t.*", "t[0-2]", "t[^0]"}[sim.rng.IntN(3)]
	}
}

// act is what a client does in a moment, and what becomes of its messages.
func (sim *simulation) act(c *simClient, chaos bool) {
	for c.request != nil && len(c.arriveMs) > 0 && c.arriveMs[0] <= sim.nowMs {
		c.arriveMs = c.arriveMs[1:]
		sim.deliver(c, chaos)
	}
	if c.gone {
		if len(c.arriveMs) == 0 {
			c.request = nil
		}
		return
	}
	if c.classic {
		if c.leaving != 0 {
			sim.leaveClassic(c)
		} else if c.beatMs <= sim.nowMs {
			c.next(sim, c, chaos)
		}
		return
	}
	if c.answer != nil && c.answerMs <= sim.nowMs {
		answer := c.answer
		c.answer, c.request, c.arriveMs = nil, nil, nil
		sim.receive(c, answer)
	}
	if c.request != nil && c.giveUpMs <= sim.nowMs {
		c.request, c.arriveMs, c.answer = nil, nil, nil
		c.whole, c.beatMs = true, sim.nowMs
	}
	if c.revokeMs != 0 && c.revokeMs <= sim.nowMs {
		c.revokeMs = 0
		maps.DeleteFunc(c.owned, func(tp topicPartition, _ bool) bool { return !c.assigned[tp] })
		c.beatMs = sim.nowMs // confirms
	}
	if !c.gone && c.request == nil && (c.beatMs <= sim.nowMs || c.leaving != 0) {
		sim.send(c, chaos)
	}
}

func (sim *simulation) send(c *simClient, chaos bool) {
	req := kmsg.NewPtrConsumerGroupHeartbeatRequest()
	req.Version, req.Group, req.MemberID, req.MemberEpoch = 1, sim.group, c.id, c.epoch
	if c.instance != "" {
		req.InstanceID = &c.instance
	}
	if c.leaving != 0 {
		if c.epoch == 0 {
			c.gone = true
			return
		}
		req.MemberEpoch = c.leaving
		c.owned = map[topicPartition]bool{} // gives up everything before it says so
	}
	// Whoever sends a request again has given up the first one: it says all, and the
	// answer to the first is not looked at.
	twice := chaos && sim.one(8)
	c.whole = c.whole || twice
	if c.epoch == 0 || c.whole || c.changed {
		req.RebalanceTimeoutMillis = 30_000
		req.SubscribedTopicNames, req.SubscribedTopicRegex = c.topics, c.regex
		c.changed = false
	}
	if c.epoch == 0 || c.whole || sim.one(2) || !maps.Equal(c.owned, c.assigned) || c.revokeMs == 0 {
		req.Topics = []kmsg.ConsumerGroupHeartbeatRequestTopic{}
		for tp := range c.owned {
			req.Topics = append(req.Topics, kmsg.ConsumerGroupHeartbeatRequestTopic{TopicID: tp.topic, Partitions: []int32{tp.partition}})
		}
	}
	c.whole = false
	c.request = req
	c.arriveMs = []int64{sim.nowMs}
	c.giveUpMs = sim.nowMs + 5000
	if chaos && sim.one(6) {
		c.arriveMs[0] += sim.rng.Int64N(4000)
	}
	if chaos && sim.one(8) {
		c.arriveMs = nil // lost
	} else if twice {
		c.arriveMs = append(c.arriveMs, c.arriveMs[0]+sim.rng.Int64N(500))
	}
}

// die is a step in which the broker is killed while it writes: nobody is answered, and
// what it wrote is in the log or is not.
func (sim *simulation) die(do func(s *coordinator.Step)) {
	before := len(sim.log)
	sim.hold = true
	sim.step(do)
	sim.hold, sim.held = false, nil
	if sim.one(2) {
		sim.log = sim.log[:before]
	}
	sim.load()
	sim.epoch, sim.assignmentEpoch = 0, 0 // nobody was told of the newest
	sim.check()
}

func (sim *simulation) deliver(c *simClient, chaos bool) {
	if chaos && sim.one(40) {
		sim.die(func(s *coordinator.Step) {
			sim.m.ConsumerGroupHeartbeat(s, c.request, testClient, func(*kmsg.ConsumerGroupHeartbeatResponse, error) {})
		})
		return
	}
	var answer *kmsg.ConsumerGroupHeartbeatResponse
	sim.step(func(s *coordinator.Step) {
		sim.m.ConsumerGroupHeartbeat(s, c.request, testClient, func(r *kmsg.ConsumerGroupHeartbeatResponse, err error) {
			if err != nil {
				sim.failf("%v", err)
			}
			answer = r
		})
	})
	sim.check()
	c.answer, c.answerMs = answer, sim.nowMs
	if chaos && sim.one(6) {
		c.answerMs += sim.rng.Int64N(3000)
	}
	if chaos && sim.one(8) {
		c.answer = nil // lost
	}
}

func (sim *simulation) receive(c *simClient, r *kmsg.ConsumerGroupHeartbeatResponse) {
	switch r.ErrorCode {
	case 0:
	case kerr.UnknownMemberID.Code, kerr.FencedMemberEpoch.Code, kerr.GroupIDNotFound.Code:
		c.epoch, c.revokeMs = 0, 0
		c.owned, c.assigned = map[topicPartition]bool{}, nil
		c.beatMs = sim.nowMs
		if c.leaving != 0 {
			c.gone = true
		}
		return
	case kerr.UnreleasedInstanceID.Code, kerr.GroupMaxSizeReached.Code:
		c.beatMs = sim.nowMs + 1000
		return
	case kerr.FencedInstanceID.Code:
		c.gone, c.owned = true, nil
		return
	default:
		sim.failf("%s got %d %v", c.id, r.ErrorCode, *r.ErrorMessage)
	}
	if c.leaving != 0 {
		c.gone = true
		return
	}
	if r.MemberEpoch < c.epoch {
		sim.failf("the epoch of %s fell from %d to %d", c.id, c.epoch, r.MemberEpoch)
	}
	c.epoch = r.MemberEpoch
	c.beatMs = sim.nowMs + int64(r.HeartbeatIntervalMillis)
	if r.Assignment == nil {
		return
	}
	c.assigned = map[topicPartition]bool{}
	for _, topic := range r.Assignment.Topics {
		for _, p := range topic.Partitions {
			tp := topicPartition{topic.TopicID, p}
			c.assigned[tp] = true
			c.owned[tp] = true
		}
	}
	c.revokeMs = 0
	if !maps.Equal(c.owned, c.assigned) {
		c.revokeMs = sim.nowMs + 1 + sim.rng.Int64N(6000)
	}
	if c.revokeMs == 0 {
		c.beatMs = sim.nowMs // confirms
	}
}

// joinClassic is a JoinGroup of a classic client. Its messages are not late, but may
// be lost.
func (sim *simulation) joinClassic(c *simClient, chaos bool) {
	if c.eager {
		c.owned = map[topicPartition]bool{}
	}
	v := kmsg.NewConsumerMemberMetadata()
	v.Topics = c.topics
	if !c.eager {
		v.Version = 3
		for tp := range c.owned {
			if topic := sim.img.TopicByID(tp.topic); topic == nil {
				delete(c.owned, tp) // has no name any more
			} else {
				v.OwnedPartitions = append(v.OwnedPartitions, kmsg.ConsumerMemberMetadataOwnedPartition{Topic: topic.Name, Partitions: []int32{tp.partition}})
			}
		}
	}
	req := kmsg.NewPtrJoinGroupRequest()
	req.Version, req.Group, req.MemberID, req.ProtocolType = 9, sim.group, c.id, consumerProtocolType
	req.SessionTimeoutMillis, req.RebalanceTimeoutMillis = 20_000, 30_000
	req.Protocols = []kmsg.JoinGroupRequestProtocol{{Name: "cooperative-sticky", Metadata: v.AppendTo(nil)}}
	if sim.members() == nil || len(sim.members().members) == 0 {
		c.beatMs = sim.nowMs + 1000 // it would be a classic group
		return
	}
	r, lost := classicExchange(sim, chaos, func(s *coordinator.Step, reply func(*kmsg.JoinGroupResponse, error)) {
		sim.m.JoinGroup(s, req, testClient, reply)
	})
	switch {
	case lost:
		c.beatMs = sim.nowMs + 1000
	case r.ErrorCode == kerr.MemberIDRequired.Code:
		c.id, c.beatMs = r.MemberID, sim.nowMs
	case r.ErrorCode == kerr.GroupMaxSizeReached.Code:
		c.beatMs = sim.nowMs + 1000
	case sim.refusedClassic(c, r.ErrorCode):
	default:
		c.epoch, c.next, c.beatMs = r.Generation, (*simulation).syncClassic, sim.nowMs+sim.rng.Int64N(2000)
	}
}

func (sim *simulation) syncClassic(c *simClient, chaos bool) {
	req := kmsg.NewPtrSyncGroupRequest()
	req.Version, req.Group, req.MemberID, req.Generation = 3, sim.group, c.id, c.epoch
	r, lost := classicExchange(sim, chaos, func(s *coordinator.Step, reply func(*kmsg.SyncGroupResponse, error)) {
		sim.m.SyncGroup(s, req, reply)
	})
	if lost || sim.refusedClassic(c, r.ErrorCode) {
		return
	}
	v := kmsg.NewConsumerMemberAssignment()
	if err := v.ReadFrom(r.MemberAssignment); err != nil {
		sim.failf("%v", err)
	}
	c.assigned = map[topicPartition]bool{}
	for _, topic := range v.Topics {
		for _, p := range topic.Partitions {
			c.assigned[topicPartition{sim.img.Topic(topic.Topic).ID, p}] = true
		}
	}
	c.next, c.beatMs = (*simulation).beatClassic, sim.nowMs+3000
	for tp := range c.owned {
		if !c.assigned[tp] { // says that it gave it up
			c.next, c.beatMs = (*simulation).joinClassic, sim.nowMs
		}
	}
	c.owned = maps.Clone(c.assigned)
}

func (sim *simulation) beatClassic(c *simClient, chaos bool) {
	req := kmsg.NewPtrHeartbeatRequest()
	req.Version, req.Group, req.MemberID, req.Generation = 4, sim.group, c.id, c.epoch
	r, lost := classicExchange(sim, chaos, func(s *coordinator.Step, reply func(*kmsg.HeartbeatResponse, error)) {
		sim.m.Heartbeat(s, req, reply)
	})
	c.beatMs = sim.nowMs + 3000
	if !lost {
		sim.refusedClassic(c, r.ErrorCode)
	}
}

func (sim *simulation) leaveClassic(c *simClient) {
	c.gone, c.owned = true, nil
	req := kmsg.NewPtrLeaveGroupRequest()
	req.Version, req.Group, req.Members = 5, sim.group, []kmsg.LeaveGroupRequestMember{{MemberID: c.id}}
	classicExchange(sim, false, func(s *coordinator.Step, reply func(*kmsg.LeaveGroupResponse, error)) {
		sim.m.LeaveGroup(s, req, reply)
	})
}

// refusedClassic lets a client that is told to do so join again.
func (sim *simulation) refusedClassic(c *simClient, code int16) bool {
	switch code {
	case 0:
		return false
	case kerr.RebalanceInProgress.Code:
	case kerr.IllegalGeneration.Code:
		c.owned = map[topicPartition]bool{}
	case kerr.UnknownMemberID.Code:
		c.id, c.epoch, c.owned = "", 0, map[topicPartition]bool{}
	default:
		sim.failf("a classic member got %d", code)
	}
	c.next, c.beatMs = (*simulation).joinClassic, sim.nowMs
	return true
}

// classicExchange asks and gives the answer at once, unless one of the two is lost.
func classicExchange[R any](sim *simulation, chaos bool, to func(s *coordinator.Step, reply func(R, error))) (r R, lost bool) {
	if chaos && sim.one(8) {
		return r, true
	}
	r = ask(sim.harness, to).got()
	sim.check()
	return r, chaos && sim.one(8)
}

// members is the group's membership; nil when there is none.
func (sim *simulation) members() *consumer { return sim.m.knownConsumerGroup(sim.group) }

// check asserts what holds at every moment.
func (sim *simulation) check() {
	sim.t.Helper()
	c := sim.members()
	if c == nil {
		sim.epoch, sim.assignmentEpoch = 0, 0
		return
	}
	if c.epoch < sim.epoch || c.assignmentEpoch < sim.assignmentEpoch || c.assignmentEpoch > c.epoch {
		sim.failf("the epochs went from %d, %d to %d, %d", sim.epoch, sim.assignmentEpoch, c.epoch, c.assignmentEpoch)
	}
	sim.epoch, sim.assignmentEpoch = c.epoch, c.assignmentEpoch
	has := map[topicPartition]string{}
	for id, m := range c.members {
		for _, some := range []partitions{m.assigned, m.revoking} {
			for tp := range some {
				if other := has[tp]; other != "" {
					sim.failf("%v is with %s and with %s", tp, other, id)
				}
				has[tp] = id
			}
		}
	}
	for _, client := range sim.clients {
		if client.gone || c.members[client.id] == nil {
			continue // fenced, whether it knows or not
		}
		for tp := range client.owned {
			if has[tp] != client.id {
				sim.failf("%s owns %v, which is with %q", client.id, tp, has[tp])
			}
		}
	}
}

// unsettled is what is not well yet.
func (sim *simulation) unsettled() string {
	c := sim.members()
	if c == nil || len(c.members) == 0 {
		if slices.ContainsFunc(sim.clients, func(c *simClient) bool { return !c.classic }) {
			return "nobody is there"
		}
		return "" // where classic clients alone would make a classic group
	}
	owners := map[topicPartition]bool{}
	registered := 0
	for _, client := range sim.clients {
		m := c.members[client.id]
		switch {
		case client.gone || client.request != nil:
			return client.id + " is on its way"
		case m == nil && client.instance == "":
			return client.id + " is not a member"
		case m == nil:
			continue // its instance id belongs to another one
		case client.epoch != m.epoch || !m.reached(c.assignmentEpoch):
			return fmt.Sprintf("%s is in epoch %d, and at the group in %d of %d, in state %d", client.id, client.epoch, m.epoch, c.assignmentEpoch, m.state)
		case len(client.owned) != len(m.assigned) || len(client.owned) != c.target[client.id].Size():
			return fmt.Sprintf("%s owns %d, has %d and is to have %d", client.id, len(client.owned), len(m.assigned), c.target[client.id].Size())
		}
		registered++
		for tp := range client.owned {
			topic := sim.img.TopicByID(tp.topic)
			if topic == nil || !client.reads(topic.Name) {
				return fmt.Sprintf("%s owns %v, which it does not read", client.id, tp)
			}
			owners[tp] = true
		}
	}
	if registered != len(c.members) {
		return fmt.Sprintf("%d of %d members are there", registered, len(c.members))
	}
	for _, name := range sim.img.TopicNames() {
		for p := range sim.img.Topic(name).Partitions {
			if tp := (topicPartition{sim.img.Topic(name).ID, int32(p)}); !owners[tp] && sim.readByMember(name) {
				return fmt.Sprintf("nobody owns %v", tp)
			}
		}
	}
	if got := c.state(nil); got != "Stable" && got != "Empty" {
		return "it is " + got
	}
	return ""
}

func (c *simClient) reads(topic string) bool {
	if slices.Contains(c.topics, topic) {
		return true
	}
	if *c.regex == "" {
		return false
	}
	return regexp.MustCompile("^(?:" + *c.regex + ")$").MatchString(topic)
}

func (sim *simulation) readByMember(topic string) bool {
	return slices.ContainsFunc(sim.clients, func(c *simClient) bool {
		return sim.members().members[c.id] != nil && c.reads(topic)
	})
}

// reload loads the log, and asserts that what is lasting is what it was.
func (sim *simulation) reload() {
	sim.t.Helper()
	before := lasting(sim.m)
	sim.load()
	if after := lasting(sim.m); !reflect.DeepEqual(before, after) {
		sim.failf("%+v was loaded as %+v", before, after)
	}
}

// compacted is a log of which only the last record of each key is left.
func compacted(log []logged) []logged {
	last := map[string]int{}
	for i, r := range log {
		last[string(r.Key)] = i
	}
	var kept []logged
	for i, r := range log {
		if last[string(r.Key)] == i && r.Value != nil {
			kept = append(kept, r)
		}
	}
	return kept
}
