package group

import (
	"container/heap"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"ringmain/coordinator"
	"ringmain/coordinator/group/records"
	"ringmain/metadata"
	"ringmain/model"
)

// TestClassicSimulation lets consumers that join, assign, commit, leave, crash and
// come back meet a coordinator that is slow, loses what was not durable and is loaded
// anew, over a network that loses, delays, repeats and reorders, in virtual time. What
// must hold is in classicSimulation.check and in the consumers' methods. A seed repeats a
// run: -run 'ClassicSimulation/17$'. RINGMAIN_GROUP_SEEDS says how many there are.
func TestClassicSimulation(t *testing.T) {
	seeds := 300
	if s := os.Getenv("RINGMAIN_GROUP_SEEDS"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil {
			t.Fatalf("RINGMAIN_GROUP_SEEDS: %v", err)
		}
		seeds = n
	}
	for seed := range seeds {
		t.Run(strconv.Itoa(seed), func(t *testing.T) { newClassicSimulation(t, uint64(seed)).run() })
	}
}

const (
	simulatedGroup = "g"
	simulatedTopic = "t"
	// stormMs is how long things go wrong; calmMs how long all consumers may then take
	// to be in one generation.
	stormMs = 120_000
	calmMs  = 90_000
)

// classicSimulation is one run.
type classicSimulation struct {
	t     *testing.T
	rng   *rand.Rand
	cfg   *Config
	image *metadata.Image
	calm  bool // nothing goes wrong any more

	nowMs  int64
	events eventHeap
	serial int64

	machine    *Machine
	life       int // of the machine: it is loaded again and again
	log        []coordinator.Record
	durable    int // records of the log that a crash does not take
	unanswered []durableAnswer

	consumers  []*simulatedConsumer
	partitions int
	delivered  int // requests that a machine has got
	answered   int // those that it has answered

	generation int32            // the newest of which a share was given
	owners     map[int32]string // of its partitions
	committed  map[int32]int64  // the highest acknowledged offset of each partition
	shares     int              // how often a share was given
}

// durableAnswer is an answer that waits for the first size records of the log.
type durableAnswer struct {
	size   int
	answer func(error)
}

type event struct {
	at, serial int64
	do         func()
}

type eventHeap []event

func (h eventHeap) Len() int { return len(h) }
func (h eventHeap) Less(i, j int) bool {
	return h[i].at < h[j].at || h[i].at == h[j].at && h[i].serial < h[j].serial
}
func (h eventHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *eventHeap) Push(x any)   { *h = append(*h, x.(event)) }
func (h *eventHeap) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}

func newClassicSimulation(t *testing.T, seed uint64) *classicSimulation {
	sim := &classicSimulation{t: t, rng: rand.New(rand.NewPCG(seed, 17)), committed: map[int32]int64{}, owners: map[int32]string{}}
	ids := 0
	sim.cfg = &Config{
		MaxMetadataBytes: 4096, RetentionMs: 7 * 24 * 3600_000, RetentionCheckMs: 600_000,
		MinSessionTimeoutMs: 6000, MaxSessionTimeoutMs: 1_800_000, MaxSize: 1000,
		InitialRebalanceDelayMs: int32(sim.rng.IntN(2) * 3000),
		NewID:                   func() string { ids++; return strconv.Itoa(ids) },
	}
	sim.partitions = 1 + sim.rng.IntN(12)
	topic := model.TopicID{1}
	changes := []metadata.Record{metadata.TopicRecord{Name: simulatedTopic, ID: topic}}
	for i := range sim.partitions {
		changes = append(changes, metadata.PartitionRecord{TopicID: topic, Index: int32(i),
			Partition: metadata.Partition{Replicas: []int32{1}, ISR: []int32{1}, Leader: 1}})
	}
	image, _, err := metadata.Empty().Apply(changes, 1)
	if err != nil {
		t.Fatal(err)
	}
	sim.image = image
	sim.load()
	for i := range 1 + sim.rng.IntN(8) {
		c := &simulatedConsumer{sim: sim, name: fmt.Sprintf("c%d", i)}
		if sim.rng.IntN(3) == 0 {
			c.instance = kmsg.StringPtr(fmt.Sprintf("i%d", i))
		}
		sim.consumers = append(sim.consumers, c)
		sim.after(sim.rng.Int64N(stormMs/2), c.start)
	}
	return sim
}

