package group

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
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
// doubled, and the coordinator is loaded anew. Some speak the classic protocol, and
// static ones come back with the other one. At every moment a member owns nothing
// that the group does not know it to have, and no two members have the same;
// epochs never fall; what is loaded is what was there. Left alone, every member gets
// to have its share, and every partition has an owner. A group that becomes a classic
// one is left by its members: the leader's part would be the test's.
func TestSimulatedConsumers(t *testing.T) {
	downgrades := 0
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
		downgrades += sim.downgrades
	}
	if downgrades == 0 {
		t.Error("no group became a classic one")
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
	// classicMembers are those of the last moment that speak the classic protocol.
	classicMembers map[string]bool
	downgrades     int
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
		instance := ""
		if sim.one(3) {
			instance = fmt.Sprint("i", rng.IntN(4))
		}
		sim.start(instance)
	}
	c := sim.clients[rng.IntN(len(sim.clients))]
	switch {
	case sim.one(60) && !c.gone: // crashes
		c.gone, c.owned = true, nil
		if c.instance != "" && sim.one(2) { // and is started again under the same name
			sim.made++
			sim.start(c.instance)
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

// start begins a client, with an instance id if it is static, in one of the protocols.
func (sim *simulation) start(instance string) {
	c := &simClient{id: fmt.Sprintf("m%d", sim.made), instance: instance, owned: map[topicPartition]bool{}}
	if sim.one(3) {
		c.id, c.classic, c.eager, c.next = "", true, sim.one(2), (*simulation).joinClassic
	}
	sim.subscribe(c)
	sim.clients = append(sim.clients, c)
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
	req.InstanceID = c.instanceID()
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

func (c *simClient) instanceID() *string {
	if c.instance == "" {
		return nil
	}
	return &c.instance
}