func (sim *classicSimulation) fail(format string, args ...any) {
	sim.t.Helper()
	sim.t.Fatalf("at %d ms: %s", sim.nowMs, fmt.Sprintf(format, args...))
}

// chance is true once in n times, while things go wrong.
func (sim *classicSimulation) chance(n int) bool { return !sim.calm && sim.rng.IntN(n) == 0 }

func (sim *classicSimulation) after(ms int64, do func()) {
	sim.serial++
	heap.Push(&sim.events, event{sim.nowMs + ms, sim.serial, do})
}

func (sim *classicSimulation) run() {
	sim.after(sim.rng.Int64N(20_000), sim.disturb)
	sim.until(stormMs)
	sim.calm = true
	for _, c := range sim.consumers {
		if !c.alive && c.wanted() {
			c.start()
		}
	}
	sim.until(stormMs + calmMs)
	sim.check()
}

// until runs all that happens up to then.
func (sim *classicSimulation) until(ms int64) {
	for {
		next := ms + 1
		if len(sim.events) > 0 {
			next = sim.events[0].at
		}
		if at, ok := sim.machine.NextDeadline(); ok && at < next {
			sim.nowMs = max(sim.nowMs, at)
			if sim.nowMs > ms {
				break
			}
			sim.step(sim.machine.Advance)
			continue
		}
		if next > ms {
			break
		}
		e := heap.Pop(&sim.events).(event)
		sim.nowMs = e.at
		e.do()
	}
	sim.nowMs = ms
}

func (sim *classicSimulation) step(do func(*coordinator.Step)) {
	s := &coordinator.Step{NowMs: sim.nowMs, WallMs: harnessWallMs + sim.nowMs, RetentionWallMs: harnessWallMs + sim.nowMs, Image: sim.image, MaxRecordBytes: 1 << 20}
	do(s)
	for _, r := range s.Records {
		sim.checkRecord(r)
	}
	sim.log = append(sim.log, s.Records...)
	for _, a := range s.Answers {
		sim.unanswered = append(sim.unanswered, durableAnswer{len(sim.log), a})
	}
	size, life := len(sim.log), sim.life
	sim.after(sim.rng.Int64N(20), func() {
		if life == sim.life {
			sim.sync(size)
		}
	})
}

// sync makes the first size records durable.
func (sim *classicSimulation) sync(size int) {
	sim.durable = max(sim.durable, size)
	for len(sim.unanswered) > 0 && sim.unanswered[0].size <= sim.durable {
		a := sim.unanswered[0]
		sim.unanswered = sim.unanswered[1:]
		a.answer(nil)
	}
}

// checkRecord asserts that the generation never goes back.
func (sim *classicSimulation) checkRecord(r coordinator.Record) {
	d, err := records.Decode(r.Key, r.Value)
	if err != nil {
		sim.fail("a record: %v", err)
	}
	if v := d.GroupMetadata; v != nil && v.Generation < sim.generation {
		sim.fail("generation %d is recorded after a share of %d", v.Generation, sim.generation)
	}
}

// disturb loads the machine anew, now and then with a part of what was not durable.
func (sim *classicSimulation) disturb() {
	if sim.calm {
		return
	}
	sim.reload(sim.durable + sim.rng.IntN(len(sim.log)-sim.durable+1))
	sim.after(1000+sim.rng.Int64N(40_000), sim.disturb)
}

func (sim *classicSimulation) reload(kept int) {
	whole, old := kept == len(sim.log), sim.machine
	sim.log = sim.log[:kept]
	old.Unload(coordinator.ErrUnavailable)
	unanswered := sim.unanswered
	sim.unanswered = nil
	for _, a := range unanswered {
		a.answer(coordinator.ErrUnavailable)
	}
	sim.load()
	sim.durable = kept
	if whole {
		sim.checkLoaded(old)
	}
}

func (sim *classicSimulation) load() {
	sim.life++
	sim.machine = sim.replay(sim.log)
	sim.step(sim.machine.Loaded)
}

func (sim *classicSimulation) replay(log []coordinator.Record) *Machine {
	m := New(sim.cfg)
	for i, r := range log {
		if err := m.Replay(int64(i), harnessWallMs, r.Key, r.Value); err != nil {
			sim.fail("%v", err)
		}
	}
	return m
}

// checkLoaded compares the loaded machine with the one that wrote the whole log, and
// with one that has read a compacted log.
func (sim *classicSimulation) checkLoaded(old *Machine) {
	loaded := lastingClassic(sim.machine, simulatedGroup)
	newest := map[string]int{}
	for i, r := range sim.log {
		newest[string(r.Key)] = i
	}
	var compacted []coordinator.Record
	for i, r := range sim.log {
		if newest[string(r.Key)] == i {
			compacted = append(compacted, r)
		}
	}
	if c := lastingClassic(sim.replay(compacted), simulatedGroup); c != loaded {
		sim.fail("loaded from a compacted log:\n%s\nfrom the whole log:\n%s", c, loaded)
	}
	g := old.groups[simulatedGroup]
	if g == nil || sim.machine.groups[simulatedGroup] == nil {
		return // no record tells of it
	}
	c := g.members.(*classic)
	recorded := c.current == classicStable || c.current == classicEmpty && c.sinceMs >= 0
	if recorded {
		if before := lastingClassic(old, simulatedGroup); before != loaded {
			sim.fail("before:\n%s\nloaded:\n%s", before, loaded)
		}
	}
	if now := sim.machine.groups[simulatedGroup].members.(*classic); now.generation > c.generation {
		sim.fail("generation %d is loaded after %d", now.generation, c.generation)
	}
}

// check asserts, after the calm, that all who live are in one generation and share
// all partitions, and that every request was answered once.
func (sim *classicSimulation) check() {
	var lives []string
	var parts []int32
	generation := int32(-1)
	for _, c := range sim.consumers {
		if !c.alive {
			continue
		}
		lives = append(lives, c.memberID)
		if !c.settled {
			sim.fail("%s is not settled", c.name)
		}
		if generation >= 0 && c.generation != generation {
			sim.fail("%s is in generation %d, others in %d", c.name, c.generation, generation)
		}
		generation = c.generation
		parts = append(parts, c.partitions...)
	}
	g := sim.machine.groups[simulatedGroup]
	if g == nil {
		if len(lives) > 0 {
			sim.fail("there is no group")
		}
		return
	}
	c := g.members.(*classic)
	var members []string
	for _, m := range c.members {
		members = append(members, m.id)
	}
	slices.Sort(lives)
	slices.Sort(members)
	if !slices.Equal(lives, members) {
		sim.fail("members are %v, alive are %v", members, lives)
	}
	want := classicEmpty
	if len(lives) > 0 {
		want = classicStable
		slices.Sort(parts)
		all := make([]int32, sim.partitions)
		for i := range all {
			all[i] = int32(i)
		}
		if !slices.Equal(parts, all) {
			sim.fail("partitions %v are owned, of %d", parts, sim.partitions)
		}
	}
	if c.current != want || len(lives) > 0 && c.generation != generation {
		sim.fail("the group is %s in generation %d, its members in %d", c.current, c.generation, generation)
	}
	if sim.shares == 0 && len(lives) > 0 {
		sim.fail("nobody ever got a share")
	}
	sim.reload(len(sim.log))
	if sim.delivered != sim.answered {
		sim.fail("%d requests, %d answers", sim.delivered, sim.answered)
	}
}

// simulatedConsumer is a consumer as clients are: it joins, assigns if it leads, and commits
// what it owns while it heartbeats.
type simulatedConsumer struct {
	sim      *classicSimulation
	name     string
	instance *string

	alive       bool
	incarnation int
	version     int16 // of JoinGroup
	turn        int   // answers to requests of earlier turns come too late
	lastArrival int64 // of commits, which do not overtake each other

	memberID   string
	generation int32
	metadata   string
	settled    bool
	partitions []int32
	positions  map[int32]int64
}

// wanted says whether the consumer is to be there in the end.
func (c *simulatedConsumer) wanted() bool { return c.sim.rng.IntN(5) > 0 }

var errTimeout = errors.New("the request timed out")

// call sends a request. then gets the answer, or an error, unless the consumer has
// gone on to another turn.
func call[R any](c *simulatedConsumer, turn int, timeoutMs int64, ordered bool, do func(m *Machine, s *coordinator.Step, reply func(R, error)), then func(R, error)) {
	sim := c.sim
	incarnation, done := c.incarnation, false
	arrive := func(r R, err error) {
		if !done && c.alive && c.incarnation == incarnation && c.turn == turn {
			done = true
			then(r, err)
		}
	}
	deliver := func() {
		sim.delivered++
		once := false
		sim.step(func(s *coordinator.Step) {
			do(sim.machine, s, func(r R, err error) {
				if once {
					sim.fail("%s is answered twice", c.name)
				}
				once = true
				sim.answered++
				if !sim.chance(40) {
					sim.after(sim.latency(), func() { arrive(r, err) })
				}
			})
		})
	}
	if !sim.chance(40) {
		delay := sim.latency()
		if ordered {
			delay = max(delay, c.lastArrival-sim.nowMs)
			c.lastArrival = sim.nowMs + delay
		}
		sim.after(delay, deliver)
		if !ordered && sim.chance(20) {
			sim.after(sim.latency(), deliver)
		}
	}
	sim.after(timeoutMs, func() {
		var none R
		arrive(none, errTimeout)
	})
}

func (sim *classicSimulation) latency() int64 {
	if sim.chance(30) {
		return sim.rng.Int64N(8000)
	}
	return 1 + sim.rng.Int64N(30)
}

// later does something in a while, unless the consumer is in another turn then.
func (c *simulatedConsumer) later(ms int64, do func()) {
	turn, incarnation := c.turn, c.incarnation
	c.sim.after(ms, func() {
		if c.alive && c.turn == turn && c.incarnation == incarnation {
			do()
		}
	})
}

func (c *simulatedConsumer) start() {
	if c.alive {
		return
	}
	c.alive = true
	c.incarnation++
	c.memberID, c.metadata = "", c.name
	c.version = []int16{3, 4, 5, 8, 9}[c.sim.rng.IntN(5)]
	if c.instance != nil {
		c.version = max(c.version, 5)
	}
	if !c.sim.calm && c.sim.rng.IntN(2) == 0 {
		c.crashLater()
	}
	c.join()
}

// crashLater ends the consumer some time; mostly it comes back.
func (c *simulatedConsumer) crashLater() {
	incarnation := c.incarnation
	c.sim.after(c.sim.rng.Int64N(60_000), func() {
		if !c.sim.calm && c.alive && c.incarnation == incarnation {
			c.stop()
			c.sim.after(c.sim.rng.Int64N(20_000), func() {
				if c.sim.rng.IntN(4) > 0 && !c.sim.calm {
					c.start()
				}
			})
		}
	})
}

func (c *simulatedConsumer) stop() {
	c.alive, c.settled, c.partitions = false, false, nil
	c.turn++
}

func (c *simulatedConsumer) join() {
	c.turn++
	c.settled, c.partitions = false, nil
	rebalanceTimeoutMs := int32(10_000)
	req := kmsg.NewPtrJoinGroupRequest()
	req.Version, req.Group, req.MemberID, req.InstanceID = c.version, simulatedGroup, c.memberID, c.instance
	req.SessionTimeoutMillis, req.RebalanceTimeoutMillis = 6000, rebalanceTimeoutMs
	req.ProtocolType = consumerProtocolType
	protocols := []kmsg.JoinGroupRequestProtocol{
		{Name: "range", Metadata: []byte(c.metadata)}, {Name: "sticky", Metadata: []byte(c.metadata)}}
	call(c, c.turn, int64(rebalanceTimeoutMs)+5000, false, func(m *Machine, s *coordinator.Step, reply func(*kmsg.JoinGroupResponse, error)) {
		again := *req
		again.Protocols = slices.Clone(protocols)
		m.JoinGroup(s, &again, Client{ID: c.name, Host: "/127.0.0.1"}, reply)
	}, c.joined)
}

// rejoin joins again, as nobody in particular if the member id is not good any more.
func (c *simulatedConsumer) rejoin(code int16) {
	switch code {
	case kerr.UnknownMemberID.Code:
		c.memberID = ""
	case kerr.IllegalGeneration.Code:
		if c.sim.rng.IntN(2) == 0 {
			c.memberID = ""
		}
	case kerr.FencedInstanceID.Code:
		c.stop() // by a JoinGroup of its own that came twice, most likely
		c.sim.after(1000+c.sim.rng.Int64N(5000), c.start)
		return
	case kerr.RebalanceInProgress.Code, 0:
	default:
		c.sim.fail("%s: error %d", c.name, code)
	}
	c.turn++
	c.settled, c.partitions = false, nil
	c.later(1+c.sim.rng.Int64N(100), c.join)
}

func (c *simulatedConsumer) joined(r *kmsg.JoinGroupResponse, err error) {
	switch {
	case err != nil:
		c.rejoin(0)
		return
	case r.ErrorCode == kerr.MemberIDRequired.Code:
		c.memberID = r.MemberID
		c.join()
		return
	case r.ErrorCode != 0:
		c.rejoin(r.ErrorCode)
		return
	}
	c.memberID, c.generation = r.MemberID, r.Generation
	c.turn++
	var shares []kmsg.SyncGroupRequestGroupAssignment
	if r.LeaderID == r.MemberID && !r.SkipAssignment {
		shares = c.assign(r)
	}
	protocol := *r.Protocol
	call(c, c.turn, 15_000, false, func(m *Machine, s *coordinator.Step, reply func(*kmsg.SyncGroupResponse, error)) {
		req := kmsg.NewPtrSyncGroupRequest()
		req.Version, req.Group, req.MemberID, req.InstanceID, req.Generation = 5, simulatedGroup, r.MemberID, c.instance, r.Generation
		req.ProtocolType, req.Protocol = kmsg.StringPtr(consumerProtocolType), &protocol
		req.GroupAssignment = shares
		m.SyncGroup(s, req, func(a *kmsg.SyncGroupResponse, err error) {
			if err == nil && a.ErrorCode == 0 {
				c.sim.shared(c, r.MemberID, r.Generation, a.MemberAssignment)
			}
			reply(a, err)
		})
	}, c.synced)
}

// assign shares all partitions out, in an order of its own.
func (c *simulatedConsumer) assign(r *kmsg.JoinGroupResponse) []kmsg.SyncGroupRequestGroupAssignment {
	if len(r.Members) == 0 {
		c.sim.fail("the leader %s is told of nobody", c.name)
	}
	shares := make([]kmsg.SyncGroupRequestGroupAssignment, len(r.Members))
	for i, m := range r.Members {
		shares[i].MemberID = m.MemberID
		if len(m.ProtocolMetadata) == 0 {
			c.sim.fail("%s has no metadata", m.MemberID)
		}
	}
	c.sim.rng.Shuffle(len(shares), func(i, j int) { shares[i], shares[j] = shares[j], shares[i] })
	for p := range c.sim.partitions {
		s := &shares[p%len(shares)]
		s.MemberAssignment = append(s.MemberAssignment, byte(p))
	}
	return shares
}

// shared asserts of each share that is given out that nobody else has a part of it in
// this generation, and that no older generation gives any.
func (sim *classicSimulation) shared(c *simulatedConsumer, member string, generation int32, share []byte) {
	sim.shares++
	if generation < sim.generation {
		sim.fail("%s gets a share of generation %d after %d", member, generation, sim.generation)
	}
	if generation > sim.generation {
		sim.generation = generation
		clear(sim.owners)
	}
	who := member
	if c.instance != nil { // it keeps its share from one member id to the next
		who = *c.instance
	}
	for _, p := range share {
		if owner := sim.owners[int32(p)]; owner != "" && owner != who {
			sim.fail("partition %d is given to %s and to %s in generation %d", p, owner, who, generation)
		}
		sim.owners[int32(p)] = who
	}
}

func (c *simulatedConsumer) synced(r *kmsg.SyncGroupResponse, err error) {
	if err != nil || r.ErrorCode != 0 {
		code := int16(0)
		if err == nil {
			code = r.ErrorCode
		}
		c.rejoin(code)
		return
	}
	c.partitions = nil
	for _, p := range r.MemberAssignment {
		c.partitions = append(c.partitions, int32(p))
	}
	c.turn++
	c.fetch()
}

// fetch begins where the group has got to.
func (c *simulatedConsumer) fetch() {
	topic := kmsg.NewOffsetFetchRequestGroupTopic()
	topic.Topic, topic.Partitions = simulatedTopic, c.partitions
	call(c, c.turn, 5000, true, func(m *Machine, s *coordinator.Step, reply func(kmsg.OffsetFetchResponseGroup, error)) {
		req := kmsg.NewOffsetFetchRequestGroup()
		req.Group, req.Topics = simulatedGroup, []kmsg.OffsetFetchRequestGroupTopic{topic}
		m.OffsetFetch(s, 8, true, &req, reply)
	}, func(r kmsg.OffsetFetchResponseGroup, err error) {
		if err != nil || r.ErrorCode != 0 {
			c.rejoin(r.ErrorCode)
			return
		}
		c.positions = map[int32]int64{}
		for _, p := range r.Topics[0].Partitions {
			c.positions[p.Partition] = max(p.Offset, 0)
		}
		c.settled = true
		c.poll()
	})
}

// poll goes on in a while: with a heartbeat, a commit, or something rarer.
func (c *simulatedConsumer) poll() {
	c.later(500+c.sim.rng.Int64N(1500), func() {
		switch {
		case c.sim.chance(60):
			c.leave()
		case c.sim.chance(40):
			c.metadata = fmt.Sprint(c.name, c.turn)
			c.join()
		case c.sim.chance(80):
			c.join()
		case c.sim.rng.IntN(3) == 0 && len(c.partitions) > 0:
			c.commit()
		default:
			c.heartbeat()
		}
	})
}

func (c *simulatedConsumer) heartbeat() {
	member, generation := c.memberID, c.generation
	call(c, c.turn, 3000, false, func(m *Machine, s *coordinator.Step, reply func(*kmsg.HeartbeatResponse, error)) {
		req := kmsg.NewPtrHeartbeatRequest()
		req.Version, req.Group, req.MemberID, req.InstanceID, req.Generation = 4, simulatedGroup, member, c.instance, generation
		m.Heartbeat(s, req, reply)
	}, func(r *kmsg.HeartbeatResponse, err error) {
		switch {
		case err != nil || r.ErrorCode == 0:
			c.poll()
		case r.ErrorCode == kerr.RebalanceInProgress.Code && len(c.partitions) > 0:
			c.commit() // what it has read, before it gives it up
		default:
			c.rejoin(r.ErrorCode)
		}
	})
}

// commit asserts that what is stored never goes back. A consumer whose commit gets no
// answer stops owning: the commit may still be under way.
func (c *simulatedConsumer) commit() {
	topic := kmsg.NewOffsetCommitRequestTopic()
	topic.Topic = simulatedTopic
	for _, p := range c.partitions {
		c.positions[p] += c.sim.rng.Int64N(5)
		commit := kmsg.NewOffsetCommitRequestTopicPartition()
		commit.Partition, commit.Offset = p, c.positions[p]
		topic.Partitions = append(topic.Partitions, commit)
	}
	member, generation := c.memberID, c.generation
	call(c, c.turn, 5000, true, func(m *Machine, s *coordinator.Step, reply func(*kmsg.OffsetCommitResponse, error)) {
		req := kmsg.NewPtrOffsetCommitRequest()
		req.Version, req.Group, req.MemberID, req.InstanceID, req.Generation = 8, simulatedGroup, member, c.instance, generation
		req.Topics = []kmsg.OffsetCommitRequestTopic{topic}
		before := c.sim.stored(m)
		m.OffsetCommit(s, req, Client{ID: c.name}, reply)
		for p, offset := range c.sim.stored(m) {
			if offset < before[p] {
				c.sim.fail("%s in generation %d takes partition %d back from %d to %d", member, generation, p, before[p], offset)
			}
		}
	}, func(r *kmsg.OffsetCommitResponse, err error) {
		if err != nil {
			c.stop()
			c.sim.after(100+c.sim.rng.Int64N(1000), c.start)
			return
		}
		switch code := r.Topics[0].Partitions[0].ErrorCode; code {
		case 0:
			c.sim.acknowledged(topic.Partitions)
			c.heartbeatOrJoin()
		default:
			c.rejoin(code)
		}
	})
}

func (sim *classicSimulation) stored(m *Machine) map[int32]int64 {
	all := map[int32]int64{}
	if g := m.groups[simulatedGroup]; g != nil {
		for p := range sim.partitions {
			if c, _, ok := g.offsets.get(simulatedTopic, int32(p)); ok {
				all[int32(p)] = c.offset
			}
		}
	}
	return all
}

// acknowledged asserts that a commit that was answered is not lost.
func (sim *classicSimulation) acknowledged(commits []kmsg.OffsetCommitRequestTopicPartition) {
	for _, p := range commits {
		sim.committed[p.Partition] = max(sim.committed[p.Partition], p.Offset)
	}
	stored := sim.stored(sim.machine)
	for p, offset := range sim.committed {
		if stored[p] < offset {
			sim.fail("partition %d was committed to %d and is at %d", p, offset, stored[p])
		}
	}
}

// heartbeatOrJoin follows a commit, which says nothing of a rebalance.
func (c *simulatedConsumer) heartbeatOrJoin() {
	if c.sim.rng.IntN(2) == 0 {
		c.poll()
		return
	}
	member, generation := c.memberID, c.generation
	call(c, c.turn, 3000, false, func(m *Machine, s *coordinator.Step, reply func(*kmsg.HeartbeatResponse, error)) {
		req := kmsg.NewPtrHeartbeatRequest()
		req.Version, req.Group, req.MemberID, req.InstanceID, req.Generation = 4, simulatedGroup, member, c.instance, generation
		m.Heartbeat(s, req, reply)
	}, func(r *kmsg.HeartbeatResponse, err error) {
		if err != nil || r.ErrorCode == 0 {
			c.poll()
		} else {
			c.rejoin(r.ErrorCode)
		}
	})
}

// leave leaves for good, or comes back later. Static members leave without a word.
func (c *simulatedConsumer) leave() {
	member := c.memberID
	if c.instance == nil {
		c.sim.after(c.sim.latency(), func() {
			c.sim.delivered++
			c.sim.step(func(s *coordinator.Step) {
				req := kmsg.NewPtrLeaveGroupRequest()
				req.Version, req.Group, req.MemberID = 1, simulatedGroup, member
				c.sim.machine.LeaveGroup(s, req, func(*kmsg.LeaveGroupResponse, error) { c.sim.answered++ })
			})
		})
	}
	c.stop()
	c.sim.after(c.sim.rng.Int64N(30_000), func() {
		if c.sim.rng.IntN(3) > 0 && !c.sim.calm {
			c.start()
		}
	})
}
